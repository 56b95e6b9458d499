"""A style from a text: of what stands between two tokens, or between two statements, the most frequent."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.syntax.style.dwarf import explain
from pyptx_ir.syntax.style.inline_asm import BEGIN, Matcher, Part, laid, placed, still_inside, templates
from pyptx_ir.syntax.style.items import Item, file_names, items, opcode_number
from pyptx_ir.syntax.style.places import Context, abstracted
from pyptx_ir.syntax.style.style import Style
from pyptx_ir.syntax.style.tokens import cut, pairs, same_tokens, word_kind
from pyptx_ir.syntax.style.writer import lead_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyptx_ir.syntax.nodes import Module

# A rule for a closer name must save so many deviations, and so must one with a comment: one comment is no habit.
_WORTH = 2
# How many of the names of a lead, and of a gap, are closer than the kinds of statements.
_CLOSER_LEADS, _CLOSER_GAPS = 3, 1

# The names that a case may be looked up under, the closest first; the texts that would be right there; and whether it
# begins inline assembly without a template, which says nothing in general.
_Case: TypeAlias = "tuple[tuple[str, ...], frozenset[str | None], bool]"
# Name and kind of a statement, the number of its opcode, its canonical text, and what its
# spelling has between words.
_Spelling: TypeAlias = "tuple[str, str, int | None, tuple[str, ...], tuple[str, ...]]"


def learn(module: Module) -> Style:
    """Return the style of a module that was parsed."""
    row = list(items(module))
    explain(row)
    asm = templates(row)
    parts = list(placed(row, laid(row, Matcher(asm).matches(row))))
    leads = _elected(_leads(parts, file_names(row)), _CLOSER_LEADS)
    gaps: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for key, gap in _elected(_gaps([part.item for part in parts if part.form is None]), _CLOSER_GAPS).items():
        name, _, pair = key.partition("\n")
        gaps[name][pair] = gap
    return Style(leads, dict(gaps), asm)


def _elected(cases: Counter[_Case], closer: int) -> dict[str, str]:
    """Return the fewest rules that are right most often; None among a case's texts stands for no rule.

    The general names are settled first; one of the first `closer` ones gets a rule where that is worth it.
    """
    rules: dict[str, str] = {}
    depth = max((len(keys) for keys, *_ in cases), default=0)
    for level in reversed(range(depth)):
        groups: defaultdict[str, Counter[_Case]] = defaultdict(Counter)
        for case, times in cases.items():
            if level < closer or not case[2]:
                groups[case[0][level]][case] += times
        for key, group in groups.items():
            _settle(key, group, rules, least=_WORTH if level < closer else 1, last=level == depth - 1)
    return rules


def _settle(key: str, group: Counter[_Case], rules: dict[str, str], *, least: int, last: bool) -> None:
    votes: Counter[str | None] = Counter()
    right = 0
    for (keys, texts, _), times in group.items():
        right += times * (next((rules[one] for one in keys if one in rules), None) in texts)
        for text in texts:
            votes[text] += times
    if not last:
        del votes[None]  # only where there is no rule at all can none be best
    if not votes:
        return
    best = max(votes, key=lambda text: (votes[text], text is None, -len(text or ""), text or ""))
    if best is not None and votes[best] - right >= (least if best.isspace() or not best else _WORTH):
        rules[key] = best


def _leads(parts: Iterable[Part], files: Mapping[int, str]) -> Counter[_Case]:
    """Count what stands in front of items, and let those in inline assembly enter it."""
    cases: Counter[_Case] = Counter()
    inside = False
    for part in parts:
        item, lead = part.item, part.item.lead or ""
        if part.inner is None and lead.startswith(part.closing) and lead.endswith(part.opening):
            own = lead[len(part.closing) : len(lead) - len(part.opening)]
            texts: set[str | None] = set(abstracted(own, Context(item, part.before, _line(part.before), files)))
            if own == part.stands_for.usual_lead():
                texts.add(None)
            begins = BEGIN in own and not inside
            cases[lead_keys(part.before, part.stands_for), frozenset(texts), begins] += 1
        inside = still_inside(lead, inside=inside)
        if inside and part.form is None:
            item.enter_asm()
    return cases


def _line(before: Item) -> str:
    return (before.lead or "") + (before.raw or "")


def _gaps(row: Iterable[Item]) -> Counter[_Case]:
    cases: Counter[_Case] = Counter()
    for (name, kind, opcode, texts, between), times in _spellings(row).items():
        for (pair, usual, _), (_, gap, _) in zip(
            pairs(texts[::2], texts[1::2], opcode), pairs(between, texts[1::2], opcode), strict=True
        ):
            keys = (f"{name}\n{pair}", f"{kind}\n{pair}")
            cases[keys, frozenset((gap, None) if gap == usual else (gap,)), False] += times
    return cases


def _spellings(row: Iterable[Item]) -> Counter[_Spelling]:
    """Count the forms of statements and how they are spelt, with one statement's words for each form."""
    known: dict[tuple[str, tuple[str, ...], tuple[str, ...]], tuple[str, ...]] = {}
    found: Counter[_Spelling] = Counter()
    for item in row:
        if item.raw is None or item.node is None:
            continue
        canonical, parts = cut(item.canonical()), cut(item.raw)
        if not same_tokens(canonical, parts):
            continue
        opcode = opcode_number(item)
        kinds = () if opcode is not None else tuple(map(word_kind, canonical[1::2]))
        form = known.setdefault((item.name, tuple(canonical[::2]), kinds), tuple(canonical))
        found[item.name, item.kind, opcode, form, tuple(parts[::2])] += 1
    return found
