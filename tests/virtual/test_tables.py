"""Consistency of the tables of programs and injected faults; `nox -s virtual` runs both."""

from __future__ import annotations

import ast

import pytest

from .faults.table import FAULTS, Fault
from .table import LEAST_PROGRAMS, PROGRAMS, PROGRAMS_FOLDER, RELEASES, Program


def test_every_program_has_one_row_and_every_row_a_program() -> None:
    names = sorted(each.name for each in PROGRAMS)
    assert names == sorted(path.stem for path in PROGRAMS_FOLDER.glob("*.py"))


@pytest.mark.parametrize("release", RELEASES)
def test_enough_programs_run_with_each_release(release: str) -> None:
    assert sum(each.runs_with(release) for each in PROGRAMS) >= LEAST_PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.name)
def test_a_program_checks_three_sizes(program: Program) -> None:
    tree = ast.parse(program.path.read_text(encoding="utf-8"))
    (sizes,) = (
        each.value for each in tree.body if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "SIZES"
    )
    assert len(set(ast.literal_eval(sizes))) == 3
    assert "check" in {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}


def test_names_of_faults_differ_and_there_are_forty() -> None:
    assert len({each.name for each in FAULTS}) == len(FAULTS) >= 40


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.name)
def test_a_fault_edits_one_statement_of_a_program(fault: Fault) -> None:
    correct = (PROGRAMS_FOLDER / f"{fault.program}.py").read_text(encoding="utf-8")
    assert correct.count(fault.old) == 1
    assert fault.text != correct
    ast.parse(fault.text)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.name)
def test_the_expected_lines_are_lines_of_the_program_with_the_fault(fault: Fault) -> None:
    lines = {line.strip() for line in fault.text.splitlines()}
    assert set(fault.lines) <= lines
