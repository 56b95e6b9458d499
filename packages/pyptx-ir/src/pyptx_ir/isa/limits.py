"""Limits of a constant operand: `0..255`, `24..256 by 8`, `4 8 16`."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from pyptx_ir.isa.constant_values import constant_value, fault_of_integer
from pyptx_ir.isa.scalar_types import SIZES, is_bits, is_integer

# `constant_value` and `fault_of_integer` are re-exported from `constant_values`.
__all__ = ["Limits", "constant_value", "fault_of_integer", "limits_of_type", "parse_limits"]

_SPAN = re.compile(r"(-?\d+)\.\.(-?\d+)(?: by (\d+))?")
_WORDS = 1 << SIZES["b64"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The values that a constant may have: every `step`th from `least` to `most` (inclusive), or `choices`.

    For a vector of constants, `elements` are the limits of each vector element.
    """

    least: int = 0
    most: int = 0
    step: int = 1
    choices: tuple[int, ...] = ()
    elements: tuple[Limits, ...] = ()

    def allow(self, value: int) -> bool:
        """Return whether a constant may have this value, read as a signed or as an unsigned 64-bit integer."""
        return self._allows(value) or self._allows(value - _WORDS) or self._allows(value + _WORDS)

    def _allows(self, value: int) -> bool:
        if self.choices:
            return value in self.choices
        return self.least <= value <= self.most and (value - self.least) % self.step == 0

    def __str__(self) -> str:
        """Return the allowed values of a constant, as text for an error message."""
        if self.choices:
            return " or ".join(map(str, self.choices))
        return f"{self.least} to {self.most}" + (f" in steps of {self.step}" if self.step > 1 else "")

    def inside(self) -> tuple[int, ...]:
        """Return examples of allowed values: all choices, or both ends of the range."""
        return self.choices or (self.least, self.most - (self.most - self.least) % self.step)

    def outside(self) -> tuple[int, ...]:
        """Return examples of excluded values: next to both ends of the range, and between two steps."""
        if self.choices:
            return tuple(value for value in (min(self.choices) - 1, max(self.choices) + 1) if not self.allow(value))
        between = (self.least + 1,) if self.step > 1 else ()
        return (self.least - 1, self.most + 1, *between)


@functools.cache
def parse_limits(text: str) -> Limits:
    """Parse the limits after `in` in the operand of an instruction row; raise ValueError for invalid text."""
    span = _SPAN.fullmatch(text)
    if span:
        return Limits(int(span[1]), int(span[2]), int(span[3] or 1))
    return Limits(choices=tuple(map(int, text.split())))


@functools.cache
def limits_of_type(type_name: str) -> Limits | None:
    """Return the limits of an integer literal of a type: from the least signed to the greatest unsigned value."""
    if not (is_integer(type_name) or is_bits(type_name)):
        return None
    bits = SIZES[type_name]
    return Limits(-(1 << (bits - 1)), (1 << bits) - 1)
