"""The simulator shows no outcome that the axioms forbid, and reports a race exactly if the execution has one."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from tools.shares import at_most, full

from pyptx_sim.happens_before.reference.axioms import verdicts
from pyptx_sim.happens_before.reference.programs import program

from .kernels import executed
from .shapes import BARRIERS, OBSERVED, lanes, long_shapes, messages, mixed_scopes, random_shapes, short_shapes

if TYPE_CHECKING:
    from .kernels import Memory

pytestmark = pytest.mark.scaled(2)

SEEDS = full(3, default=2)


def _few(texts: list[str]) -> list[str]:
    """Return the programs whose candidate executions are few enough to enumerate."""
    return [text for text in texts if text.count("fence.sc") < 4 and text.count("atom") + text.count("red") < 4]


FAMILIES = {
    "messages": at_most(list(messages()), 24),
    "mixed scopes": at_most(list(mixed_scopes()), 12),
    "long shapes": at_most(list(long_shapes()), 24),
    "short shapes": at_most(list(short_shapes()), 20),
    "observed": list(OBSERVED),
    "barriers": list(BARRIERS),
    "lanes": at_most(list(dict.fromkeys(lanes())), 30),
    "random lanes": at_most(_few(list(random_shapes(600, 3, (",", ",", "|")))), 20),
    "random": at_most(_few([*random_shapes(600, seed=1), *random_shapes(600, seed=7)]), 24),
}


# Litmus programs of one CTA, which are tested in global memory and in shared memory.
IN_SHARED_MEMORY = [
    *(text for text in BARRIERS if "||" not in text and all("bar" in thread for thread in text.split("|"))),
    *(text for text in OBSERVED if "||" not in text),
    *at_most([text for text in dict.fromkeys([*messages(), *lanes()]) if "||" not in text], 30),
    *FAMILIES["random lanes"][::2],
]


@pytest.mark.parametrize("text", dict.fromkeys(itertools.chain(*FAMILIES.values())))
def test_runs_show_what_the_axioms_allow_and_races_are_found_where_they_have_one(text: str) -> None:
    allowed = verdicts(program(text))
    for seed in range(SEEDS):
        run = executed(program(text), seed=seed)
        assert run.outcome in allowed
        assert run.racy in allowed[run.outcome], run.findings


@pytest.mark.parametrize("text", IN_SHARED_MEMORY)
def test_so_it_is_in_shared_memory(text: str) -> None:
    allowed = verdicts(program(text))
    for seed in range(SEEDS):
        run = executed(program(text), seed=seed, memory="shared")
        assert run.outcome in allowed
        assert run.racy in allowed[run.outcome], run.findings


@pytest.mark.parametrize("memory", ["global", "shared"])
def test_lanes_that_tell_by_themselves_race_in_some_runs_and_not_in_others(memory: Memory) -> None:
    texts = [text for text in FAMILIES["lanes"] if "||" not in text]
    runs = (executed(program(text), seed=seed, memory=memory).racy for text in texts for seed in range(2))
    first = next(runs)
    assert any(racy != first for racy in runs)
