"""Faults planted into working kernels are found, and named rightly, whatever the schedule; the kernels are clean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tools.shares import full, share

from pyptx_ir.syntax import emit
from pyptx_ir.toolchain import assemble
from pyptx_sim.mutations import mutants, mutations

from .planted import PLANTED, SHIPPED
from .subjects import SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _pytest.mark import ParameterSet

    from pyptx_sim.mutations import Mutant

    from .rows import Planted

pytestmark = [pytest.mark.scaled, pytest.mark.hopper, pytest.mark.blackwell]

RACES = {"shared-race", "global-race", "lane-race"}
SCHEDULES: tuple[dict[str, Any], ...] = ({}, {"late": True}, {"seed": 1}, {"seed": 2})
ROWS = full(PLANTED, default=tuple({row.rule: row for row in PLANTED}.values()))  # by default one fault of each rule


def runs(things: Iterable[object]) -> list[ParameterSet]:
    """Return each thing with every schedule; by default with one, in turn."""
    return [
        pytest.param(thing, schedule, id=f"{thing}-{schedule or 'in order'}")
        for number, thing in enumerate(things)
        for schedule in share(SCHEDULES, len(SCHEDULES), number)
    ]


def planted(row: Planted) -> Mutant:
    """Return the mutant that a row names."""
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
def test_a_planted_fault_is_found_and_named(row: Planted, schedule: dict[str, Any]) -> None:
    subject = SUBJECTS[row.subject]
    found = subject.run(planted(row).module, **schedule).findings
    lines = [subject.marks[mark] for mark in row.lines]
    named = [(finding.rule, finding.line, finding.other_line) for finding in found]
    if row.rule in RACES:  # which access comes first, the schedule says
        named += [(rule, other, line) for rule, line, other in named]
    assert (row.rule, lines[0], lines[1] if len(lines) > 1 else None) in named, [str(finding) for finding in found]


def test_every_rule_is_shown_by_a_planted_fault() -> None:
    assert {row.rule for row in PLANTED} == SHIPPED


def test_there_are_many_planted_faults_and_all_differ() -> None:
    assert len(set(PLANTED)) == len(PLANTED) >= 60
    assert len({emit(planted(row).module) for row in PLANTED}) == len(PLANTED)
