"""Find the kind of an initializer's value (an integer, a float, or an address) and invalid numbers.

Measured on ptxas 13.5; manual: "Constants", "Constant Expressions", "Initializers".
"""

from __future__ import annotations

import functools
import math
import re
from typing import TYPE_CHECKING

from pyptx_ir.isa.constant_values import constant_value, fault_of_integer
from pyptx_ir.isa.shapes import literal_kind
from pyptx_ir.syntax.operands import Apply, Binary, Immediate, Parenthesized, Register, Symbol, Ternary, Unary

if TYPE_CHECKING:
    from typing import TypeAlias

    from pyptx_ir.syntax.operands import Operand

# Kind of a value in an initializer, and the error message about it; one of the two strings is empty.
Judged: TypeAlias = "tuple[str, str]"
INTEGER, FLOAT, ADDRESS, FUNCTION, MASKED = "integer", "float", "address", "function", "masked address"

_ZERO = re.compile(r"[-+]?[0.]*(?:[eE].*)?")
_COMPARISONS = frozenset(("<", ">", "<=", ">=", "==", "!="))
_OF_FLOATS = frozenset(("+", "-", "*", "/")) | _COMPARISONS
_NO_INTEGER = "expected an integer in a constant expression"
_MIXED = "constant expression mixes integers and floating-point numbers"
_ADDRESS_FORM = "expected variable{+n} or generic(variable){+n}"
_BYTE, _MOST_BYTES = 0xFF, 8


@functools.lru_cache(maxsize=1 << 12)
def of_literal(text: str) -> Judged:
    """Return the kind and the fault of one literal in an initializer."""
    kind = literal_kind(text)
    if kind == "int":
        fault = fault_of_integer(text)
        return ("", fault) if fault else (INTEGER, "")
    if text[:1] == "-" and kind == "single":
        return "", _no_operator(text[1:])
    if text.lstrip("-")[:2].lower() in ("0f", "0d"):
        return FLOAT, ""
    value = float(text)
    if math.isinf(value) or (value == 0 and not _ZERO.fullmatch(text)):
        return "", f"{text} is out of range for .f64"
    return FLOAT, ""


def of_value(value: Operand, kinds: dict[str, str]) -> Judged:
    """Return the kind and the fault of an initializer that is not a list; `kinds` maps its names to their kinds."""
    match value:
        case Apply(Immediate(mask), inner):
            return _masked(mask, of_value(inner, kinds))
        case Apply() | Symbol():
            return _address(value, kinds)
        case Binary(_, left, _) if isinstance(_leftmost(left), Symbol | Apply):
            return _sum(value, kinds)
        case _:
            return _number(value)


def is_offset(value: Operand) -> bool:
    """Return whether a value is a name plus an integer constant, as in an operand: `variable+4`, `variable+8-4`."""
    if not isinstance(value, Binary) or value.op != "+" or not isinstance(value.left, Symbol | Register):
        return False
    return _number(value.right)[0] == INTEGER


def _leftmost(value: Operand) -> Operand:
    while isinstance(value, Binary):
        value = value.left
    return value


def _sum(value: Binary, kinds: dict[str, str]) -> Judged:
    """Check a sum of an address and integers; the first integer must be added, not subtracted."""
    added, fault = _number(value.right)
    if added != INTEGER:
        return "", fault or _ADDRESS_FORM
    is_first = not isinstance(value.left, Binary)
    if value.op != "+" and (is_first or value.op != "-"):
        return "", _ADDRESS_FORM
    kind, fault = of_value(value.left, kinds)
    return ("", _ADDRESS_FORM) if kind in (FUNCTION, MASKED) else (kind, fault)


def _address(value: Operand, kinds: dict[str, str]) -> Judged:
    match value:
        case Symbol(name):
            what = kinds.get(name, "")
            if what == ".shared":
                return "", f"the address of shared variable '{name}' is not a constant"
            return (FUNCTION if what in (".func", ".entry") else ADDRESS), ""
        case Apply(Symbol("generic"), Symbol() as inner):
            kind, fault = _address(inner, kinds)
            return ("", "a function has no generic address") if kind == FUNCTION else (kind, fault)
        case _:
            return "", _ADDRESS_FORM


def _masked(mask: str, inner: Judged) -> Judged:
    """Check `0xFF00(address)`, which is one of the eight bytes of an address."""
    value = constant_value(Immediate(mask))
    if value not in [_BYTE << 8 * byte for byte in range(_MOST_BYTES)]:
        return "", f"mask {mask} must select one byte of an address (0xFF, 0xFF00, …)"
    return (inner[0] if inner[0] in ("", INTEGER) else MASKED), inner[1]


def _number(value: Operand) -> Judged:
    match value:
        case Immediate(text):
            return of_literal(text)
        case Parenthesized(inner):
            return _number(inner)
        case Unary(op, inner):
            return _signed(op, inner)
        case Binary(op, left, right):
            pattern = next((text for side in (left, right) if (text := _pattern(side))), "")
            return ("", _no_operator(pattern)) if pattern else _combined(op, (_number(left), _number(right)), right)
        case Ternary(condition, then, otherwise):
            return _chosen(_number(condition), _number(then), _number(otherwise))
        case _:
            return "", _ADDRESS_FORM


def _pattern(operand: Operand) -> str:
    """Return the text of a `0f…` literal, which ptxas rejects in expressions; an empty string for other operands."""
    return operand.text if isinstance(operand, Immediate) and literal_kind(operand.text) == "single" else ""


def _no_operator(pattern: str) -> str:
    return f"operator applied to the .f32 bit pattern {pattern}"


def _signed(op: str, inner: Operand) -> Judged:
    kind, fault = _number(inner)
    if kind != FLOAT:
        return kind, fault
    if pattern := _pattern(inner):
        return "", _no_operator(pattern)
    return (FLOAT, "") if op in ("+", "-") else ("", _NO_INTEGER)


def _combined(op: str, sides: tuple[Judged, Judged], right: Operand) -> Judged:
    fault = next((fault for kind, fault in sides if not kind), "")
    if fault:
        return "", fault
    if sides[0][0] != sides[1][0]:
        return "", _MIXED
    if op in ("/", "%") and constant_value(right) == 0:
        return "", "division by zero in a constant expression"
    if sides[0][0] == FLOAT and op not in _OF_FLOATS:
        return "", _NO_INTEGER
    return (INTEGER, "") if op in _COMPARISONS else sides[0]


def _chosen(condition: Judged, then: Judged, otherwise: Judged) -> Judged:
    fault = next((fault for kind, fault in (condition, then, otherwise) if not kind), "")
    if fault or condition[0] != INTEGER:
        return "", fault or _NO_INTEGER
    if {then[0], otherwise[0]} <= {INTEGER}:
        return then
    return "", _MIXED
