"""Tensor memory addresses, and the vectors moved to and from tensor memory. Manual: "Tensor Memory"."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_ir.isa.kinds import vectors
from pyptx_ir.isa.kinds.kind import OPERAND_TYPE, Kind, Mismatch, Use
from pyptx_ir.isa.scalar_types import SIZES, is_float

if TYPE_CHECKING:
    from pyptx_ir.isa.shapes import Shape

_TIMES = next(kind for kind in vectors.KINDS if kind.name == "*")


def _mismatch_tmem(argument: str, shape: Shape, _use: Use) -> Mismatch | None:
    """Check a tensor memory address: 32 bits of lane and column, never a variable; `argument` is the register type."""
    if shape[0] != "address":
        return Mismatch("an address in tensor memory, in brackets")
    if shape[1] == "literal":
        return Mismatch("an address of tensor memory in a register, not a number")
    base = str(shape[1])
    if base.startswith(".") or (base and (is_float(base) or SIZES.get(base) != SIZES["b32"])):
        return Mismatch("an address of tensor memory, in an integer or untyped register of 32 bits", OPERAND_TYPE)
    if base and argument and base != argument:
        return Mismatch(f"an address of tensor memory, in a register declared .{argument}", OPERAND_TYPE)
    return None


def _mismatch_registers(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    """Check a braced vector of 32-bit registers or constants: at least one register, and no sink."""
    mismatch = _TIMES.mismatch(f"{argument}*b32", shape, use)
    if mismatch or shape[0] != "vector":
        return mismatch or Mismatch(f"{use.count(argument)} registers in braces")
    elements = cast("tuple[Shape, ...]", shape[1:])
    if any(element[0] == "sink" for element in elements):
        return Mismatch("registers only, not the sink")
    if all(element[0] == "literal" for element in elements):
        return Mismatch("at least one register, not only constants")
    return None


def _registers(argument: str, use: Use, index: int) -> tuple[str, ...]:
    """Return registers that no other operand uses, because a load must not write a register twice."""
    first = 20 * index
    return (f"{{{', '.join(f'%b32_{number}' for number in range(first, first + use.count(argument)))}}}",)


KINDS = (
    Kind(
        "tmem",
        "an address in tensor memory",
        _mismatch_tmem,
        lambda argument, _use, index: (f"[%{argument or 'u32'}_{index}]",),
    ),
    Kind(
        "registers",
        "32-bit registers in braces (number: {})",
        _mismatch_registers,
        _registers,
    ),
)
