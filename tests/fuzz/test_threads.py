"""Fuzz multithreaded programs: the simulator's results equal the reference's, and it reports no finding.

`nox -s fuzz` runs 10,000 programs under 8 schedules each (`python -m tests.fuzz.threads`), and prints the seed and the
PTX of each failure. `threads/cases.py` has the programs that have failed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from .threads import programs as ast
from .threads.cases import CASES
from .threads.generator import program, with_undefined_read
from .threads.ordering import UndefinedError
from .threads.reference import outcome
from .threads.running import failure, schedules
from .threads.shrinking import shrunk

pytestmark = pytest.mark.no_cover

PROGRAMS, SCHEDULES, CHUNK = 100, 3, 20
UNDEFINED_READS = 10


@pytest.mark.parametrize("first", range(0, PROGRAMS, CHUNK))
@pytest.mark.long
def test_programs_give_the_results_of_the_reference_and_no_finding(first: int) -> None:
    found = {seed: failure(program(seed), schedules(seed, SCHEDULES)) for seed in range(first, first + CHUNK)}
    assert {seed: str(each) for seed, each in found.items() if each} == {}


@pytest.mark.parametrize("first", range(0, UNDEFINED_READS, 5))
@pytest.mark.long
def test_a_stored_shuffle_from_an_absent_lane_is_reported(first: int) -> None:
    found = {seed: failure(with_undefined_read(seed), schedules(seed, SCHEDULES)) for seed in range(first, first + 5)}
    assert {seed: str(each) for seed, each in found.items() if each} == {}


@pytest.mark.parametrize("name", CASES)
def test_failed_programs_do_not_fail_again(name: str) -> None:
    assert failure(CASES[name], schedules(0, 8)) is None


def test_results_do_not_depend_on_which_thread_runs_first() -> None:
    for seed in range(0, PROGRAMS, 10):
        made = program(seed)
        assert outcome(made, backwards=True) == outcome(made)


def test_programs_print_as_values() -> None:
    for seed in range(20):
        assert eval(repr(program(seed)), vars(ast)) == program(seed)  # noqa: S307 - our own text


def test_programs_use_every_statement_and_diverge() -> None:
    made = [program(seed) for seed in range(PROGRAMS)]
    bodies = [each.body + tuple(one for function in each.functions for one in function.body) for each in made]
    used = {type(statement).__name__ for body in bodies for statement in ast.statements(body)}
    kinds = [each for each in vars(ast).values() if isinstance(each, type) and issubclass(each, ast.Statement)]
    assert used == {each.__name__ for each in kinds if not each.__subclasses__()}
    diverged = [len({row[:2] for row in outcome(each).results[:32]}) for each in made[::10]]
    assert sum(count > 4 for count in diverged) > len(diverged) / 2


X, SYNC = ast.Store("shared", 0, "tid", "v0"), ast.Sync("bar.sync", 0, None)
FIRST = (ast.Let("c", "eq", "lane", 0),)
UNDEFINED: dict[str, tuple[Any, ...]] = {
    "a data race": (X, ast.Load("v1", "shared", 0, 0)),
    "a lane outside its membermask": (ast.Vote("v0", "any", 1, 1),),
    "lanes with different membermasks": (*FIRST, ast.Select("m", "c", 3, ast.FULL), ast.Reduce("v0", "add", 1, "m")),
    "lanes that skip a warp barrier": (*FIRST, ast.If("c", (ast.WarpSync(ast.FULL),)), SYNC),
    "a CTA barrier after a lane's exit": (*FIRST, ast.Exit("c", stores=False), SYNC),
    "an aligned barrier on each side of a branch": (*FIRST, ast.If("c", (SYNC,), (ast.Sync("bar.sync", 0, None),))),
    "barrier arrivals without a wait": (ast.Arrive("bar.arrive", 0, 64), ast.Arrive("bar.arrive", 0, 64)),
    "two thread counts": (ast.Let("c", "eq", "warp", 0), ast.If("c", (SYNC,), (ast.Sync("bar.sync", 0, 64),))),
    "an undefined condition": (ast.Load("v0", "shared", 0, "tid"), ast.If("v0", ())),
    "an arrival that may precede mbarrier.init": (
        *(*FIRST, ast.If("c", (ast.Initialize(0, 64),)), ast.Signal(0), ast.Await(0, 0, "try_wait")),
    ),
    "an endless loop": (ast.Loop("i", 2, (ast.Let("i", "mov", 0),)),),
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_the_reference_refuses_undefined_behavior(name: str) -> None:
    with pytest.raises(UndefinedError):
        outcome(ast.Program(1, 64, 0, 64, 16, UNDEFINED[name]))


def test_reads_of_absent_lanes_are_undefined_in_the_reference() -> None:
    shuffle = ast.Shuffle("v0", None, "down", "lane", 4, 31, ast.FULL)
    left = outcome(ast.Program(1, 36, 0, 0, 16, (shuffle,)))
    assert [row[0] for row in left.results] == [*range(4, 32), *range(28, 32), None, None, None, None]


def test_programs_shrink_to_the_statements_that_fail() -> None:
    reduces = next(each for each in map(program, range(100)) if _reductions(each))
    small = shrunk(replace(reduces, functions=()), _reductions)
    assert [type(each) for each in ast.statements(small.body)] == [ast.SyncReduce]
    assert (small.ctas, small.threads) == (1, 1)


def _reductions(each: ast.Program) -> bool:
    return any(isinstance(one, ast.SyncReduce) for one in ast.statements(each.body))
