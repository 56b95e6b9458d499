"""Operators on f16, bf16, f32, f64, f16x2, bf16x2 and f32x2 registers, and floating-point literals."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from pyptx_dsl.errors import RegisterTypeError
from pyptx_dsl.registers.faults import SYMBOLS, refusal
from pyptx_dsl.registers.handle import Handle
from pyptx_dsl.registers.operands import as_float, float_text
from pyptx_ir.syntax.operands import Immediate

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

_BINARY = frozenset({"add", "sub", "mul", "truediv", "max", "min"})
_SINGLE = frozenset({"f16", "bf16", "f32", "f64"})
_PACKED = {
    "f16x2": frozenset({"add", "sub", "mul", "max", "min", "neg", "abs"}),
    "bf16x2": frozenset({"add", "sub", "mul", "max", "min", "neg", "abs"}),
    "f32x2": frozenset({"add", "sub", "mul"}),
}


def binary(operation: str, left: Handle, right: object, into: Reg | None = None) -> Reg:
    """Emit the instruction of `left operation right` (16-bit literal: one `mov` more); return its destination."""
    opcode = words(operation, left, right)
    operand = _operand(operation, left, right)
    result = into if into is not None else left.trace.fresh(left.dtype)
    left.trace.emit(opcode, (result, left, operand))
    return result


def reflected(operation: str, left: object, right: Handle) -> Reg:
    """Emit the instruction of `number operation right` (16-bit literal: one `mov` more); return its destination."""
    opcode = words(operation, right, left)
    operand = _operand(operation, right, left)
    result = right.trace.fresh(right.dtype)
    right.trace.emit(opcode, (result, operand, right))
    return result


def compare(relation: str, left: Handle, right: object, into: Reg) -> Reg:
    """Emit one `setp`; `!=` is the unordered `setp.neu`, which is true if an operand is NaN."""
    opcode = comparison(relation, left)
    operand = _operand(relation, left, right)
    left.trace.emit(opcode, (into, left, operand))
    return into


def comparison(relation: str, left: Handle) -> tuple[str, ...]:
    """Return the opcode `setp.relation.type` for the left operand's type; raise RegisterTypeError if there is none."""
    check(relation, left.dtype)
    return ("setp", "neu" if relation == "ne" else relation, left.dtype.name)


def check(operation: str, dtype: PtxType) -> None:
    """Raise RegisterTypeError if PTX has no instruction for the operation on this type."""
    if dtype.name in _SINGLE or operation in _PACKED.get(dtype.name, ()):
        return
    raise RegisterTypeError(
        f"PTX has no {SYMBOLS[operation]} for {dtype}",
        help="convert the operand to f32 with ptx.cvt, or use ptx.inst.…",
    )


def words(operation: str, left: Handle, right: object) -> tuple[str, ...]:
    """Return an operator's opcode, with explicit `.rn`: otherwise ptxas may contract `mul` and `add` to `fma`."""
    dtype = left.dtype
    check(operation, dtype)
    if operation not in _BINARY or (operation == "truediv" and dtype.name not in {"f32", "f64"}):
        raise refusal(operation, left, right)
    if operation in {"max", "min"}:
        return (operation, dtype.name)
    return ("div" if operation == "truediv" else operation, "rn", dtype.name)


def _operand(operation: str, left: Handle, right: object) -> object:
    """Return the right operand: a register of the left one's type, or a literal (16-bit: a register set by `mov`)."""
    if isinstance(right, Handle):
        if right.dtype is not left.dtype:
            raise RegisterTypeError(
                f"{SYMBOLS[operation]} between {left.dtype} and {right.dtype}", help="convert one operand with ptx.cvt"
            )
        return right
    number = None if left.dtype.kind == "packed" else as_float(right)
    if number is None:
        raise refusal(operation, left, right)
    literal = Immediate(literal_text(left.dtype, number))
    if left.dtype.name in {"f32", "f64"}:
        return literal
    result = left.trace.fresh(left.dtype)
    left.trace.emit(("mov", "b16"), (result, literal))
    return result


def literal_text(dtype: PtxType, number: float) -> str:
    """Return the literal, as an operand of `mov` to a `dtype` register, of a number rounded to nearest even."""
    if dtype.name in {"f32", "f64"}:
        return float_text(number, dtype.bits)
    if dtype.name == "f16":
        try:
            return "0x" + struct.pack(">e", number).hex().upper()
        except OverflowError:
            return "0x7C00" if number > 0 else "0xFC00"
    bits = int(float_text(number, 32).removeprefix("0f"), base=16)
    if dtype.name == "tf32":
        return f"0x{bits:08X}"
    if number != number:  # noqa: PLR0124  NaN: rounding could carry its payload away
        return "0x7FFF"
    return f"0x{(bits + 0x7FFF + (bits >> 16 & 1)) >> 16:04X}"
