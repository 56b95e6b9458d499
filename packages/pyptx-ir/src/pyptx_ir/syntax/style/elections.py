"""Choose the fewest style rules that give the correct text most often, for cases with several lookup keys.

Existing rules already cover most cases; rules are voted on only for the keys of the other cases.
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

# Minimum number of deviations that a rule for a more specific key, or one with a comment, must remove. A comment that
# occurs once is not a rule, unless it repeats surrounding text or is known for a compiler.
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
    """Return the chosen style rules: the text by lookup key.

    Rules for general keys are chosen first. One of the first `closer` keys of a case gets a rule only if the rule
    removes enough deviations.
    """
    rules: dict[str, str] = {}
    given: list[str | None] = [None] * len(cases)
    depth = max((len(case.keys) for case in cases), default=0)
    silent = [at for at, case in enumerate(cases) if case.begins_asm]  # cases that are not evidence for general keys
    for level in reversed(range(depth)):
        for at in silent:
            given[at] = _rule(cases[at].keys, rules)
        least = _WORTH if level < closer else 1
        considered = [
            at
            for at, case in enumerate(cases)
            if (level < closer or not case.begins_asm) and case.keys[level] not in case.keys[level + 1 :]
        ]  # if a case has one key at two levels, the more general level has chosen the key's rule
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
    """Return the indices of cases by lookup key of a level, for keys with a case that the current rules get wrong."""
    doubtful = {cases[at].keys[level] for at in considered if given[at] not in cases[at].texts}
    groups: defaultdict[str, list[int]] = defaultdict(list)
    if doubtful:
        for at in considered:
            key = cases[at].keys[level]
            if key in doubtful:
                groups[key].append(at)
    return groups


def _best(key: str, group: Sequence[tuple[Case, str | None]], least: int, *, last: bool) -> str | None:
    """Return the text that is right for most cases of a key, if it justifies a rule and beats the current rules."""
    votes: defaultdict[str | None, int] = defaultdict(int)
    right = 0
    for case, given in group:
        right += case.times if given in case.texts else 0
        for text in case.texts:
            votes[text] += case.times
    if not last:
        votes.pop(None, None)  # only the most general level may choose the default
    most = max(votes.values(), default=0)
    if most <= right:
        return None
    best = max([text for text, count in votes.items() if count == most], key=_simplicity)
    return best if best is not None and most - right >= _least(key, best, least) else None


def _least(key: str, text: str, usual: int) -> int:
    """Return the number of deviations that a rule must remove to be added to the style."""
    if (key, text) in _known_rules() or repeats(text):
        return 1
    return usual if text.isspace() or not text else _WORTH


@cache
def _known_rules() -> frozenset[tuple[str, str]]:
    """Return the rules of known compilers' styles as pairs (key, text); one occurrence suffices for these rules."""
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
