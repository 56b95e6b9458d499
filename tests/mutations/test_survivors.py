"""All mutants of the subjects are tested under every schedule; survivors are listed with a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tools.shares import full

from pyptx_sim.mutations import mutants, mutations, survey

from .subjects import SUBJECTS
from .survivors import SURVIVORS, Survivor

if TYPE_CHECKING:
    from pyptx_ir.syntax.nodes import Module
    from pyptx_sim import Result

    from .subjects import Subject

pytestmark = [pytest.mark.scaled, pytest.mark.hopper, pytest.mark.blackwell]

TRIED = full(list(SUBJECTS), default=["cluster_exchange"])
STEPS = 60_000  # maximum basic blocks in a simulated run of a mutant; endless loops exceed it


def tried(subject: Subject, module: Module) -> Result:
    """Run a mutant under each schedule, up to the first finding; return the outcome."""
    schedules: tuple[dict[str, Any], ...] = ({}, {"delay_async": True}, {"seed": 1}, {"seed": 2})
    for schedule in schedules[:-1]:
        result = subject.run(module, step_limit=STEPS, **schedule)
        if result.findings:
            return result
    return subject.run(module, step_limit=STEPS, **schedules[-1])


@pytest.mark.parametrize("name", TRIED)
def test_a_mutant_is_found_or_gives_wrong_numbers_or_stands_in_the_list(name: str) -> None:
    subject = SUBJECTS[name]
    verdicts = survey(mutants(subject.module), lambda module: tried(subject, module))
    assert not [verdict.reason for verdict in verdicts if verdict.outcome == "refused"]
    survived = [verdict.mutant for verdict in verdicts if verdict.outcome == "survived"]
    assert not [str(mutant) for mutant in survived if not any(row.speaks_of(name, mutant) for row in SURVIVORS)]
    listed = [row for row in SURVIVORS if name in row.subjects]
    assert not [row for row in listed if not any(row.speaks_of(name, mutant) for mutant in survived)]


@pytest.mark.parametrize("row", SURVIVORS, ids=lambda row: f"{row.operator}, {row.code}")
def test_a_row_of_the_list_speaks_of_mutants(row: Survivor) -> None:
    (operator,) = (operator for operator in mutations() if operator.name == row.operator)
    names = row.subjects or tuple(SUBJECTS)
    spoken = [
        name for name in names if any(row.speaks_of(name, m) for m in mutants(SUBJECTS[name].module, (operator,)))
    ]
    assert spoken
    assert not row.subjects or set(spoken) == set(row.subjects)
    assert row.reason
