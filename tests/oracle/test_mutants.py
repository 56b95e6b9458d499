"""A sample of the mutants of corpus modules runs with the tests; `nox -s oracle` runs 2,000 mutants."""

from __future__ import annotations

import pytest

from pyptx_ir.toolchain.finder import find_tool

from .changes import CHANGES
from .known_mutants import MISSED, STRICTER
from .mutants import AGREE, ALONE, LISTED, MISS, complaints, judge_all, mutants, table

pytestmark = pytest.mark.no_cover

COUNT = 8 * len(CHANGES)


@pytest.mark.ptxas
@pytest.mark.long
def test_a_change_is_an_error_exactly_where_ptxas_has_one() -> None:
    verdicts = judge_all([find_tool("ptxas")], seed=1, count=COUNT)
    assert [str(verdict) for verdict in verdicts if verdict.outcome in (MISS, ALONE)] == []
    assert sum(verdict.outcome == AGREE for verdict in verdicts) > 0.9 * COUNT
    assert all(f"{kind:24}" in table(verdicts) for kind in (*CHANGES, "all"))
    assert {verdict.outcome for verdict in verdicts} <= {AGREE, LISTED}


@pytest.mark.ptxas
def test_the_changes_break_some_modules_and_leave_others_legal() -> None:
    ptxas = find_tool("ptxas")
    refused = [bool(complaints(ptxas, mutant)) for mutant in mutants(ptxas.newest_ptx, 1, 2 * len(CHANGES))]
    assert 0.3 < sum(refused) / len(refused) < 0.95


def test_the_same_seed_makes_the_same_mutants_of_every_kind() -> None:
    made = list(mutants((9, 0), 3, 2 * len(CHANGES)))
    assert made == list(mutants((9, 0), 3, 2 * len(CHANGES)))
    assert made != list(mutants((9, 0), 4, 2 * len(CHANGES)))
    assert {mutant.kind for mutant in made} == set(CHANGES)


def test_every_known_difference_has_a_reason() -> None:
    assert all(len(reason) > 20 for reason in (*MISSED.values(), *STRICTER.values()))
