"""What an initialiser's value is: an integer, a floating-point number, or an address; and what no number is.

Asked of ptxas 13.5; manual: "Constants", "Constant Expressions", "Initializers".
"""

from __future__ import annotations

import functools
import math
import re
from typing import TYPE_CHECKING

from pyptx_ir.isa.limits import constant_value
from pyptx_ir.isa.shapes import literal_kind
from pyptx_ir.syntax.operands import Apply, Binary, Immediate, Parenthesized, Symbol, Ternary, Unary

if TYPE_CHECKING:
    from typing import TypeAlias

    from pyptx_ir.syntax.operands import Operand

# What a value is, "" if it is none, and then what is wrong with it.
Judged: TypeAlias = "tuple[str, str]"
INTEGER, FLOAT, ADDRESS, FUNCTION, MASKED = "integer", "float", "address", "function", "masked address"

_ZERO = re.compile(r"[-+]?[0.]*(?:[eE].*)?")
_MIXED = "integers and floating-point numbers do not mix in a constant expression"
_ADDRESS_FORM = "an address in an initialiser is variable, variable+n, generic(variable) or generic(variable)+n"
_BYTE, _MOST_BYTES = 0xFF, 8


@functools.lru_cache(maxsize=1 << 12)
def of_literal(text: str) -> Judged:
    """Judge one literal."""
    kind = literal_kind(text)
    if kind == "int":
        digits = text.lstrip("-").rstrip("U")
        octal = digits.isdecimal() and digits[0] == "0"
        return ("", f"{text} is no octal number") if octal and not set(digits) <= set("01234567") else (INTEGER, "")
    if text[:1] == "-" and text[1:3].lower() in ("0f", "0d"):
        return "", f"{text} has a sign of its own in its first bit, and takes no other"
    if text.lstrip("-")[:2].lower() in ("0f", "0d"):
        return FLOAT, ""
    value = float(text)
    if math.isinf(value) or (value == 0 and not _ZERO.fullmatch(text)):
        return "", f"{text} is out of the range of .f64"
    return FLOAT, ""


def of_value(value: Operand, kinds: dict[str, str]) -> Judged:
    """Judge an initialiser that is no list; `kinds` holds what each name in it stands for, as a scope does."""
    match value:
        case Apply(Immediate(mask), inner):
            return _masked(mask, of_value(inner, kinds))
        case Apply() | Symbol():
            return _address(value, kinds)
        case Binary("+", (Apply(Symbol()) | Symbol()) as base, Immediate() as offset) if (
            constant_value(offset) is not None
        ):
            kind, fault = _address(base, kinds)
            return ("", _ADDRESS_FORM) if kind == FUNCTION else (kind, fault)
        case _:
            return _number(value)


def _address(value: Operand, kinds: dict[str, str]) -> Judged:
    match value:
        case Symbol(name):
            what = kinds.get(name, "")
            if what == ".shared":
                return "", f"'{name}' lies in shared memory, whose addresses no initialiser knows"
            return (FUNCTION if what in (".func", ".entry") else ADDRESS), ""
        case Apply(Symbol("generic"), Symbol() as inner):
            kind, fault = _address(inner, kinds)
            return ("", "a function has no generic address") if kind == FUNCTION else (kind, fault)
        case _:
            return "", _ADDRESS_FORM


def _masked(mask: str, inner: Judged) -> Judged:
    """Judge `0xFF00(address)`: one of the eight bytes of an address."""
    value = constant_value(Immediate(mask))
    if value not in [_BYTE << 8 * byte for byte in range(_MOST_BYTES)]:
        return "", f"{mask} is no mask: it takes one whole byte of an address, 0xFF, 0xFF00, …"
    return (inner[0] if inner[0] in ("", INTEGER) else MASKED), inner[1]


def _number(value: Operand) -> Judged:
    match value:
        case Immediate(text):
            return of_literal(text)
        case Parenthesized(inner) | Unary(_, inner):
            return _number(inner)
        case Binary(op, left, right):
            return _combined(op, (_number(left), _number(right)), right)
        case Ternary(condition, then, otherwise):
            return _chosen(_number(condition), _number(then), _number(otherwise))
        case _:
            return "", _ADDRESS_FORM


def _combined(op: str, sides: tuple[Judged, Judged], right: Operand) -> Judged:
    fault = next((fault for kind, fault in sides if not kind), "")
    if fault:
        return "", fault
    if sides[0][0] != sides[1][0]:
        return "", _MIXED
    if op in ("/", "%") and constant_value(right) == 0:
        return "", "a constant is divided by zero"
    return sides[0]


def _chosen(condition: Judged, then: Judged, otherwise: Judged) -> Judged:
    fault = next((fault for kind, fault in (condition, then, otherwise) if not kind), "")
    if fault or {then[0], otherwise[0]} <= {INTEGER}:
        return ("", fault) if fault else then
    return "", _MIXED
