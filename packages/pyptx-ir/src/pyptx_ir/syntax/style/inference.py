"""Infer a style from a text: the most frequent whitespace between tokens and between statements."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.syntax.style.counts import Counts
from pyptx_ir.syntax.style.deviations import differences_where_inferred
from pyptx_ir.syntax.style.dwarf import explain
from pyptx_ir.syntax.style.elections import Case, elected
from pyptx_ir.syntax.style.inline_asm import (
    BEFORE,
    BEGIN,
    ItemInContext,
    Matcher,
    Signatures,
    laid,
    still_inside,
    templates,
)
from pyptx_ir.syntax.style.items import Item, file_names, items, usual_trivia
from pyptx_ir.syntax.style.placeholders import Context, abstracted, indentable
from pyptx_ir.syntax.style.shapes import Shape, Shapes
from pyptx_ir.syntax.style.style import Style
from pyptx_ir.syntax.style.tokens import gaps
from pyptx_ir.syntax.style.writer import trivia_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyptx_ir.syntax.nodes import Module

# Number of lookup keys of a style rule that are more specific than the kind of its statement: in rules for leading
# trivia, and in rules for whitespace between tokens.
_CLOSING_TRIVIA, _CLOSER_GAPS = 3, 1

# Name and kind of each of two consecutive statements or braces, brace depth between them, and their separating trivia.
_Lead: TypeAlias = "tuple[str, str, str, str, int, str]"


def infer_style(module: Module) -> Style:
    """Return the whitespace style of a parsed module."""
    row = list(items(module))
    shapes = Shapes().of_row(row)
    explain(row)
    return _inferred(row, shapes)[0]


def style_and_items(module: Module) -> tuple[Style, list[Item]]:
    """Return the whitespace style of a parsed module, and the `Item`s of `stripped(module, style)`.

    The items (statements and braces) have leading trivia and source text only where the style differs.
    """
    row = list(items(module))
    shapes = Shapes().of_row(row)
    names = [(item.kind, item.name) for item in row]
    explain(row)
    explained = any(item.remark for item in row)
    # The original names, because `_inferred` renames the statements of inline assembly.
    outside = [(item.kind, item.name) for item in row] if explained else names
    style, parts = _inferred(row, shapes)
    in_asm = {at for at, (item, (kind, _)) in enumerate(zip(row, outside, strict=True)) if item.kind != kind}
    _rename(row, outside)
    written: tuple[Item, str | None, str | None] | None = None
    for each in differences_where_inferred(row, shapes, style, parts, in_asm):
        # Strip the previous statement's trivia and text only now: the comparison of this statement has read them.
        _leave(written)
        written = each
    _leave(written)
    _rename(row, names)
    return style, row


def _leave(written: tuple[Item, str | None, str | None] | None) -> None:
    """Remove a statement's leading trivia and source text where the style reproduces them."""
    if written is not None:
        item, leading_trivia, raw = written
        item.leading_trivia = leading_trivia
        if item.node is not None:
            item.raw = raw


def _rename(row: Iterable[Item], names: Iterable[tuple[str, str]]) -> None:
    for item, (kind, name) in zip(row, names, strict=True):
        item.kind, item.name = kind, name


def _inferred(row: Sequence[Item], shapes: Sequence[Shape | None]) -> tuple[Style, dict[int, ItemInContext]]:
    signatures = Signatures(row)
    asm = templates(signatures)
    parts = laid(row, Matcher(asm).matches(signatures))
    trivia = elected(_trivia(row, parts, file_names(row)), _CLOSING_TRIVIA)
    formed = {at for at, part in parts.items() if part.form is not None}
    own = [(row[at], shape) for at, shape in enumerate(shapes) if shape is not None and at not in formed]
    gaps: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for key, gap in elected(_gaps(own), _CLOSER_GAPS).items():
        name, _, pair = key.partition("\n")
        gaps[name][pair] = gap
    return Style(trivia, dict(gaps), asm), parts


def _trivia(row: Sequence[Item], parts: Mapping[int, ItemInContext], files: Mapping[int, str]) -> list[Case]:
    """Count the leading trivia of statements and braces by context; rename those in inline assembly (`enter_asm`)."""
    found: list[_Lead] = []
    cases: Counter[tuple[tuple[str, ...], frozenset[str | None], bool]] = Counter()
    before, inside, counts = BEFORE, False, Counts()
    for at, item in enumerate(row):
        part, leading_trivia = parts.get(at), item.leading_trivia or ""
        counts.enter(item)
        outside = not inside
        if "//" in leading_trivia:
            counts.hear(leading_trivia)
            inside = still_inside(leading_trivia, inside=inside)
        front, behind, own = before, item, leading_trivia
        if part is not None:
            front, behind = part.before, part.stands_for
            own = leading_trivia.removeprefix(part.closing).removesuffix(part.opening)
        if part is None or (part.inner is None and part.closing + own + part.opening == leading_trivia):
            if "//" in own:
                texts = abstracted(own, Context(item, front, _line(front), files))
                keys = trivia_keys(front.name, front.kind, behind.name, behind.kind)
                cases[keys, _right(behind.name, own, texts), outside and BEGIN in own] += 1
            else:  # trivia without comments depends on nothing but the brace depth
                found.append((front.name, front.kind, behind.name, behind.kind, item.depth, own))
        if inside and (part is None or part.form is None):
            item.enter_asm()
        before = item
    return [
        *(Case(keys, texts, times, begins_asm) for (keys, texts, begins_asm), times in cases.items()),
        *(
            Case(trivia_keys(*names), _right(names[2], own, indentable(own, depth)), times)
            for (*names, depth, own), times in Counter(found).items()
        ),
    ]


def _right(name: str, own: str, texts: Iterable[str]) -> frozenset[str | None]:
    """Return `texts`, the style rules that reproduce the trivia `own`, and None if the canonical trivia is `own`."""
    return frozenset([*texts, None] if own == usual_trivia(name) else texts)


def _line(before: Item) -> str:
    return (before.leading_trivia or "") + (before.raw or "")


def _gaps(row: Iterable[tuple[Item, Shape]]) -> list[Case]:
    found: Counter[tuple[str, str, tuple[str, str, str]]] = Counter()
    for (name, kind, shape), times in Counter([(item.name, item.kind, shape) for item, shape in row]).items():
        for gap in gaps(shape.canonical, shape.spelt, shape.kinds, shape.opcode):
            found[name, kind, gap] += times
    # Style rules are needed only for token pairs that some text separates by other than the canonical whitespace.
    unusual = {(kind, pair) for _, kind, (pair, usual, gap) in found if gap != usual}
    return [
        Case((f"{name}\n{pair}", f"{kind}\n{pair}"), (gap, None) if gap == usual else (gap,), times)
        for (name, kind, (pair, usual, gap)), times in found.items()
        if (kind, pair) in unusual
    ]
