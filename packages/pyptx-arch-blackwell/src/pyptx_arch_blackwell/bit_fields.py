"""Bit fields of descriptors: tables of `Field`, used to encode, decode and print descriptors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyptx_ir.errors import PyptxError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["DescriptorError", "Field", "decode", "encode", "picture"]


class DescriptorError(PyptxError, ValueError):
    """An invalid value of a descriptor field, or bits that are not a descriptor; the message names the field."""


@dataclass(frozen=True, slots=True)
class Field:
    """Bits `low` to `low + size - 1` of a descriptor, which encode its attribute `name`.

    `codes` maps the valid values to their numbers. Without codes the field stores `(value - least) / unit`. `part` is
    the index of the element if the value is a tuple.
    """

    name: str
    low: int
    size: int
    codes: Mapping[Any, int] = field(default_factory=dict[Any, int])
    unit: int = 1
    least: int = 0
    part: int | None = None

    @property
    def bits(self) -> str:
        """Bit range of the field, in the manual's notation."""
        return f"bit {self.low}" if self.size == 1 else f"bits {self.low}-{self.low + self.size - 1}"

    @property
    def label(self) -> str:
        """Name of the field, with the element's index if the value is a tuple."""
        return self.name if self.part is None else f"{self.name}[{self.part}]"

    @property
    def known(self) -> str:
        """Valid values of the field, for messages."""
        if self.codes:
            return f"{'one of ' * (len(self.codes) > 1)}{', '.join(map(repr, self.codes))}"
        last = ((1 << self.size) - 1) * self.unit + self.least
        return f"{self.least} to {last}" + (f" in steps of {self.unit}" if self.unit > 1 else "")

    def number(self, value: object) -> int:
        """Return the field's bits that encode `value`; raise DescriptorError for an invalid value."""
        found = self._code(value) if self.codes else self._units(value)
        if found is None:
            raise DescriptorError(f"{self.label} of a descriptor must be {self.known}, got {value!r}")
        return found

    def _code(self, value: object) -> int | None:
        return next((code for known, code in self.codes.items() if known == value and type(known) is type(value)), None)

    def _units(self, value: object) -> int | None:
        if not isinstance(value, int):
            return None
        units, rest = divmod(value - self.least, self.unit)
        return None if rest or not 0 <= units < 1 << self.size else units

    def value(self, word: int) -> object:
        """Return the field's decoded value in the descriptor `word`; raise DescriptorError for an undefined code."""
        number = word >> self.low & (1 << self.size) - 1
        if not self.codes:
            return number * self.unit + self.least
        found = [value for value, code in self.codes.items() if code == number]
        if not found:
            raise DescriptorError(
                f"{self.label} field ({self.bits}) is {number}",
                help="valid values: " + ", ".join(f"{code} is {value!r}" for value, code in self.codes.items()),
            )
        return found[0]


def encode(fields: Sequence[Field], holder: object) -> int:
    """Return the bits of a descriptor whose fields encode the attributes of the object `holder`."""
    word = 0
    for each in fields:
        held = getattr(holder, each.name)
        word |= each.number(held if each.part is None else held[each.part]) << each.low
    return word


def decode(fields: Sequence[Field], word: int, width: int) -> dict[str, Any]:
    """Return the decoded fields of a descriptor of `width` bits; raise DescriptorError for an invalid field."""
    covered = sum((1 << each.size) - 1 << each.low for each in fields)
    beyond = word & ~covered
    if beyond:
        bit = (beyond & -beyond).bit_length() - 1
        raise DescriptorError(
            f"reserved bit {bit} is set", help=f"clear the reserved bits of the {width}-bit descriptor"
        )
    found: dict[str, Any] = {}
    for each in fields:
        value = each.value(word)
        held = found.get(each.name, ())
        found[each.name] = value if each.part is None else (*(held if isinstance(held, tuple) else ()), value)
    return found


def picture(fields: Sequence[Field], word: int) -> str:
    """Return a descriptor as text: one line per field, with its bit range, bits, name and decoded value."""
    rows = [
        (each.bits, f"{word >> each.low & (1 << each.size) - 1:#0{each.size + 2}b}", each.label, repr(each.value(word)))
        for each in fields
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join((*(part.ljust(width) for part, width in zip(row[:3], widths, strict=True)), row[3])) for row in rows
    )
