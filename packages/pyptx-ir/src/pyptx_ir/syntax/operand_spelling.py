"""Canonical text of operands."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from pyptx_ir.syntax.operands import (
    Address,
    Apply,
    Binary,
    CallList,
    Immediate,
    Index,
    Negated,
    Operand,
    Pair,
    Parenthesized,
    Register,
    Sink,
    Symbol,
    TensorAddress,
    Ternary,
    Unary,
    Unified,
    Vector,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Manual: "Constant Expressions", table of operator precedence; `=` names a field of an opaque initializer.
PRECEDENCE = {
    "=": 0,
    "?": 1,
    "||": 2,
    "&&": 3,
    "|": 4,
    "^": 5,
    "&": 6,
    "==": 7,
    "!=": 7,
    "<": 8,
    ">": 8,
    "<=": 8,
    ">=": 8,
    "<<": 9,
    ">>": 9,
    "+": 10,
    "-": 10,
    "*": 11,
    "/": 11,
    "%": 11,
}
_UNARY = 12
_PRIMARY = 13
_STRENGTHS: dict[type, int] = {
    Pair: PRECEDENCE["|"],
    Ternary: PRECEDENCE["?"],
    Unary: _UNARY,
    Negated: _UNARY,
}


def spell_operand(operand: Operand) -> str:
    """Return the canonical text of an operand, with parentheses where precedence requires them."""
    return _SPELLINGS[operand.__class__](operand)


def spell_list(operands: Iterable[Operand]) -> str:
    """Return the canonical text of comma-separated operands."""
    return ", ".join([_SPELLINGS[operand.__class__](operand) for operand in operands])


def _strength(operand: Operand) -> int:
    if isinstance(operand, Binary):
        return PRECEDENCE[operand.op]
    return _STRENGTHS.get(operand.__class__, _PRIMARY)


def _within(operand: Operand, least: int) -> str:
    """Return the text of `operand`, in parentheses if its precedence is below `least`."""
    text = spell_operand(operand)
    return text if _strength(operand) >= least else f"({text})"


def _unary(operand: Unary) -> str:
    return operand.op + _within(operand.operand, _UNARY)


def _binary(operand: Binary) -> str:
    level = PRECEDENCE[operand.op]
    between = " = " if operand.op == "=" else operand.op
    if operand.op == "%":
        between = " % "  # `5%x` would parse as 5 and the register %x
    to_name = operand.op == "+" and isinstance(operand.left, Register | Symbol)
    least = PRECEDENCE["?"] if to_name else level + 1
    return f"{_within(operand.left, level)}{between}{_within(operand.right, least)}"


def _ternary(operand: Ternary) -> str:
    level = PRECEDENCE["?"]
    condition = _within(operand.condition, level + 1)
    return f"{condition} ? {_within(operand.then, level)} : {_within(operand.otherwise, level)}"


def _address(operand: Address) -> str:
    base, offset = operand.base, operand.offset
    if offset is None:
        return f"[{spell_operand(base)}]"
    if base.__class__ is Register and offset.__class__ is Immediate:  # `[%rd1+8]` is the most frequent form
        return f"[{spell_operand(base)}+{spell_operand(offset)}]"
    return f"[{_within(base, _UNARY)}+{_within(offset, PRECEDENCE['+'])}]"


# Any: the function stored for an operand class takes only that class, which a dictionary's type cannot express.
_SPELLINGS: dict[type, Callable[[Any], str]] = {
    Register: attrgetter("name"),
    Symbol: attrgetter("name"),
    Immediate: attrgetter("text"),
    Sink: lambda _: "_",
    Unary: _unary,
    Binary: _binary,
    Ternary: _ternary,
    Parenthesized: lambda operand: f"({spell_operand(operand.operand)})",
    Index: lambda operand: f"{_within(operand.base, _PRIMARY)}[{spell_operand(operand.index)}]",
    Apply: lambda operand: f"{_within(operand.function, _PRIMARY)}({spell_operand(operand.operand)})",
    Address: _address,
    Unified: lambda operand: f"{spell_operand(operand.address)}.unified",
    TensorAddress: lambda operand: f"[{spell_list(operand.elements)}]",
    Vector: lambda operand: f"{{{spell_list(operand.elements)}}}",
    Pair: lambda operand: f"{_within(operand.first, _PRIMARY)}|{_within(operand.second, _PRIMARY)}",
    Negated: lambda operand: f"!{_within(operand.operand, _PRIMARY)}",
    CallList: lambda operand: f"({spell_list(operand.elements)})",
}
