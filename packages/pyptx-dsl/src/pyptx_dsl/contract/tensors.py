"""What the body of a kernel gets for each array: its name, shape, type, and its TMA descriptor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.trace_context import current
from pyptx_dsl.types import u64
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from pyptx_dsl.contract.specs import Layout
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.tracing.trace import Trace
    from pyptx_dsl.types import PtxType

TMA_SUFFIX = "_tma_desc"
TMA_BYTES = 128
"""Size of a CUtensorMap. CUDA driver API: "Tensor Map Object Management"."""
TMA_ALIGNMENT = 64


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
        """Name a parameter and say what is known of it."""
        self.name = name
        self.shape = shape
        self.dtype = dtype
        self.layout = layout

    def __repr__(self) -> str:
        """Return the name, shape and type."""
        known = "" if self.shape is None else f", shape={self.shape}, dtype={self.dtype}"
        return f"TensorSpec({self.name!r}{known})"

    def tma_desc(self) -> Reg | TmaDescriptorHandle:
        """Return a register with the generic address of the tensor's TMA descriptor.

        The first call in a trace adds a parameter `<name>_tma_desc` and emits, at the head of the body, `mov.b64` and
        `cvta.param.u64` (two instructions; with `tma_slots="pointer"` one `ld.param.u64`); further calls emit
        nothing. Outside a trace, return a symbolic handle.
        """
        trace = current()
        if trace is None:
            return TmaDescriptorHandle(self)
        known = trace.tensor_maps.get(self.name)
        if known is None:
            known = trace.tensor_maps[self.name] = self._load(trace)
        return known

    def _load(self, trace: Trace) -> Reg:
        symbol = self.name + TMA_SUFFIX
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
        """Return the parameter's name."""
        return tree.Symbol(self.name)


class TmaDescriptorHandle:
    """The TMA descriptor of a tensor outside a trace: a name that a launcher resolves."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: TensorSpec) -> None:
        """Refer to a tensor."""
        self.tensor = tensor

    @property
    def name(self) -> str:
        """The name of the descriptor's parameter."""
        return self.tensor.name + TMA_SUFFIX

    def __repr__(self) -> str:
        """Return the name."""
        return f"TmaDescriptorHandle({self.name!r})"

    def __ptx_operand__(self, trace: Trace) -> tree.Operand:
        """Return the parameter's name."""
        return tree.Symbol(self.name)
