"""Byte and half-word selectors, and signs, on the operands of video instructions: `%r1.b0`, `%r2.h10`, `-%r3`.

Only the selector is read here. The engine hands over the whole register, without the suffix and without the sign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax.operands import Register, Symbol, Unary

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand


def selector(operand: Operand) -> str:
    """Return the selector of `operand`, `"b0"` or `"h10"`, or an empty string."""
    if isinstance(operand, Unary):
        return selector(operand.operand)
    if not isinstance(operand, Register | Symbol):
        return ""
    part = operand.name.partition(".")[2]
    return part if part[1:].isdecimal() else ""  # of a vector register, the name of a component stands there


def is_negated(operand: Operand) -> bool:
    """Tell whether `operand` carries a minus sign."""
    return isinstance(operand, Unary) and operand.op == "-"
