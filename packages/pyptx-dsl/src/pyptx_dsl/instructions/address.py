"""Address operands: `ptx.addr`, tensor addresses, and conversions between state spaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.naming import to_ptx
from pyptx_dsl.registers.handle import Handle
from pyptx_dsl.registers.operands import AddressOperand, as_integer, lower
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.shared_memory.allocations import refuse_element, refuse_plain_offset
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import PtxType, u64
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from pyptx_dsl.tracing.trace import Trace

__all__ = ["addr", "as_address", "cvta", "tensor_addr", "unified"]


def addr(base: object, offset: object | None = None) -> AddressOperand:
    """Return the address operand `[base]` or `[base+offset]`; nothing is emitted.

    `base` is a register, a number, a symbol (a string, a tensor, a shared allocation or a slice of one, an mbarrier) or
    another address. `offset` is in bytes: a number of either sign (`[%rd1+-8]`), or a symbol. An offset of 0 is
    omitted, except in functions of a `module`. Raise OperandError for a register as the offset, since PTX adds
    constants only. Raise it also for an offset from a swizzled allocation that reaches another element than the
    offset would without the swizzle. Manual: "Operands: Addresses as Operands".
    """
    if isinstance(offset, Handle):
        raise OperandError(
            f"the offset of an address must be a constant, got register {offset.raw_name}",
            help="add the register first: ptx.addr(base + offset)",
        )
    if isinstance(base, Handle):
        refuse_element(base)
    if isinstance(offset, int):
        refuse_plain_offset(base, offset)
    return AddressOperand(base, offset)


@dataclass(frozen=True, slots=True, eq=False)
class TensorAddressOperand:
    """`[a, b, …]`: the address of a tensor or texture; `elements` are values that convert to operands."""

    elements: tuple[object, ...]

    def __ptx_operand__(self, trace: Trace) -> tree.Operand:
        """Return the bracketed operand `[a, b, …]`."""
        return tree.TensorAddress(trace.lowered(self.elements, ()))


@dataclass(frozen=True, slots=True, eq=False)
class UnifiedOperand:
    """`[address].unified`: the address of a variable with the attribute `.unified`."""

    address: object

    def __ptx_operand__(self, trace: Trace) -> tree.Operand:
        """Return the operand `[address].unified`."""
        return tree.Unified(lower(as_address(self.address), trace))


def tensor_addr(base: object, *elements: object) -> TensorAddressOperand:
    """Return the operand `[base, elements]` of tensor copies and textures; nothing is emitted.

    `ptx.tensor_addr(map, [x, y])` is `[map, {x, y}]`, and `ptx.tensor_addr("t", "s", [u, v])` is `[t, s, {u, v}]`.
    Manual: "Tensors", "Texture Instructions: tex".
    """
    if not elements:
        raise OperandError("a tensor address needs coordinates", help="write ptx.tensor_addr(map, [x, y])")
    return TensorAddressOperand((base, *elements))


def unified(address: object) -> UnifiedOperand:
    """Return the operand `[address].unified`, for a variable with the attribute `.unified`. Manual: "ld"."""
    as_address(address)
    return UnifiedOperand(address)


def as_address(value: object) -> AddressOperand | tree.Address | tree.TensorAddress:
    """Return an address operand unchanged, and the address operand `[value]` for any other value."""
    if isinstance(value, AddressOperand | tree.Address | tree.TensorAddress):
        return value
    if isinstance(value, bool | float | list | tuple) or value is None:
        raise OperandError(
            f"expected an address, got {value!r}", help="pass ptx.addr(…), a register, or a shared allocation"
        )
    if isinstance(value, Reg) and value.dtype.kind not in {"bits", "unsigned", "signed"}:
        raise RegisterTypeError(
            f"expected an address, got the {value.dtype} register {value.raw_name}",
            help="use an integer register of 32 or 64 bits",
        )
    if isinstance(value, Handle):
        refuse_element(value)
    return AddressOperand(value)


class AddressConversion:
    """`cvta` to or from one state space, called with the address: `ptx.cvta.to_global(generic)`."""

    def __init__(self, name: str) -> None:
        """Derive opcode and state space from the function's name, such as `global_` or `to_global`."""
        space = to_ptx(name.removeprefix("to_"))
        self._what = f"ptx.cvta.{name}"
        self.head = f"cvta{'.to' if name.startswith('to_') else ''}.{space}"

    def __repr__(self) -> str:
        return self._what

    @emits("{self.head}")
    def __call__(self, src: object, dst: Reg | None = None, *, dtype: PtxType = u64, pred: Reg | None = None) -> Reg:
        """Emit `cvta{.to}.space.type dst, src;` and return `dst`, a fresh register if none is given.

        `dtype` is u64, or u32 in modules with 32-bit addresses.
        """
        trace = active(self._what)
        if isinstance(src, Reg) and src.dtype.bits != dtype.bits:
            raise RegisterTypeError(
                f"{self.head}.{dtype} needs a {dtype.bits}-bit register, got the {src.dtype} register {src.raw_name}",
                help="widen the address first: ptx.cvt(u64, u32, wide, address)",
            )
        if as_integer(src) is not None:
            raise OperandError(
                f"{self.head} needs a register or a symbol, got {src!r}", help="put the number into a register first"
            )
        result = trace.fresh(dtype) if dst is None else dst
        trace.emit((*self.head.split("."), dtype.name), (result, src), pred)
        return result


class Cvta:
    """Conversions between generic addresses and addresses of one state space; each emits one `cvta`.

    `src` is a 64-bit register or a symbol; the result goes to `dst` or a fresh u64 register, which is returned. A
    32-bit shared address must be widened first. Manual: "Data Movement and Conversion Instructions: cvta".
    """

    const = AddressConversion("const")
    global_ = AddressConversion("global_")
    local = AddressConversion("local")
    param = AddressConversion("param")
    param__entry = AddressConversion("param__entry")
    shared = AddressConversion("shared")
    shared__cta = AddressConversion("shared__cta")
    shared__cluster = AddressConversion("shared__cluster")
    to_const = AddressConversion("to_const")
    to_global = AddressConversion("to_global")
    to_local = AddressConversion("to_local")
    to_param = AddressConversion("to_param")
    to_param__entry = AddressConversion("to_param__entry")
    to_shared = AddressConversion("to_shared")
    to_shared__cta = AddressConversion("to_shared__cta")
    to_shared__cluster = AddressConversion("to_shared__cluster")


cvta = Cvta()
