"""Choose the fewest style rules that give the correct whitespace and comments most often.

A case is leading trivia in its context, or a gap between two tokens; it is looked up by several keys. Rules chosen
earlier give the correct text in most cases. Votes on new rules are counted only for the keys of the other cases.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING

from pyptx_ir.syntax.style.known import KNOWN
from pyptx_ir.syntax.style.placeholders import repeats
from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

# Minimum number of texts, wrong in the style so far, that a rule for a specific key, or a rule with a comment, must
# correct. A comment that occurs once does not become a rule, unless it repeats surrounding text or a known compiler
# writes it.
_WORTH = 2


@value
class Case(Value):
    """A context of leading trivia, or of a gap between tokens, that occurs `times` times.

    `keys` are its lookup keys, most specific first. `texts` are the correct texts, with None if the default text
    is correct. The start of inline assembly without a template is not evidence for the general keys.
    """

    keys: tuple[str, ...]
    texts: Collection[str | None]
    times: int
    begins_asm: bool = False


def elected(cases: Sequence[Case], closer: int) -> dict[str, str]:
    """Return the chosen style rules: the text (whitespace and comments) by lookup key.

    Rules for general keys are chosen first. One of the first `closer` keys of a `Case` gets a rule only if the rule
    removes enough deviations.
    """
    rules: dict[str, str] = {}
    given: list[str | None] = [None] * len(cases)
    depth = max((len(case.keys) for case in cases), default=0)
    # Trivia in which inline assembly begins does not vote for style rules with general keys.
    silent = [at for at, case in enumerate(cases) if case.begins_asm]
    for level in reversed(range(depth)):
        for at in silent:
            given[at] = _rule(cases[at].keys, rules)
        least = _WORTH if level < closer else 1
        considered = [
            at
            for at, case in enumerate(cases)
            if (level < closer or not case.begins_asm) and case.keys[level] not in case.keys[level + 1 :]
        ]  # of equal keys at two levels, only the more general one votes
        for key, group in _wrong(cases, considered, given, level).items():
            best = _best(key, [(cases[at], given[at]) for at in group], least, last=level == depth - 1)
            if best is None:
                continue
            rules[key] = best
            for at in group:
                given[at] = _rule(cases[at].keys, rules)
    return rules


def _wrong(
    cases: Sequence[Case], considered: Iterable[int], given: Sequence[str | None], level: int
) -> dict[str, list[int]]:
    """Group the indices `considered` by the cases' key at `level`; omit keys whose cases all have the correct text."""
    doubtful = {cases[at].keys[level] for at in considered if given[at] not in cases[at].texts}
    groups: defaultdict[str, list[int]] = defaultdict(list)
    if doubtful:
        for at in considered:
            key = cases[at].keys[level]
            if key in doubtful:
                groups[key].append(at)
    return groups


def _best(key: str, group: Sequence[tuple[Case, str | None]], least: int, *, last: bool) -> str | None:
    """Return the text that is correct in most cases with `key`; None if its rule would remove too few deviations."""
    votes: defaultdict[str | None, int] = defaultdict(int)
    right = 0
    for case, given in group:
        right += case.times if given in case.texts else 0
        for text in case.texts:
            votes[text] += case.times
    if not last:
        votes.pop(None, None)  # only at the most general level may a rule choose None, the default text
    most = max(votes.values(), default=0)
    if most <= right:
        return None
    best = max([text for text, count in votes.items() if count == most], key=_simplicity)
    return best if best is not None and most - right >= _least(key, best, least) else None


def _least(key: str, text: str, usual: int) -> int:
    """Return the minimum number of deviations that the rule (`key`, `text`) must remove to be added to the style."""
    if (key, text) in _known_rules() or repeats(text):
        return 1
    return usual if text.isspace() or not text else _WORTH


@cache
def _known_rules() -> frozenset[tuple[str, str]]:
    """Return the rules of known compilers' styles as pairs (lookup key, text); such a rule needs only one use."""
    trivia = (pair for style in KNOWN.values() for pair in style.trivia.items())
    gaps = ((name, pair) for style in KNOWN.values() for name, own in style.gaps.items() for pair in own.items())
    return frozenset([*trivia, *((f"{name}\n{pair}", gap) for name, (pair, gap) in gaps)])


def _simplicity(text: str | None) -> tuple[bool, bool, int, str]:
    return text is None, repeats(text), -len(text or ""), text or ""


def _rule(keys: Iterable[str], rules: Mapping[str, str]) -> str | None:
    for key in keys:
        if key in rules:
            return rules[key]
    return None
