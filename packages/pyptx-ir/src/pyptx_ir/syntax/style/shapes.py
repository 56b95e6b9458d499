"""Shape of a source text: the separators between its words.

Compilers emit few shapes and many words. The style of a statement depends only on its shape, so it is computed once per
shape, and statements are compared by shape.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.syntax.nodes import Instruction, Label, Loc, RegisterDeclaration, SectionData
from pyptx_ir.syntax.style.items import opcode_number
from pyptx_ir.syntax.style.tokens import cut, erased, same_tokens, word_kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx_ir.syntax.style.items import Item

    _Between: TypeAlias = "tuple[tuple[str, ...], tuple[str, ...]]"
    """Separators between consecutive tokens, in a source text and in its canonical text."""

# Statement classes whose words the tree stores verbatim: if the source texts of two statements have one shape, their
# canonical texts have one shape, too.
_VERBATIM = frozenset({Instruction, Label})
# Statement classes whose numbers the tree stores differently if written unusually: `.loc 01 7 3`, `function_name $f+0`.
_COUNTED = frozenset({Loc, RegisterDeclaration})
_UNUSUAL = re.compile(r"(?<![\w$%.])(?:0[\w.]|[1-9][0-9]*[A-Za-z_$.])|\+", re.ASCII)
# `e+5` may be a sum, or the exponent of a number.
_EXPONENT = re.compile(r"[eE][+-]")
_DIGITS = b"0123456789"


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Separators between the words of a source text, and between the same words of its canonical text.

    `form` is the source text as a `%`-format. `opcode` is the index of the opcode's word. Without an opcode, `kinds`
    are the kinds of the words: number, string or other word.
    """

    spelt: tuple[str, ...]
    canonical: tuple[str, ...]
    kinds: tuple[str, ...] | None
    form: str
    opcode: int | None


class Shapes:
    """Finder of the shapes of source texts in one module; each shape is computed once."""

    def __init__(self) -> None:
        self._by_marks: dict[str, _Between | None] = {}
        self._by_text: dict[str | bytes, Shape | None] = {}
        self._made: dict[tuple[object, ...], Shape] = {}

    def of_row(self, row: Iterable[Item]) -> list[Shape | None]:
        """Return the `Shape` of each statement; None for a brace, or if the tokens differ from the canonical text's."""
        shapes: list[Shape | None] = []
        known = self._by_text
        for item in row:
            raw, kind = item.raw, item.node.__class__
            text: str | bytes | None = None
            if kind is Instruction:  # fast path: most statements are instructions
                if raw is not None and not (("+" in raw or "-" in raw) and _EXPONENT.search(raw)):
                    text = raw.encode(errors="surrogatepass").translate(None, _DIGITS)
            elif kind is SectionData:
                text = raw
            if text is not None and text in known:
                shape = known[text]
            else:
                shape = None if item.node is None or raw is None else self._of(item, raw)
            item.shape = shape
            shapes.append(shape)
        return shapes

    def _of(self, item: Item, raw: str) -> Shape | None:
        text = _key(item.node.__class__, raw)
        if text is None:
            return self._make(item, raw)
        if text not in self._by_text:
            is_instruction = item.node.__class__ is Instruction
            self._by_text[text] = self._by_erased(item, raw) if is_instruction else self._make(item, raw)
        return self._by_text[text]

    def _by_erased(self, item: Item, raw: str) -> Shape | None:
        """Return the shape of an instruction, which the separators alone determine: its words have no kinds."""
        marks = erased(raw)
        if marks not in self._by_marks:
            self._by_marks[marks] = _between(item, cut(raw))
        return self._shape(item, self._by_marks[marks], None)

    def _make(self, item: Item, raw: str) -> Shape | None:
        parts = cut(raw)
        return self._shape(item, _between(item, parts), word_kinds(parts[1::2], opcode_number(item)))

    def _shape(self, item: Item, between: _Between | None, kinds: tuple[str, ...] | None) -> Shape | None:
        if between is None:
            return None
        key = item.kind, item.name, between[0], kinds
        shape = self._made.get(key)
        if shape is None:
            form = "%s".join([text.replace("%", "%%") for text in between[0]])
            shape = self._made[key] = Shape(*between, kinds, form, opcode_number(item))
        return shape


def _between(item: Item, parts: Sequence[str]) -> _Between | None:
    """Return the separators of a source text split by `cut` and of the item's canonical text; None if tokens differ."""
    canonical = cut(item.canonical())
    return (tuple(parts[::2]), tuple(canonical[::2])) if same_tokens(canonical, parts) else None


def _key(kind: type, raw: str) -> str | bytes | None:
    """Return a cache key that source texts of one shape share; None for a text that needs its own shape."""
    if kind is SectionData:  # the whole text is the key: most data lines occur several times
        return raw
    if kind in _VERBATIM:  # the regular expression is needed only for the few texts with a `+` or `-`
        is_usual = not ("+" in raw or "-" in raw) or _EXPONENT.search(raw) is None
    else:
        is_usual = kind in _COUNTED and _UNUSUAL.search(raw) is None
    if not is_usual:
        return None
    return raw.encode(errors="surrogatepass").translate(None, _DIGITS)  # bytes.translate is faster than str.translate
