"""Values of constant expressions: signed or unsigned 64-bit integers, and floating-point numbers.

The types of operands and results are those of ptxas 13.0 and 13.5. Manual: "Constants", "Summary of Constant Expression
Evaluation Rules".
"""

from __future__ import annotations

import functools
import operator
import struct
from typing import TYPE_CHECKING, Any

from pyptx_ir.isa.scalar_types import SIZES
from pyptx_ir.syntax.lexemes import integer
from pyptx_ir.syntax.operands import Binary, Immediate, Parenthesized, Ternary, Unary

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.syntax.operands import Operand

WARP_SIZE = 32
_MASK64 = (1 << 64) - 1
_MOST64 = _MASK64 >> 1  # maximum of .s64
_SHORTEST_PATTERN, _LONGEST_PATTERN = len("0f3f800000"), len("0d3ff0000000000000")


class Unsigned(int):
    """An integer constant of type .u64; every other integer is .s64."""

    __slots__ = ()


def wrapped(value: int, *, unsigned: bool) -> int:
    """Return the low 64 bits of a value as .u64 or .s64."""
    value &= _MASK64
    if unsigned:
        return Unsigned(value)
    return value - (1 << 64) if value > _MOST64 else value


def constant_value(operand: Operand) -> int | None:
    """Return the value of an integer constant or constant expression; None for any other operand."""
    value = evaluated(operand)
    return value if isinstance(value, int) else None


def evaluated(operand: Operand, others: Callable[[Operand], int | float] | None = None) -> int | float | None:
    """Return the value of a constant expression, as ptxas computes it; None for an operand without a value.

    `others` returns the value of any operand that is not a literal or operator, such as a symbol, or raises an error.
    """
    match operand:
        case Immediate(text) if (value := literal_value(text)) is not None:
            return value
        case Parenthesized(inner):
            return evaluated(inner, others)
        case Unary(sign, inner) if sign.replace(" ", "") in _UNARY:
            value = evaluated(inner, others)
            return None if value is None else _UNARY[sign.replace(" ", "")](value)
        case Binary(sign, left, right) if sign in _BINARY:
            sides = evaluated(left, others), evaluated(right, others)
            return None if None in sides else _BINARY[sign](*sides)
        case Ternary(condition, then, otherwise):
            chosen = evaluated(condition, others)
            return None if chosen is None else evaluated(then if chosen else otherwise, others)
        case _:
            return None if others is None else others(operand)


@functools.lru_cache(maxsize=1 << 14)
def literal_value(text: str) -> int | float | None:
    """Return the value of a literal; None if it has none (`08`, more than 64 bits)."""
    is_negative, body = text.startswith("-"), text.lstrip("-").lower()
    if body == "warp_sz":
        return -WARP_SIZE if is_negative else WARP_SIZE
    pattern = {_SHORTEST_PATTERN: ("0f", ">f"), _LONGEST_PATTERN: ("0d", ">d")}.get(len(body), ("", ""))
    if pattern[0] and body.startswith(pattern[0]):
        number = float(struct.unpack(pattern[1], bytes.fromhex(body[2:]))[0])
    elif not body.startswith("0x") and ("." in body or "e" in body):
        number = float(body)
    elif not body[:1].isdigit() or fault_of_integer(text):
        return None
    else:
        number = integer(body.rstrip("u"))
        return wrapped(-number if is_negative else number, unsigned=number > _MOST64 or body.endswith("u"))
    return -number if is_negative else number


@functools.lru_cache(maxsize=1 << 12)
def fault_of_integer(text: str) -> str:
    """Return the error in an integer literal, or an empty string. Manual: "Integer Constants".

    All literals of more than 64 bits are errors. ptxas 13.0 wraps some of them: `18446744073709551616` is 0, but
    `99999999999999999999` is an error.
    """
    digits = text.lstrip("-").rstrip("U")
    if digits == "WARP_SZ":
        return ""
    if digits.isdecimal() and digits[0] == "0" and not set(digits) <= set("01234567"):
        return f"{text} is not an octal number"
    return f"{text} has more than 64 bits" if integer(digits) >> SIZES["b64"] else ""


def _usual(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], int | float | None]:
    """Return an operator function on two numbers of one type; the result is .u64 if either integer operand is."""

    def operate(left: int | float, right: int | float) -> int | float | None:
        if isinstance(left, float) or isinstance(right, float):
            number: int | float | None = apply(float(left), float(right))
            return number
        unsigned = isinstance(left, Unsigned) or isinstance(right, Unsigned)
        result = apply(wrapped(left, unsigned=unsigned), wrapped(right, unsigned=unsigned))
        return None if result is None else wrapped(result, unsigned=unsigned)

    return operate


def _of_integers(apply: Callable[[int, int], int | None]) -> Callable[[Any, Any], int | float | None]:
    usual = _usual(apply)
    return lambda left, right: None if isinstance(left, float) or isinstance(right, float) else usual(left, right)


def _shift(apply: Callable[[int, int], int]) -> Callable[[Any, Any], int | None]:
    """Return a shift function that uses the low six bits of the count; the result has the type of the shifted value."""

    def operate(value: int | float, count: int | float) -> int | None:
        if isinstance(value, float) or isinstance(count, float):
            return None
        return wrapped(apply(value, count & 63), unsigned=isinstance(value, Unsigned))

    return operate


def _truth(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], int]:
    """Return a comparison function, whose result is 0 or 1."""
    usual = _usual(apply)
    return lambda left, right: int(bool(usual(left, right)))


def _quotient(left: int | float, right: int | float) -> int | float | None:
    if right == 0:
        return None
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    size = abs(left) // abs(right)
    return size if (left < 0) == (right < 0) else -size


def _remainder(left: int, right: int) -> int | None:
    """Return `left` modulo `right`, both converted to .u64 first, regardless of their types."""
    return (left & _MASK64) % (right & _MASK64) if right else None


def _signed(sign: str, value: int | float) -> int | float | None:
    if isinstance(value, float):
        return {"+": value, "-": -value, "!": None, "~": None}.get(sign)
    match sign:
        case "+":
            return value
        case "-":
            return wrapped(-value, unsigned=isinstance(value, Unsigned))
        case "!":
            return int(value == 0)
        case _:
            return wrapped(~value if sign == "~" else value, unsigned=sign != "(.s64)")


_BINARY: dict[str, Callable[[Any, Any], int | float | None]] = {
    "+": _usual(operator.add),
    "-": _usual(operator.sub),
    "*": _usual(operator.mul),
    "/": _usual(_quotient),
    "%": _of_integers(_remainder),
    "<<": _shift(operator.lshift),
    ">>": _shift(operator.rshift),
    "&": _of_integers(operator.and_),
    "|": _of_integers(operator.or_),
    "^": _of_integers(operator.xor),
    "<": _truth(operator.lt),
    ">": _truth(operator.gt),
    "<=": _truth(operator.le),
    ">=": _truth(operator.ge),
    "==": _truth(operator.eq),
    "!=": _truth(operator.ne),
    "&&": lambda left, right: int(bool(left) and bool(right)),
    "||": lambda left, right: int(bool(left) or bool(right)),
}
_UNARY: dict[str, Callable[[Any], int | float | None]] = {
    sign: functools.partial(_signed, sign) for sign in ("+", "-", "!", "~", "(.u64)", "(.s64)")
}
