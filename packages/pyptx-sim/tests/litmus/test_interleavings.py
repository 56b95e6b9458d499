"""Seeded schedules can switch warps at every instruction that other threads observe: they show rare outcomes, too."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tools.shares import at_most

from pyptx_sim import run
from pyptx_sim.happens_before.reference.programs import program

from .interleavings import interleaved
from .kernels import executed, text_of
from .shapes import BARRIERS, long_shapes, messages, mixed_scopes, random_shapes, short_shapes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_sim.happens_before.reference.axioms import Outcome

pytestmark = pytest.mark.scaled

SEEDS = range(1, 201)
RARE = range(201, 1001)  # additional seeds for a program with a rare outcome, which about one seed in 100 shows
# Number of distinct outcomes that a program must show over all seeds; further outcomes may be missing.
# 200 seeds are too few for 100 outcomes; an outcome that needs six warp switches at certain places takes hundreds.
ALL = 12
MOST_THREADS, MOST_OPERATIONS = 3, 8


def _short(texts: itertools.chain[str]) -> list[str]:
    programs = [program(text) for text in dict.fromkeys(texts)]
    return [
        each.text for each in programs if len(each.places) <= MOST_THREADS and len(each.operations) <= MOST_OPERATIONS
    ]


SHAPES = _short(itertools.chain(messages(), mixed_scopes(), long_shapes(), short_shapes()))
RANDOM = _short(itertools.chain(random_shapes(600, seed=1)))


@pytest.mark.parametrize("text", [*at_most(SHAPES, 24), *BARRIERS])
def test_every_interleaving_shows_within_200_seeds(text: str) -> None:
    expected, enough = _expected(text)
    missing = _missing(text, SEEDS, expected, enough)
    assert len(missing) <= enough, missing


@pytest.mark.parametrize("text", at_most(RANDOM, 12))
def test_of_random_programs_all_interleavings_but_a_rare_one_do(text: str) -> None:
    expected, enough = _expected(text)
    missing = _missing(text, SEEDS, expected, enough)
    assert len(missing) <= enough + 1, missing
    missing = _missing(text, RARE, missing, enough)
    assert len(missing) <= enough, missing


def _expected(text: str) -> tuple[frozenset[Outcome], int]:
    """Return the outcomes of all interleavings, and how many of them the seeds may miss."""
    expected = interleaved(program(text))
    return expected, max(len(expected) - ALL, 0)


def _missing(text: str, seeds: Iterable[int], expected: Iterable[Outcome], enough: int) -> set[Outcome]:
    """Return the expected outcomes that no seed shows; stop once no more than `enough` are missing."""
    missing = set(expected)
    for seed in seeds:
        if len(missing) <= enough:
            break
        missing.discard(executed(program(text), seed=seed).outcome)
    return missing


def test_interleavings_are_those_that_one_writes_down() -> None:
    buffering = interleaved(program("st x; ld y || st y; ld x"))
    assert {outcome.read for outcome in buffering} == {(0, 1), (2, 0), (2, 1)}
    assert len(interleaved(program("atom.relaxed.gpu x || atom.relaxed.gpu x"))) == 2
    assert len(interleaved(program("st x | bar; ld x"))) == 1  # `bar` does not wait for an exited thread


def test_a_seeded_run_executes_the_same_instructions_in_smaller_parts() -> None:
    text = text_of(program("st x; st x; ld x; ld x || ld x; ld x"))
    arrays = [np.zeros(64, np.uint32), np.zeros(8, np.uint32)]
    plain, seeded = (run(text, grid=2, block=1, cluster=2, args=arrays, seed=seed).statistics for seed in (0, 3))
    assert plain.instructions == seeded.instructions
    assert plain.steps < seeded.steps
