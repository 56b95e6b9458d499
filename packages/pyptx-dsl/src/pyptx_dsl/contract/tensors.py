"""Array arguments of a kernel's function during a trace: name, shape, type, and descriptors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import point_at_call
from pyptx_dsl.trace_context import current
from pyptx_dsl.types import u64
from pyptx_ir.plugins.descriptors import find_descriptor_kind
from pyptx_ir.plugins.errors import MissingPluginError
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from pyptx_dsl.contract.specs import Layout
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.tracing.trace import Trace
    from pyptx_dsl.types import PtxType
    from pyptx_ir.plugins.descriptor_rows import DescriptorKind

_TMA = "tensor_map"


class TensorSpec:
    """Placeholder of one array during a trace; as an operand, the name of its parameter.

    `shape` is None while a named dimension has no size.
    """

    __slots__ = ("dtype", "layout", "name", "shape")

    def __init__(
        self,
        name: str,
        shape: tuple[int, ...] | None = None,
        dtype: PtxType | None = None,
        layout: Layout | None = None,
    ) -> None:
        """Store the name of the array's parameter, and the array's shape, element type and layout as far as known."""
        self.name = name
        self.shape = shape
        self.dtype = dtype
        self.layout = layout

    def __repr__(self) -> str:
        """Return a text with the array's name, shape and element type."""
        known = "" if self.shape is None else f", shape={self.shape}, dtype={self.dtype}"
        return f"TensorSpec({self.name!r}{known})"

    def tma_desc(self) -> Reg | TmaDescriptorHandle:
        """Return a register with the generic address of the tensor's TMA descriptor; see `descriptor`."""
        return self.descriptor(_TMA)

    def descriptor(self, kind: str) -> Reg | TmaDescriptorHandle:
        """Return a register with the generic address of a tensor's descriptor, of a kind defined by a plugin.

        The first call in a trace adds a parameter, `<name>_tma_desc` for TMA's. It emits `mov.b64` and `cvta.param.u64`
        at the start of the body (with `tma_slots="pointer"` one `ld.param.u64`); later calls emit nothing. Outside a
        trace, return a symbolic handle. Raises MissingPluginError if no plugin defines the kind.
        """
        trace = current()
        if trace is None:
            return TmaDescriptorHandle(self, _known(kind))
        known = trace.descriptors.get((self.name, kind))
        if known is None:
            known = trace.descriptors[self.name, kind] = self._load(trace, self.name + _known(kind).suffix)
        return known

    def _load(self, trace: Trace, symbol: str) -> Reg:
        trace.claim_symbol(symbol, "param")
        with trace.in_prologue():
            descriptor = trace.fresh(u64)
            if trace.tma_slots == "pointer":
                trace.emit(("ld", "param", "u64"), (descriptor, tree.Address(tree.Symbol(symbol))))
                return descriptor
            trace.emit(("mov", "b64"), (descriptor, tree.Symbol(symbol)))
            generic = trace.fresh(u64)
            trace.emit(("cvta", "param", "u64"), (generic, descriptor))
            return generic

    def __ptx_operand__(self, trace: Trace) -> tree.Operand:
        """Return the name of the array's entry parameter."""
        return tree.Symbol(self.name)


def _known(kind: str) -> DescriptorKind:
    """Return the descriptor kind named `kind`; raise MissingPluginError at the user's line if no plugin defines it."""
    try:
        return find_descriptor_kind(kind)
    except MissingPluginError as error:
        point_at_call(error)
        raise


class TmaDescriptorHandle:
    """Symbolic descriptor of a tensor (tensor map or another kind) outside a trace: the name of its parameter."""

    __slots__ = ("kind", "tensor")

    def __init__(self, tensor: TensorSpec, kind: DescriptorKind) -> None:
        """Store the tensor and the kind of its descriptor."""
        self.tensor = tensor
        self.kind = kind

    @property
    def name(self) -> str:
        """Name of the entry parameter for the tensor's descriptor."""
        return self.tensor.name + self.kind.suffix

    def __repr__(self) -> str:
        """Return a text with the name of the entry parameter for the tensor's descriptor."""
        return f"TmaDescriptorHandle({self.name!r})"

    def __ptx_operand__(self, trace: Trace) -> tree.Operand:
        """Return the name of the entry parameter for the tensor's descriptor."""
        return tree.Symbol(self.name)
