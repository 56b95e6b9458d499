"""Apply a style to a tree: the leading trivia and the text of each statement and brace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.collector import collector_paused
from pyptx_ir.syntax.style.counts import Counts
from pyptx_ir.syntax.style.dwarf import EXPLAINED, explain
from pyptx_ir.syntax.style.inline_asm import BEFORE, ItemInContext, Matcher, Signatures, laid, still_inside
from pyptx_ir.syntax.style.items import Item, file_names, items, opcode_number, usual_trivia
from pyptx_ir.syntax.style.placeholders import MARGIN, Context, filled, indented
from pyptx_ir.syntax.style.tokens import cut, pairs, word_kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyptx_ir.syntax.nodes import Module, Statement
    from pyptx_ir.syntax.style.shapes import Shape
    from pyptx_ir.syntax.style.style import Style

_LONG = 4_000  # maximum characters of a statement whose whitespace between tokens is cached

# Kinds of statements without a final `;` or brace, which need whitespace after them.
_UNENDED = frozenset({"Version", "Target", "AddressSize", "File", "Loc", "SectionData", EXPLAINED, "Directive"})


def write(tree: Module | Statement, style: Style) -> str:
    """Emit a tree: each statement with its own trivia and source text if present, else with those of the style."""
    out: list[str] = []
    with collector_paused():
        for item, leading_trivia, text in Writer(style).written(list(items(tree))):
            out.append(leading_trivia if item.leading_trivia is None else item.leading_trivia)
            out.append(text if item.raw is None else item.raw)
    return "".join(out)


class Writer:
    """Writer in one style, which caches the `%`-format of statements with equal names and separators."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._trivia: dict[tuple[str, str], str] = {}
        self._forms: dict[str, dict[tuple[tuple[str, ...], tuple[str, ...] | None], str]] = {}
        self._given: dict[tuple[str, str, Shape], bool] = {}
        self._regions = Matcher(style.asm)

    def written(self, row: Sequence[Item]) -> Iterator[tuple[Item, str, str]]:
        """Yield each statement or brace with the leading trivia and the text of the style, ignoring its own."""
        for item, leading_trivia, form in self.laid(row):
            yield item, leading_trivia, self._text(item, form)

    def laid(self, row: Sequence[Item]) -> Iterator[tuple[Item, str, str | None]]:
        """Yield each statement or brace, the style's leading trivia, and its `%`-format in an asm template, if any."""
        explain(row)
        files = file_names(row)
        parts = laid(row, self._regions.matches(Signatures(row)))
        before, trivia_before, before_form, inside = BEFORE, "", None, False
        counts = Counts()
        for at, item in enumerate(row):
            counts.enter(item)
            part = parts.get(at)
            leading_trivia = self.leading_trivia(before, item, part)
            if "{" in leading_trivia:
                line = trivia_before + self._own(before, before_form) if MARGIN in leading_trivia else ""
                leading_trivia = filled(leading_trivia, Context(item, before, line, files))
            own = leading_trivia if item.leading_trivia is None else item.leading_trivia
            if "//" in own:
                counts.hear(own)
                inside = still_inside(own, inside=inside)
            form = None if part is None else part.form
            if inside and form is None:
                item.enter_asm()
            yield item, leading_trivia, form
            before, trivia_before, before_form = item, own, form

    def gives(self, item: Item, form: str | None, shape: Shape | None) -> bool:
        """Return whether the style reproduces the source text of a statement; `shape` is the `Shape` of that text."""
        if shape is None:
            return item.raw == self._text(item, form)
        if form is not None:
            return form == shape.form
        key = item.name, item.kind, shape
        known = self._given.get(key)
        if known is None:
            known = self._given[key] = shape.form == self._form(item, shape.canonical, shape.kinds)
        return known

    def _own(self, item: Item, form: str | None) -> str:
        return self._text(item, form) if item.raw is None else item.raw

    def leading_trivia(self, before: Item, item: Item, part: ItemInContext | None) -> str:
        """Return the style's trivia before `item` with its indent; callers replace other placeholders with `filled`."""
        leading_trivia = self._leading_trivia(before, item) if part is None else self._region_trivia(part)
        return indented(leading_trivia, item) if "{" in leading_trivia else leading_trivia

    def _leading_trivia(self, before: Item, item: Item) -> str:
        names = before.name, item.name
        rule = self._trivia.get(names)
        if rule is None:
            rule = self._trivia[names] = self._rule(before, item)
        return rule

    def _region_trivia(self, part: ItemInContext) -> str:
        if part.inner is not None:
            return part.inner
        return part.closing + self._leading_trivia(part.before, part.stands_for) + part.opening

    def _rule(self, before: Item, item: Item) -> str:
        trivia = self._style.trivia
        for key in trivia_keys(before.name, before.kind, item.name, item.kind):
            if trivia.get(key, "") or (key in trivia and before.kind not in _UNENDED):
                return trivia[key]
        return usual_trivia(item.name)

    def _text(self, item: Item, form: str | None) -> str:
        if item.node is None:
            return item.raw or ""
        if form is not None:
            return form % tuple(cut(item.canonical())[1::2])
        canonical = item.canonical()
        parts = cut(canonical)
        words, between = tuple(parts[1::2]), tuple(parts[::2])
        kinds = word_kinds(words, opcode_number(item))
        if len(canonical) > _LONG:
            return self._form(item, between, kinds) % words
        forms = self._forms.get(item.name)
        if forms is None:
            forms = self._forms[item.name] = {}
        known = forms.get((between, kinds))
        if known is None:
            known = forms[between, kinds] = self._form(item, between, kinds)
        return known % words

    def _form(self, item: Item, between: tuple[str, ...], kinds: tuple[str, ...] | None) -> str:
        """Return a statement's text in the style, with `%s` in place of each word."""
        own, general = self._rules(item.name), self._rules(item.kind)
        out: list[str] = []
        for pair, gap, text in pairs(between, kinds, opcode_number(item)):
            out.append(own.get(pair, general.get(pair, gap)))
            out.append(text)
        return "".join(out)

    def _rules(self, name: str) -> Mapping[str, str]:
        return self._style.gaps.get(name, {})


def trivia_keys(before_name: str, before_kind: str, name: str, kind: str) -> tuple[str, ...]:
    """Return the style's lookup keys for the trivia between two statements or braces, most specific first."""
    return (
        f"{before_name} {name}",
        f"{before_name} {kind}",
        f"{before_kind} {name}",
        f"{before_kind} {kind}",
        f"{before_kind} *",
        f"* {kind}",
        "*",
    )
