"""Values packed into the bits of a word: a table of fields, from which both directions and the picture follow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyptx_ir.errors import PyptxError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["DescriptorError", "Field", "decode", "encode", "picture"]


class DescriptorError(PyptxError, ValueError):
    """A descriptor's field that holds what it cannot, or bits that are no descriptor; the message names the field."""


@dataclass(frozen=True, slots=True)
class Field:
    """Bits `low` to `low + size - 1` of a word, which hold `name`.

    `codes` are the values that there are, and the numbers that stand for them. Without codes the field is a number, of
    units of `unit`, less `least`. `part` says which element of a tuple it is.
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
        """The place, as the manual writes it."""
        return f"bit {self.low}" if self.size == 1 else f"bits {self.low}-{self.low + self.size - 1}"

    @property
    def label(self) -> str:
        """The name, with the number of the element."""
        return self.name if self.part is None else f"{self.name}[{self.part}]"

    @property
    def known(self) -> str:
        """The values that there are."""
        if self.codes:
            return f"one of {', '.join(map(repr, self.codes))}"
        last = ((1 << self.size) - 1) * self.unit + self.least
        return f"{self.least} to {last}" + (f" in steps of {self.unit}" if self.unit > 1 else "")

    def number(self, value: object) -> int:
        """Return what stands for `value`; raise DescriptorError for what the field cannot hold."""
        found = self._code(value) if self.codes else self._units(value)
        if found is None:
            raise DescriptorError(f"{self.label}={value!r} of a descriptor", hint=f"{self.label} is {self.known}")
        return found

    def _code(self, value: object) -> int | None:
        return next((code for known, code in self.codes.items() if known == value and type(known) is type(value)), None)

    def _units(self, value: object) -> int | None:
        if not isinstance(value, int):
            return None
        units, rest = divmod(value - self.least, self.unit)
        return None if rest or not 0 <= units < 1 << self.size else units

    def value(self, word: int) -> object:
        """Return what the field of `word` says; raise DescriptorError for a number that stands for nothing."""
        number = word >> self.low & (1 << self.size) - 1
        if not self.codes:
            return number * self.unit + self.least
        found = [value for value, code in self.codes.items() if code == number]
        if not found:
            raise DescriptorError(
                f"{self.bits}, {self.label}, of descriptor {word:#x} hold {number}, which says nothing",
                hint=", ".join(f"{code} is {value!r}" for value, code in self.codes.items()),
            )
        return found[0]


def encode(fields: Sequence[Field], holder: object) -> int:
    """Return the word that says what the attributes of `holder` do."""
    word = 0
    for each in fields:
        held = getattr(holder, each.name)
        word |= each.number(held if each.part is None else held[each.part]) << each.low
    return word


def decode(fields: Sequence[Field], word: int, width: int) -> dict[str, Any]:
    """Return what each field of a word of `width` bits says; raise DescriptorError that names the field in question."""
    covered = sum((1 << each.size) - 1 << each.low for each in fields)
    beyond = word & ~covered
    if beyond:
        bit = (beyond & -beyond).bit_length() - 1
        beside = f"bit {bit} of descriptor {word:#x} is set, and no field has it"
        raise DescriptorError(beside, hint=f"it has {width} bits, of which the reserved ones are 0")
    found: dict[str, Any] = {}
    for each in fields:
        value = each.value(word)
        held = found.get(each.name, ())
        found[each.name] = value if each.part is None else (*(held if isinstance(held, tuple) else ()), value)
    return found


def picture(fields: Sequence[Field], word: int) -> str:
    """Draw a word: a field in each line, its bits, the number that they hold, and what that says."""
    rows = [
        (each.bits, f"{word >> each.low & (1 << each.size) - 1:#0{each.size + 2}b}", each.label, repr(each.value(word)))
        for each in fields
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join((*(part.ljust(width) for part, width in zip(row[:3], widths, strict=True)), row[3])) for row in rows
    )
