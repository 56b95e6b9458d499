"""Mutants of the example kernels cause findings, give wrong results, do not terminate, or are listed with a reason.

By default the mutants of one small kernel are tested; `nox -s mutants` tests all kernels (about an hour on two cores).
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from tools.shares import full

from pyptx_sim.mutations import mutations, survey

from .kernel_survivors import KERNEL_SURVIVORS, Survivor
from .kernels import KERNELS, tried, unlike

if TYPE_CHECKING:
    from pyptx_ir.syntax.nodes import Module
    from pyptx_sim import SimulationResult
    from pyptx_sim.mutations import Mutant

    from .kernels import Case

pytestmark = [pytest.mark.scaled, pytest.mark.hopper, pytest.mark.blackwell, pytest.mark.no_cover]

TRIED = full(list(KERNELS), default=["ampere/transpose"])
STEPS = 60_000  # maximum basic blocks in a simulated run of a mutant; endless loops exceed it
ENDLESS = "step limit of"
SCHEDULES: tuple[dict[str, Any], ...] = ({}, {"delay_async": True}, {"seed": 1}, {"seed": 2})


def trial(subject: Case, module: Module) -> SimulationResult:
    """Run a mutant under each schedule, up to the first finding; return the outcome."""
    for schedule in SCHEDULES[:-1]:
        result = subject.run(module, step_limit=STEPS, **schedule)
        if result.findings:
            return result
    return subject.run(module, step_limit=STEPS, **SCHEDULES[-1])


@pytest.mark.parametrize("name", TRIED)
@pytest.mark.long
def test_a_mutant_is_found_or_stands_in_the_list(name: str) -> None:
    subject = KERNELS[name]
    assert subject.run().clean
    verdicts = survey(tried(subject), lambda module: trial(subject, module))
    refused = [verdict.reason for verdict in verdicts if verdict.outcome == "refused"]
    assert [reason for reason in refused if ENDLESS not in reason] == []
    survived = [verdict.mutant for verdict in verdicts if verdict.outcome == "survived"]
    assert [
        str(mutant) for mutant in survived if not any(row.speaks_of(name, mutant) for row in KERNEL_SURVIVORS)
    ] == []


@cache
def mutants_of(name: str) -> list[Mutant]:
    """Return the mutants of a kernel, one of each group of similar mutants."""
    return list(unlike(KERNELS[name]))


def kernels_of(pattern: str) -> list[str]:
    """Return the names of the kernels that match a pattern."""
    return [name for name in KERNELS if fnmatchcase(name, pattern)]


@pytest.mark.parametrize("row", KERNEL_SURVIVORS, ids=lambda row: f"{row.operator}, {row.code}")
def test_a_row_of_the_list_speaks_of_kernels_and_of_an_operator(row: Survivor) -> None:
    assert row.operator in {operator.name for operator in mutations()}
    assert row.reason
    assert [pattern for pattern in row.kernels if not kernels_of(pattern)] == []


@pytest.mark.parametrize(
    "row",
    [row for row in KERNEL_SURVIVORS if any(name in TRIED for pattern in row.kernels for name in kernels_of(pattern))],
    ids=lambda row: f"{row.operator}, {row.code}",
)
def test_there_are_mutants_that_a_row_speaks_of(row: Survivor) -> None:
    assert [
        pattern
        for pattern in row.kernels
        if not any(row.speaks_of(name, mutant) for name in kernels_of(pattern) for mutant in mutants_of(name))
    ] == []
