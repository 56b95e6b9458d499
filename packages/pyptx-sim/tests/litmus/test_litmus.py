"""L7: the simulator shows no outcome that the axioms forbid, and finds a race in a run as they say that it has one."""

from __future__ import annotations

import itertools

import pytest
from tools.shares import at_most

from .axioms import verdicts
from .kernels import executed
from .programs import program
from .shapes import BARRIERS, long_shapes, messages, mixed_scopes, random_shapes, short_shapes

pytestmark = pytest.mark.scaled

SEEDS = 3


def _few(texts: list[str]) -> list[str]:
    """Return programs whose executions are few enough to be enumerated."""
    return [text for text in texts if text.count("fence.sc") < 4 and text.count("atom") + text.count("red") < 4]


FAMILIES = {
    "messages": at_most(list(messages()), 40),
    "mixed scopes": at_most(list(mixed_scopes()), 12),
    "long shapes": at_most(list(long_shapes()), 40),
    "short shapes": at_most(list(short_shapes()), 30),
    "barriers": list(BARRIERS),
    "random": at_most(_few([*random_shapes(600, seed=1), *random_shapes(600, seed=7)]), 40),
}


@pytest.mark.parametrize("text", dict.fromkeys(itertools.chain(*FAMILIES.values())))
def test_runs_show_what_the_axioms_allow_and_races_are_found_where_they_have_one(text: str) -> None:
    allowed = verdicts(program(text))
    for seed in range(SEEDS):
        run = executed(program(text), seed=seed)
        assert run.outcome in allowed
        assert run.racy in allowed[run.outcome], run.findings
