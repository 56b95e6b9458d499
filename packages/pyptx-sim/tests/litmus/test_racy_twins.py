"""The checker finds a race under every schedule if the axioms say that a program has one, otherwise under none.

PYPTX_FUZZ is the number of pairs of programs; `nox -s fuzz` sets it. Without it, each program runs under a third of the
schedules in each memory.
"""

from __future__ import annotations

import os
from itertools import count, islice
from typing import TYPE_CHECKING

import pytest

from pyptx_sim.happens_before.reference.axioms import verdicts

from .kernels import executed
from .racy_twins import twins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_sim.happens_before.reference.programs import Program

    from .kernels import Memory

COUNT = int(os.environ.get("PYPTX_FUZZ", "20"))
STEP = 1 if "PYPTX_FUZZ" in os.environ else 3  # one of this many schedules is tested
CHUNKS = 20  # number of test cases; case i tests the seeds i, i + 20, …, so that worker processes share the programs
SCHEDULES = ((0, False), (0, True), (1, False), (2, False), (3, True), (4, False), (5, False), (6, True))


def pairs(chunk: int) -> Iterator[tuple[int, Program, Program]]:
    """Yield seeds, race-free programs, and the same programs without one synchronization."""
    every = ((seed, pair) for seed in count(chunk, CHUNKS) if (pair := twins(seed)))
    for seed, (right, wrong) in islice(every, -(-COUNT // CHUNKS)):
        yield seed, right, wrong


def memories(program: Program) -> tuple[Memory, ...]:
    one_block = all((place.cluster, place.block) == (0, 0) for place in program.places)
    return ("global", "shared") if one_block else ("global",)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_race_is_found_under_every_schedule_or_under_none_as_the_axioms_say(chunk: int) -> None:
    for seed, right, wrong in pairs(chunk):
        assert {False} == set().union(*verdicts(right).values()), right.text
        allowed = verdicts(wrong)
        runs = [
            (*schedule, memory)
            for turn, memory in enumerate(memories(wrong), chunk)
            for schedule in SCHEDULES[turn % STEP :: STEP]
        ]
        for at, delay_async, memory in runs:
            run = executed(wrong, seed=at, delay_async=delay_async, memory=memory)
            where = f"twin {seed} in {memory} memory, schedule {at, delay_async}: {wrong.text}, of {right.text}"
            assert run.outcome in allowed, where
            assert run.racy in allowed[run.outcome], where
        again = executed(right, seed=seed % 7, delay_async=bool(seed % 2), memory=memories(right)[-1])
        assert not again.racy, right.text


def test_nothing_that_a_twin_races_on_is_a_matter_of_its_schedule() -> None:
    """Nearly every program is racy in all executions or in none, and both kinds are frequent."""
    found = [set().union(*verdicts(wrong).values()) for chunk in range(CHUNKS) for _, _, wrong in pairs(chunk)]
    assert sum(len(each) == 1 for each in found) > 0.98 * len(found)
    assert sum(each == {True} for each in found) > 0.6 * len(found)
    assert sum(each == {False} for each in found) > 0.05 * len(found)
