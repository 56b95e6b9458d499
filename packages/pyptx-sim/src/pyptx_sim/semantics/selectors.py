"""Byte and half-word selectors, and signs, of operands of video instructions: `%r1.b0`, `%r2.h10`, `-%r3`.

Only selector and sign are parsed here; the simulator passes the whole register to the operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax.operands import Register, Symbol, Unary

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand


def selector(operand: Operand) -> str:
    """Return the selector of `operand`, such as `"b0"` or `"h10"`; empty without a selector."""
    if isinstance(operand, Unary):
        return selector(operand.operand)
    if not isinstance(operand, Register | Symbol):
        return ""
    part = operand.name.partition(".")[2]
    return part if part[1:].isdecimal() else ""  # `.x` to `.w` are components of vectors, not selectors


def is_negated(operand: Operand) -> bool:
    """Return whether `operand` has a minus sign."""
    return isinstance(operand, Unary) and operand.op == "-"
