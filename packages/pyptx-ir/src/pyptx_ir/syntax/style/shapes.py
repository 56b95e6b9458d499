"""The shape of a spelling: what stands between its words.

A compiler writes few shapes and many words. What a style says of a statement hangs on its shape alone, so it is asked
once a shape, and statements are compared by their shapes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.syntax.nodes import Instruction, Label, Loc, RegisterDeclaration, SectionData
from pyptx_ir.syntax.style.items import opcode_number
from pyptx_ir.syntax.style.tokens import cut, erased, same_tokens, word_kinds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.syntax.style.items import Item

# Their words stand in the tree as they are written, so spellings of one shape have canonical texts of one shape.
_VERBATIM = frozenset({Instruction, Label})
# Their numbers do not, if they are written in an unusual way: `.loc 01 7 3`, `function_name $f+0`.
_COUNTED = frozenset({Loc, RegisterDeclaration})
_UNUSUAL = re.compile(r"(?<![\w$%.])(?:0[\w.]|[1-9][0-9]*[A-Za-z_$.])|\+", re.ASCII)
# Here `e+5` is a sum, or the end of a number.
_EXPONENT = re.compile(r"[eE][+-]")
_DIGITS = b"0123456789"


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What a spelling has between its words, and what its canonical text has between the same words.

    `form` is the first as a `%`-format, `opcode` the number of the word that is one; where none is, `kinds` are those
    of the words.
    """

    spelt: tuple[str, ...]
    canonical: tuple[str, ...]
    kinds: tuple[str, ...] | None
    form: str
    opcode: int | None


class Shapes:
    """Tells the shapes of the spellings in one text, and makes each of them once."""

    def __init__(self) -> None:
        self._by_marks: dict[tuple[str, str], Shape | None] = {}
        self._by_text: dict[str | bytes, Shape | None] = {}
        self._made: dict[tuple[object, ...], Shape] = {}

    def of_row(self, row: Iterable[Item]) -> list[Shape | None]:
        """Return the shape of each item; None for braces, and for a spelling with other tokens than canonical text."""
        shapes: list[Shape | None] = []
        for item in row:
            item.shape = None if item.node is None or item.raw is None else self._of(item, item.raw)
            shapes.append(item.shape)
        return shapes

    def _of(self, item: Item, raw: str) -> Shape | None:
        text = _key(item.node.__class__, raw)
        if text is None:
            return self._make(item, raw)
        if text not in self._by_text:
            self._by_text[text] = (
                self._by_erased(item, raw) if item.node.__class__ in _VERBATIM else self._make(item, raw)
            )
        return self._by_text[text]

    def _by_erased(self, item: Item, raw: str) -> Shape | None:
        marks = item.name, erased(raw)
        if marks not in self._by_marks:
            self._by_marks[marks] = self._make(item, raw)
        return self._by_marks[marks]

    def _make(self, item: Item, raw: str) -> Shape | None:
        parts, canonical = cut(raw), cut(item.canonical())
        if not same_tokens(canonical, parts):
            return None
        spelt, opcode = tuple(parts[::2]), opcode_number(item)
        kinds = word_kinds(parts[1::2], opcode)
        key = item.kind, item.name, spelt, kinds
        shape = self._made.get(key)
        if shape is None:
            form = "%s".join([text.replace("%", "%%") for text in spelt])
            shape = self._made[key] = Shape(spelt, tuple(canonical[::2]), kinds, form, opcode)
        return shape


def _key(kind: type, raw: str) -> str | bytes | None:
    """Return what spellings of one shape may have in common; None for a spelling that is looked at by itself."""
    if kind is SectionData:  # few lines of data are written once
        return raw
    unusual = _EXPONENT if kind in _VERBATIM else _UNUSUAL if kind in _COUNTED else None
    if unusual is None or unusual.search(raw):
        return None
    return raw.encode(errors="surrogatepass").translate(None, _DIGITS)  # bytes are quicker to go through
