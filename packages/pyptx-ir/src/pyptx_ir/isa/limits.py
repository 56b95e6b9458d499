"""What a constant operand may be: `0..255`, `24..256 by 8`, `4 8 16`. And the values of constant expressions."""

from __future__ import annotations

import functools
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.scalar_types import SIZES, is_bits, is_integer
from pyptx_ir.syntax.lexemes import integer
from pyptx_ir.syntax.operands import Binary, Immediate, Parenthesized, Ternary, Unary

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.syntax.operands import Operand

_SPAN = re.compile(r"(-?\d+)\.\.(-?\d+)(?: by (\d+))?")
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<<": lambda left, right: left << right,
    ">>": lambda left, right: left >> right,
    "&": lambda left, right: left & right,
    "|": lambda left, right: left | right,
    "^": lambda left, right: left ^ right,
}
_SIGNS: dict[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "!": lambda value: int(value == 0),
    "(.u64)": lambda value: value % (1 << 64),
    "(.s64)": lambda value: (value + (1 << 63)) % (1 << 64) - (1 << 63),
}
WARP_SIZE = 32


@dataclass(frozen=True, slots=True)
class Limits:
    """The values that a constant may have: every `step`th from `least` to `most`, or those of `choices`.

    For a vector of constants, `elements` are the limits of each.
    """

    least: int = 0
    most: int = 0
    step: int = 1
    choices: tuple[int, ...] = ()
    elements: tuple[Limits, ...] = ()

    def allow(self, value: int) -> bool:
        """Tell whether a constant may have this value."""
        if self.choices:
            return value in self.choices
        return self.least <= value <= self.most and (value - self.least) % self.step == 0

    def __str__(self) -> str:
        """Return the words for an error message."""
        if self.choices:
            return " or ".join(map(str, self.choices))
        return f"{self.least} to {self.most}" + (f" in steps of {self.step}" if self.step > 1 else "")

    def inside(self) -> tuple[int, ...]:
        """Return values that are allowed: all choices, or the ends."""
        return self.choices or (self.least, self.most - (self.most - self.least) % self.step)

    def outside(self) -> tuple[int, ...]:
        """Return values that are not: beside the ends, and between two steps."""
        if self.choices:
            return tuple(value for value in (min(self.choices) - 1, max(self.choices) + 1) if not self.allow(value))
        between = (self.least + 1,) if self.step > 1 else ()
        return (self.least - 1, self.most + 1, *between)


@functools.cache
def parse_limits(text: str) -> Limits:
    """Read what a row says behind `in`; raise ValueError for anything else."""
    span = _SPAN.fullmatch(text)
    if span:
        return Limits(int(span[1]), int(span[2]), int(span[3] or 1))
    return Limits(choices=tuple(map(int, text.split())))


@functools.cache
def limits_of_type(type_name: str) -> Limits | None:
    """Return what an integer literal of a type may be: its bits, read as signed or as unsigned."""
    if not (is_integer(type_name) or is_bits(type_name)):
        return None
    bits = SIZES[type_name]
    return Limits(-(1 << (bits - 1)), (1 << bits) - 1)


def constant_value(operand: Operand) -> int | None:
    """Return the value of an integer constant or constant expression; None if it has none that is known here."""
    if isinstance(operand, Immediate):
        return _literal_value(operand.text)
    match operand:
        case Parenthesized(inner):
            return constant_value(inner)
        case Unary(sign, inner) if sign in _SIGNS:
            value = constant_value(inner)
            return None if value is None else _SIGNS[sign](value)
        case Binary(sign, left, right) if sign in _OPERATORS:
            return _combined(sign, constant_value(left), constant_value(right))
        case Ternary(condition, then, otherwise):
            chosen = constant_value(condition)
            return None if chosen is None else constant_value(then if chosen else otherwise)
        case _:
            return None


@functools.lru_cache(maxsize=1 << 14)
def _literal_value(text: str) -> int | None:
    if text == "WARP_SZ":
        return WARP_SIZE
    digits = text.lstrip("-")
    if not digits[:1].isdigit() or digits[:2].lower() in ("0f", "0d") or {".", "e"} & set(_plain(digits)):
        return None
    return -integer(digits) if text.startswith("-") else integer(digits)


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


def _combined(sign: str, left: int | None, right: int | None) -> int | None:
    if left is None or right is None or (sign in ("<<", ">>") and not 0 <= right < SIZES["b64"]):
        return None
    return _OPERATORS[sign](left, right)


def _plain(digits: str) -> str:
    """Return the digits of a decimal number in small letters; nothing of a hexadecimal one, whose `e` is a digit."""
    return "" if digits[:2].lower() == "0x" else digits.lower()
