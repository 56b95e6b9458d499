"""The simulator names faults injected into correct kernels under every schedule; correct kernels have no findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tools.shares import full, share

from pyptx_ir.syntax import emit
from pyptx_ir.toolchain import assemble
from pyptx_sim.mutations import mutants, mutations

from .injected import INJECTED, SHIPPED
from .subjects import SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _pytest.mark import ParameterSet

    from pyptx_sim import Finding
    from pyptx_sim.mutations import Mutant

    from .rows import Injected

pytestmark = [pytest.mark.scaled, pytest.mark.hopper, pytest.mark.blackwell]

RACES = {"shared-race", "global-race", "lane-race"}
NAMED = 8  # schedule seeds below this one are tried until the simulator reports the expected finding
SCHEDULES: tuple[dict[str, Any], ...] = ({}, {"delay_async": True}, {"seed": 1}, {"seed": 2})
ROWS = full(INJECTED, default=tuple({row.rule: row for row in INJECTED}.values()))  # one fault per rule, by default


def runs(things: Iterable[object]) -> list[ParameterSet]:
    """Return each subject or fault with every schedule; by default with one schedule each, in rotation."""
    return [
        pytest.param(thing, schedule, id=f"{thing}-{schedule or 'in order'}")
        for number, thing in enumerate(things)
        for schedule in share(SCHEDULES, len(SCHEDULES), number)
    ]


def injected(row: Injected) -> Mutant:
    """Return the mutant that a row of the table of injected faults describes."""
    subject = SUBJECTS[row.subject]
    (operator,) = (operator for operator in mutations() if operator.name == row.operator)
    found = [mutant for mutant in mutants(subject.module, (operator,)) if mutant.line == subject.marks[row.at]]
    return found[row.number]


@pytest.mark.parametrize(("name", "schedule"), runs(SUBJECTS))
def test_a_subject_is_right_and_clean(name: str, schedule: dict[str, Any]) -> None:
    assert [str(finding) for finding in SUBJECTS[name].run(**schedule).findings] == []


@pytest.mark.ptxas
@pytest.mark.parametrize("name", share(SUBJECTS, 4))
def test_a_subject_assembles(name: str) -> None:
    subject = SUBJECTS[name]
    (target,) = (line.split()[1] for line in subject.text.splitlines() if line.startswith(".target"))
    assert assemble(subject.text, target).cubin[:4] == b"\x7fELF"


@pytest.mark.parametrize(("row", "schedule"), runs(ROWS))
def test_a_injected_fault_is_found_and_named(row: Injected, schedule: dict[str, Any]) -> None:
    """Each run reports a finding: the expected one, which random schedules may report only with a later seed."""
    subject, module = SUBJECTS[row.subject], injected(row).module
    found = subject.run(module, **schedule).findings
    assert found
    for seed in range(schedule.get("seed", NAMED), NAMED):
        if named(row, found):
            break
        found = subject.run(module, seed=seed + 1).findings
    assert named(row, found), [str(finding) for finding in found]


def named(row: Injected, findings: tuple[Finding, ...]) -> bool:
    """Return whether one of the findings has the rule and lines that the row of the fault table expects."""
    marks = SUBJECTS[row.subject].marks
    rule, line, other = row.rule, *(*(marks[mark] for mark in row.lines), None)[:2]
    places = [(finding.line, finding.other_line) for finding in findings if finding.rule == rule]
    # The order of the two accesses of a race depends on the schedule.
    return (line, other) in places or (rule in RACES and (other, line) in places)


def test_every_rule_is_shown_by_a_injected_fault() -> None:
    assert {row.rule for row in INJECTED} == SHIPPED


def test_there_are_many_injected_faults_and_all_differ() -> None:
    assert len(set(INJECTED)) == len(INJECTED) >= 60
    assert len({emit(injected(row).module) for row in INJECTED}) == len(INJECTED)
