"""The fewest rules that are right most often, for cases that each may be looked up under several names.

Most cases are right with the rules that there are already; only the names of the others are voted on.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING

from pyptx_ir.syntax.style.known import KNOWN
from pyptx_ir.syntax.style.places import repeats
from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

# A rule for a closer name must save so many deviations, and so must one with a comment: one comment is no habit,
# unless it repeats what stands around it, or is what a known compiler does.
_WORTH = 2


@value
class Case(Value):
    """What stood so many `times` in one place.

    `keys` are the names that it may be looked up under, the closest first; `texts` those that would be right there,
    with None where no rule at all is right. What begins inline assembly without a template says nothing in general.
    """

    keys: tuple[str, ...]
    texts: Collection[str | None]
    times: int
    begins_asm: bool = False


def elected(cases: Sequence[Case], closer: int) -> dict[str, str]:
    """Return the rules by their names.

    The general names are settled first; one of the first `closer` ones gets a rule where that is worth it.
    """
    rules: dict[str, str] = {}
    given: list[str | None] = [None] * len(cases)
    depth = max((len(case.keys) for case in cases), default=0)
    silent = [at for at, case in enumerate(cases) if case.begins_asm]  # until closer names are settled
    for level in reversed(range(depth)):
        for at in silent:
            given[at] = _rule(cases[at].keys, rules)
        least = _WORTH if level < closer else 1
        heard = [
            at
            for at, case in enumerate(cases)
            if (level < closer or not case.begins_asm) and case.keys[level] not in case.keys[level + 1 :]
        ]  # where no name is closer, there is a rule already
        for key, group in _wrong(cases, heard, given, level).items():
            best = _best(key, [(cases[at], given[at]) for at in group], least, last=level == depth - 1)
            if best is None:
                continue
            rules[key] = best
            for at in group:
                given[at] = _rule(cases[at].keys, rules)
    return rules


def _wrong(
    cases: Sequence[Case], heard: Iterable[int], given: Sequence[str | None], level: int
) -> dict[str, list[int]]:
    """Return, by their names at a level, the cases of the names under which one is wrong as things stand."""
    doubtful = {cases[at].keys[level] for at in heard if given[at] not in cases[at].texts}
    groups: defaultdict[str, list[int]] = defaultdict(list)
    if doubtful:
        for at in heard:
            key = cases[at].keys[level]
            if key in doubtful:
                groups[key].append(at)
    return groups


def _best(key: str, group: Sequence[tuple[Case, str | None]], least: int, *, last: bool) -> str | None:
    """Return the text that is right for most of the cases, if that is worth a rule, and better than what is given."""
    votes: defaultdict[str | None, int] = defaultdict(int)
    right = 0
    for case, given in group:
        right += case.times if given in case.texts else 0
        for text in case.texts:
            votes[text] += case.times
    if not last:
        votes.pop(None, None)  # only where there is no rule at all can none be best
    most = max(votes.values(), default=0)
    if most <= right:
        return None
    best = max([text for text, count in votes.items() if count == most], key=_simplicity)
    return best if best is not None and most - right >= _least(key, best, least) else None


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


def _simplicity(text: str | None) -> tuple[bool, bool, int, str]:
    return text is None, repeats(text), -len(text or ""), text or ""


def _rule(keys: Iterable[str], rules: Mapping[str, str]) -> str | None:
    for key in keys:
        if key in rules:
            return rules[key]
    return None
