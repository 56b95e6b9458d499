"""A style from a text: of what stands between two tokens, or between two statements, the most frequent."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.syntax.style.counts import Counts
from pyptx_ir.syntax.style.deviations import differences
from pyptx_ir.syntax.style.dwarf import explain
from pyptx_ir.syntax.style.inline_asm import BEFORE, BEGIN, MARK, Matcher, Part, laid, still_inside, templates
from pyptx_ir.syntax.style.items import Item, file_names, items
from pyptx_ir.syntax.style.known import KNOWN
from pyptx_ir.syntax.style.places import Context, abstracted, repeats
from pyptx_ir.syntax.style.shapes import Shape, Shapes
from pyptx_ir.syntax.style.style import Style
from pyptx_ir.syntax.style.tokens import pairs
from pyptx_ir.syntax.style.writer import lead_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyptx_ir.syntax.nodes import Module

# A rule for a closer name must save so many deviations, and so must one with a comment: one comment is no habit,
# unless it repeats what stands around it, or is what a known compiler does.
_WORTH = 2
# How many of the names of a lead, and of a gap, are closer than the kinds of statements.
_CLOSER_LEADS, _CLOSER_GAPS = 3, 1

# The names that a case may be looked up under, the closest first; the texts that would be right there; and whether it
# begins inline assembly without a template, which says nothing in general.
_Case: TypeAlias = "tuple[tuple[str, ...], frozenset[str | None], bool]"
# Name and kind of two items, how many braces are open, and what stands between the two.
_Lead: TypeAlias = "tuple[str, str, str, str, int, str]"


def learn(module: Module) -> Style:
    """Return the style of a module that was parsed."""
    row = list(items(module))
    return _learnt(row, Shapes().of_row(row))


def learnt(module: Module) -> tuple[Style, list[Item]]:
    """Return the style of a module that was parsed, and its items as those of `stripped(module, style)`.

    They have a lead and a spelling where the style gives another one.
    """
    row = list(items(module))
    shapes = Shapes().of_row(row)
    names = [(item.kind, item.name) for item in row]  # in inline assembly, there will be others
    style = _learnt(row, shapes)
    _rename(row, names)
    for item, lead, raw in differences(row, shapes, style):
        item.lead = lead
        if item.node is not None:
            item.raw = raw
    _rename(row, names)
    return style, row


def _rename(row: Iterable[Item], names: Iterable[tuple[str, str]]) -> None:
    for item, (kind, name) in zip(row, names, strict=True):
        item.kind, item.name = kind, name


def _learnt(row: Sequence[Item], shapes: Sequence[Shape | None]) -> Style:
    explain(row)
    asm = templates(row)
    parts = laid(row, Matcher(asm).matches(row))
    leads = _elected(_leads(row, parts, file_names(row)), _CLOSER_LEADS)
    formed = {at for at, part in parts.items() if part.form is not None}
    own = [(row[at], shape) for at, shape in enumerate(shapes) if shape is not None and at not in formed]
    gaps: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for key, gap in _elected(_gaps(own), _CLOSER_GAPS).items():
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
        groups: defaultdict[str, list[tuple[_Case, int]]] = defaultdict(list)
        for case, times in cases.items():
            is_last = case[0][level] not in case[0][level + 1 :]  # what has no closer name has its rule already
            if is_last and (level < closer or not case[2]):
                groups[case[0][level]].append((case, times))
        for key, group in groups.items():
            _settle(key, group, rules, least=_WORTH if level < closer else 1, last=level == depth - 1)
    return rules


def _settle(key: str, group: Sequence[tuple[_Case, int]], rules: dict[str, str], *, least: int, last: bool) -> None:
    wrong = sum([times for (keys, texts, _), times in group if _rule(keys, rules) not in texts])
    if not wrong:
        return
    votes: Counter[str | None] = Counter()
    right = -wrong
    for (_, texts, _), times in group:
        right += times
        for text in texts:
            votes[text] += times
    if not last:
        del votes[None]  # only where there is no rule at all can none be best
    if not votes:
        return
    best = max(votes, key=lambda text: (votes[text], text is None, repeats(text), -len(text or ""), text or ""))
    if best is not None and votes[best] - right >= _least(key, best, least):
        rules[key] = best


def _least(key: str, text: str, usual: int) -> int:
    """Return how many deviations a rule must save."""
    if (key, text) in _known_rules() or repeats(text):
        return 1
    return usual if text.isspace() or not text else _WORTH


@cache
def _known_rules() -> frozenset[tuple[str, str]]:
    """Return what compilers are known to do, by the names of rules: once is enough to tell it."""
    leads = (pair for style in KNOWN.values() for pair in style.leads.items())
    gaps = ((name, pair) for style in KNOWN.values() for name, own in style.gaps.items() for pair in own.items())
    return frozenset([*leads, *((f"{name}\n{pair}", gap) for name, (pair, gap) in gaps)])


def _rule(keys: Iterable[str], rules: Mapping[str, str]) -> str | None:
    for key in keys:
        if key in rules:
            return rules[key]
    return None


def _leads(row: Sequence[Item], parts: Mapping[int, Part], files: Mapping[int, str]) -> Counter[_Case]:
    """Count what stands in front of items, and let those in inline assembly enter it."""
    found: Counter[_Lead] = Counter()
    cases: Counter[_Case] = Counter()
    before, inside, counts = BEFORE, False, Counts()
    for at, item in enumerate(row):
        part, lead = parts.get(at), item.lead or ""
        counts.enter(item)
        counts.leave(lead)
        front, behind, own = before, item, lead
        if part is not None:
            front, behind = part.before, part.stands_for
            own = lead.removeprefix(part.closing).removesuffix(part.opening)
        if part is None or (part.inner is None and part.closing + own + part.opening == lead):
            if "//" in own:
                texts = abstracted(own, Context(item, front, _line(front), files))
                cases[_case(front, behind, own, texts, begins=BEGIN in own and not inside)] += 1
            else:  # which hangs on nothing else
                found[front.name, front.kind, behind.name, behind.kind, item.depth, own] += 1
        if MARK in lead:
            inside = still_inside(lead, inside=inside)
        if inside and (part is None or part.form is None):
            item.enter_asm()
        before = item
    for (front_name, front_kind, name, kind, depth, own), times in found.items():
        front, behind = Item(front_kind, front_name, None, None, None), Item(kind, name, None, None, None)
        behind.depth = depth
        cases[_case(front, behind, own, abstracted(own, Context(behind, front, "", files)), begins=False)] += times
    return cases


def _case(before: Item, item: Item, own: str, texts: Iterable[str], *, begins: bool) -> _Case:
    right: set[str | None] = set(texts)
    if own == item.usual_lead():
        right.add(None)
    return lead_keys(before, item), frozenset(right), begins


def _line(before: Item) -> str:
    return (before.lead or "") + (before.raw or "")


def _gaps(row: Iterable[tuple[Item, Shape]]) -> Counter[_Case]:
    found: Counter[tuple[str, str, str, str, str]] = Counter()
    for (name, kind, shape), times in Counter([(item.name, item.kind, shape) for item, shape in row]).items():
        usually, spelt = (pairs(each, shape.words, shape.opcode) for each in (shape.canonical, shape.spelt))
        for (pair, usual, _), (_, gap, _) in zip(usually, spelt, strict=True):
            found[name, kind, pair, usual, gap] += times
    cases: Counter[_Case] = Counter()
    for (name, kind, pair, usual, gap), times in found.items():
        cases[(f"{name}\n{pair}", f"{kind}\n{pair}"), frozenset((gap, None) if gap == usual else (gap,)), False] += (
            times
        )
    return cases
