"""Text by a style: the lead and the spelling of each item."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax.nodes import Instruction
from pyptx_ir.syntax.style.items import START, Item, items
from pyptx_ir.syntax.style.tokens import cut, pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyptx_ir.syntax.nodes import Module, Statement
    from pyptx_ir.syntax.style.style import Style

FUNCTION, INDENT = "{function}", "{indent}"
_LONG = 4_000  # what stands between the words of a longer text is not kept
BEFORE = Item(START, START, None, "", "", 0, "")


def write(tree: Module | Statement, style: Style) -> str:
    """Write a tree: its own leads and spellings where it has them, the style's elsewhere."""
    out: list[str] = []
    for item, lead, text in Writer(style).written(items(tree)):
        out.append(lead if item.lead is None else item.lead)
        out.append(text if item.raw is None else item.raw)
    return "".join(out)


class Writer:
    """Applies a style, and remembers what it says about each form of a statement that it has met."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._leads: dict[tuple[str, str], str] = {}
        self._forms: dict[str, dict[tuple[str, ...], str]] = {}

    def written(self, row: Iterable[Item]) -> Iterator[tuple[Item, str, str]]:
        """Yield each item with the lead and the spelling that the style gives it, whatever its own are."""
        before = None
        for item in row:
            yield item, self.lead(before, item), self.text(item)
            before = item

    def lead(self, before: Item | None, item: Item) -> str:
        """Return what the style puts in front of an item."""
        names = (START if before is None else before.name, item.name)
        rule = self._leads.get(names)
        if rule is None:
            rule = self._leads[names] = self._rule(before or BEFORE, item)
        return rule if "{" not in rule else filled(rule, item)

    def _rule(self, before: Item, item: Item) -> str:
        leads = self._style.leads
        for key in lead_keys(before, item):
            if key in leads:
                return leads[key]
        return item.usual_lead()

    def text(self, item: Item) -> str:
        """Return the style's spelling of an item."""
        canonical = item.canonical()
        if item.node is None:
            return canonical
        parts = cut(canonical)
        words = tuple(parts[1::2])
        between = tuple(parts[::2])
        if '"' in canonical or len(canonical) > _LONG:
            return self._form(item, between, words) % words
        forms = self._forms.setdefault(item.name, {})
        form = forms.get(between)
        if form is None:
            form = forms[between] = self._form(item, between, words)
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


def lead_keys(before: Item, item: Item) -> tuple[str, str, str, str]:
    """Return the names that a lead may have in a style, the closest first."""
    return (
        f"{before.name} {item.name}",
        f"{before.name} {item.kind}",
        f"{before.kind} {item.name}",
        f"{before.kind} {item.kind}",
    )


def opcode_number(item: Item) -> int | None:
    """Return which word of an instruction is its opcode: the first, or the second behind a guard."""
    node = item.node
    return None if not isinstance(node, Instruction) else int(node.guard is not None)


def filled(rule: str, item: Item) -> str:
    """Put a lead's places in."""
    return rule.replace(INDENT, "\t" * item.depth).replace(FUNCTION, item.function)
