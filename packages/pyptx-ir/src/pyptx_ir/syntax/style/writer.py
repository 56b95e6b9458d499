"""Text by a style: the lead and the spelling of each item."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax.nodes import Instruction
from pyptx_ir.syntax.parser import collector_paused
from pyptx_ir.syntax.style.dwarf import EXPLAINED, explain
from pyptx_ir.syntax.style.inline_asm import BEFORE, Matcher, Part, laid, still_inside
from pyptx_ir.syntax.style.items import Item, file_names, items, opcode_number
from pyptx_ir.syntax.style.places import Context, filled
from pyptx_ir.syntax.style.tokens import cut, pairs, word_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyptx_ir.syntax.nodes import Module, Statement
    from pyptx_ir.syntax.style.style import Style

_LONG = 4_000  # what stands between the words of a longer text is not kept

# What no mark ends: white space has to.
_UNENDED = frozenset({"Version", "Target", "AddressSize", "File", "Loc", "SectionData", EXPLAINED, "Directive"})


def write(tree: Module | Statement, style: Style) -> str:
    """Write a tree: its own leads and spellings where it has them, the style's elsewhere."""
    out: list[str] = []
    with collector_paused():
        for item, lead, text in Writer(style).written(list(items(tree))):
            out.append(lead if item.lead is None else item.lead)
            out.append(text if item.raw is None else item.raw)
    return "".join(out)


class Writer:
    """Applies a style, and remembers what it says about each form of a statement that it has met."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._leads: dict[tuple[str, str], str] = {}
        self._forms: dict[str, dict[tuple[str, ...], str]] = {}
        self._regions = Matcher(style.asm)

    def written(self, row: Sequence[Item]) -> Iterator[tuple[Item, str, str]]:
        """Yield each item with the lead and the spelling that the style gives it, whatever its own are."""
        explain(row)
        files = file_names(row)
        parts = laid(row, self._regions.matches(row))
        before, line, inside = BEFORE, "", False
        for at, item in enumerate(row):
            part = parts.get(at)
            lead = self._lead(before, item) if part is None else self._region_lead(part)
            if "{" in lead:
                lead = filled(lead, Context(item, before, line, files))
            own = lead if item.lead is None else item.lead
            if "inline asm" in own:
                inside = still_inside(own, inside=inside)
            if inside and part is None:
                item.enter_asm()
            text = self._text(item) if part is None or part.form is None else _formed(part.form, item)
            yield item, lead, text
            before, line = item, own + (text if item.raw is None else item.raw)

    def _lead(self, before: Item, item: Item) -> str:
        names = before.name, item.name
        rule = self._leads.get(names)
        if rule is None:
            rule = self._leads[names] = self._rule(before, item)
        return rule

    def _region_lead(self, part: Part) -> str:
        if part.inner is not None:
            return part.inner
        return part.closing + self._lead(part.before, part.stands_for) + part.opening

    def _rule(self, before: Item, item: Item) -> str:
        leads = self._style.leads
        for key in lead_keys(before, item):
            if leads.get(key, "") or (key in leads and before.kind not in _UNENDED):
                return leads[key]
        return item.usual_lead()

    def _text(self, item: Item) -> str:
        if item.node is None:
            return item.raw or ""
        canonical = item.canonical()
        parts = cut(canonical)
        words, between = tuple(parts[1::2]), tuple(parts[::2])
        if len(canonical) > _LONG:
            return self._form(item, between, words) % words
        key = between if isinstance(item.node, Instruction) else (*between, *map(word_kind, words))
        forms = self._forms.get(item.name)
        if forms is None:
            forms = self._forms[item.name] = {}
        form = forms.get(key)
        if form is None:
            form = forms[key] = self._form(item, between, words)
        return form % words

    def _form(self, item: Item, between: tuple[str, ...], words: tuple[str, ...]) -> str:
        """Return the spelling with `%s` for each word."""
        own, general = self._rules(item.name), self._rules(item.kind)
        out: list[str] = []
        for pair, gap, text in pairs(between, words, opcode_number(item)):
            out.append(own.get(pair, general.get(pair, gap)))
            out.append(text)
        return "".join(out)

    def _rules(self, name: str) -> Mapping[str, str]:
        return self._style.gaps.get(name, {})


def _formed(form: str, item: Item) -> str:
    return form % tuple(cut(item.canonical())[1::2])


def lead_keys(before: Item, item: Item) -> tuple[str, ...]:
    """Return the names that a lead may have in a style, the closest first."""
    return (
        f"{before.name} {item.name}",
        f"{before.name} {item.kind}",
        f"{before.kind} {item.name}",
        f"{before.kind} {item.kind}",
        f"{before.kind} *",
        f"* {item.kind}",
        "*",
    )
