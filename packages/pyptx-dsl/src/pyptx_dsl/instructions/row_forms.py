"""The forms of an instruction as calls write them: types in their order, and modifiers as keywords.

What there is to write stands in the instruction's rows. Here stand only the names of keywords that are not the names
in the rows' syntax lines: `.rnd` is `rounding="rz"`, `.NaN` is `nan=True`. Any other slot is a keyword that takes one
of its words, and any other word a flag of the same name.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.isa.check import patterns_of
from pyptx_ir.isa.matching import match_modifiers, places_taken
from pyptx_ir.isa.patterns import Pattern, compile_row
from pyptx_ir.isa.scalar_types import TYPES, is_bits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyptx_ir.isa.patterns import Item
    from pyptx_ir.isa.rows import InstructionRow

__all__ = ["Given", "Part", "RowForm", "choices_of", "in_order", "keywords_in", "row_form", "types_in", "untyped"]

Given: TypeAlias = "Mapping[str, str | bool]"
"""Keywords and what was given for each: a word, or True for a flag."""

_NAMED = {
    "rounding": "rnd frnd irnd frnd2 frnd3 frnd4 rn rz rm rp rna rs",
    "mode": "hi lo wide",
    "cmp_op": "cmp",
    "combine": "boolop",
    "sem": "weak volatile relaxed acquire release acq_rel sc",
    "scope": "cta cluster gpu sys",
    "space": "ss global shared shared::cta shared::cluster local const param",
    "op": "add inc dec min max exch cas",
    "bit_op": "and xor",
    "cache": "cop",
    "evict_l1": "level1",
    "evict_l2": "level2",
    "layout": "num",
    "a_layout": "row alayout",
    "b_layout": "col blayout",
}
"""Keywords that take a word, and the slots and words of syntax lines that they stand for."""

_CHOICES = {name: keyword for keyword, names in _NAMED.items() for name in names.split()}

_FLAGS = {"NaN": "nan", "xorsign": "xorsign_abs"}
"""Words whose flag is called otherwise; `abs` behind `xorsign` belongs to it."""

_SHAPE = re.compile(r"m\d+n\d+(k\d+)?")

_DEFAULTS = ("rn", "lo", "clamp")
"""Words that are meant where an instruction needs one of several and a call gives none."""


@dataclass(frozen=True, slots=True)
class Part:
    """One place of a syntax line: a type (`keyword` is empty), a word of several, or a flag."""

    keyword: str
    words: tuple[str, ...]
    flag: bool
    optional: bool

    @property
    def default(self) -> str:
        """The word that stands here if none is asked for."""
        return next((word for word in _DEFAULTS if word in self.words), self.words[0])


@dataclass(frozen=True, slots=True)
class RowForm:
    """One row of an instruction, as calls write it."""

    row: InstructionRow
    parts: tuple[Part, ...]

    @property
    def syntax(self) -> str:
        """The row's syntax line."""
        return self.row.syntax

    @property
    def types(self) -> tuple[tuple[str, ...], ...]:
        """What each of the types may be."""
        return tuple(part.words for part in self.parts if not part.keyword)

    @property
    def keywords(self) -> tuple[str, ...]:
        """What can be asked for."""
        return tuple(dict.fromkeys(part.keyword for part in self.parts if part.keyword))

    def choices(self, keyword: str) -> tuple[str, ...]:
        """Return the words that a keyword takes; none for a flag."""
        return tuple(word for part in self.parts if part.keyword == keyword and not part.flag for word in part.words)

    def has_types(self, types: tuple[str, ...]) -> bool:
        """Tell whether it has these types, in this order."""
        places = self.types
        return len(types) == len(places) and all(word in words for word, words in zip(types, places, strict=True))

    def takes(self, given: Given) -> bool:
        """Tell whether each keyword has what was given for it."""
        return all(
            value in choices if (choices := self.choices(keyword)) else not isinstance(value, str)
            for keyword, value in given.items()
        )

    def lacks(self, given: Given) -> tuple[str, ...]:
        """Return the words of which a call must choose one and does not, as none of them is the usual one."""
        open_parts = (part for part in self.parts if part.keyword and part.keyword not in given and not part.optional)
        return next((part.words for part in open_parts if len(part.words) > 1 and part.default not in _DEFAULTS), ())

    def surplus(self, given: Given) -> tuple[int, int]:
        """Count the words that nobody asked for: those that the form happens to have, and those that are defaults."""
        unasked = [part for part in self.parts if part.keyword and not part.optional and part.keyword not in given]
        usual = sum((not part.flag and part.default in _DEFAULTS) or len(part.words) > 1 for part in unasked)
        return len(unasked) - usual, usual

    def words(self, types: tuple[str, ...], given: Given) -> tuple[str, ...]:
        """Return the words behind the opcode, in the order of the syntax line."""
        return tuple(self._words(iter(types), given))

    def _words(self, types: Iterator[str], given: Given) -> Iterator[str]:
        for part in self.parts:
            asked = given.get(part.keyword)
            if not part.keyword:
                yield next(types)
            elif isinstance(asked, str):
                yield asked
            elif asked or not part.optional:
                yield part.default


@functools.cache
def row_form(row: InstructionRow) -> RowForm:
    """Take a row apart."""
    return RowForm(row, tuple(_part(pattern_item, row) for pattern_item in _named(compile_row(row))))


def _named(pattern: Pattern) -> Iterator[tuple[str, Item]]:
    """Yield the items of a syntax line and their keywords; the keyword of a type is empty."""
    before = ""
    for item in pattern.items:
        before = "" if item.words <= TYPES else _keyword(item.name, before)
        yield before, item


def _keyword(name: str, before: str) -> str:
    if name == "abs" and before == "xorsign_abs":
        return before
    return "shape" if _SHAPE.fullmatch(name) else _CHOICES.get(name) or _FLAGS.get(name, name)


def _part(named: tuple[str, Item], row: InstructionRow) -> Part:
    keyword, item = named
    words = dict(row.slots).get(item.name, (item.name,))
    flag = bool(keyword) and item.name not in dict(row.slots) and not (item.name in _CHOICES or keyword == "shape")
    return Part(keyword, words, flag, item.optional)


def types_in(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the types among the words of an opcode, in their order."""
    return tuple(word for word in words if word in TYPES)


def keywords_in(row: InstructionRow, words: tuple[str, ...]) -> dict[str, str | bool] | None:
    """Return the words of an opcode, in any order, as keywords; None where they are no form of the row."""
    pattern = compile_row(row)
    filled = match_modifiers(pattern, words)
    if filled is None:
        return None
    parts = ((part, item) for part, (_, item) in zip(row_form(row).parts, _named(pattern), strict=True))
    return {
        part.keyword: True if part.flag else filled[item.name]
        for part, item in parts
        if part.keyword and item.name in filled
    }


@functools.lru_cache(maxsize=4096)
def in_order(opcode: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the words of an opcode in the order of the first row that has them; None if no row has."""
    for pattern in patterns_of(opcode[0]):
        taken = places_taken(pattern, opcode[1:])
        if taken is not None:
            return (opcode[0], *(word for _, word in sorted(zip(taken, opcode[1:], strict=True))))
    return None


@functools.cache
def choices_of(opcode: str, keyword: str) -> tuple[str, ...]:
    """Return the words that a keyword takes in one form of an instruction or another."""
    forms = (row_form(pattern.row) for pattern in patterns_of(opcode))
    return tuple(dict.fromkeys(word for form in forms for word in form.choices(keyword)))


def untyped(forms: tuple[RowForm, ...]) -> bool:
    """Tell whether an instruction takes bits of some widths, and perhaps predicates, whatever they mean."""
    words = {word for form in forms for words in form.types for word in words}
    return all(is_bits(word) or word == "pred" for word in words)
