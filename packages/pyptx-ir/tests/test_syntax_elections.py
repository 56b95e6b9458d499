"""Formatting styles: counting votes only where earlier rules fail gives the same style rules as counting all votes."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pyptx_ir.syntax.style.elections import Case, elected

LEVELS, CLOSER = 4, 2
TEXTS = ("", "\n", "\n\t", "// said\n", "\n// begin\n")
# Lookup key `b0` of a style rule occurs twice, as statement name and as statement kind, as for braces and labels.
numbers = st.integers(0, 2)
keys = st.tuples(numbers, numbers, numbers).map(
    lambda drawn: (
        "a{}{}{}".format(*drawn),
        f"b{drawn[2]}" if drawn[2] == 0 else "c{1}{2}".format(*drawn),
        f"b{drawn[2]}",
        "*",
    )
)
cases = st.builds(
    Case, keys, st.frozensets(st.sampled_from((*TEXTS, None)), min_size=1, max_size=3), st.integers(1, 5), st.booleans()
)


def rule(case: Case, rules: dict[str, str]) -> str | None:
    return next((rules[key] for key in case.keys if key in rules), None)


def by_all(every: list[Case]) -> dict[str, str]:
    """Return the style rules that result from votes of every `Case` on every key, as the expected result."""
    rules: dict[str, str] = {}
    for level in reversed(range(LEVELS)):
        considered = [
            case
            for case in every
            if (level < CLOSER or not case.begins_asm) and case.keys[level] not in case.keys[level + 1 :]
        ]
        for key in dict.fromkeys(case.keys[level] for case in considered):
            group = [case for case in considered if case.keys[level] == key]
            right = sum(case.times for case in group if rule(case, rules) in case.texts)
            votes: Counter[str | None] = Counter()
            for case in group:
                votes.update(dict.fromkeys(case.texts, case.times))
            if level != LEVELS - 1:
                del votes[None]
            best = max(votes, key=lambda text: (votes[text], text is None, -len(text or ""), text or ""), default=None)
            least = 2 if level < CLOSER or (best and not best.isspace()) else 1
            if best is not None and votes[best] - right >= least:
                rules[key] = best
    return rules


@given(st.lists(cases, max_size=12))
def test_a_vote_on_doubtful_names_elects_what_a_vote_on_all_does(every: list[Case]) -> None:
    assert elected(every, CLOSER) == by_all(every)
