"""`pyptx check` and ptxas reject the same headers, declarations, initializers, directives, but for known differences.

The files contain the verdicts of two ptxas releases. The installed ptxas is run on one case in 40, with
`PYPTX_ORACLE=all` on all cases.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.toolchain.finder import find_tool

from .declarations import FOLDER, MODULES, RELEASES, ask, complaint, read
from .known_declarations import LAXER, STRICTER

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_cover

PATHS = sorted(FOLDER.glob("*.tsv"))
SHARE = 1 if os.environ.get("PYPTX_ORACLE") == "all" else 40
cases_of = cache(read)


@cache
def differences(path: Path) -> tuple[str, ...]:
    """Return the lines of a file on which `pyptx check` and newest ptxas differ, with the message of the check."""
    found: list[str] = []
    for case in cases_of(path):
        mine = complaint(case.text)
        if (mine is None) != case.taken[0]:
            found.append(f"{case.kind} | {case.snippet} | {mine or ''}")
    return tuple(found)


def reasons(line: str) -> dict[str, str]:
    """Return the reviewed list that may explain a difference: `STRICTER` or `LAXER`."""
    return LAXER if line.endswith("| ") else STRICTER


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_check_refuses_what_ptxas_refuses(path: Path) -> None:
    open_ones = [line for line in differences(path) if not any(re.search(each, line) for each in reasons(line))]
    assert open_ones == []


def test_every_listed_difference_is_met_and_has_a_reason() -> None:
    lines = [line for path in PATHS for line in differences(path)]
    for listed in (LAXER, STRICTER):
        own = [line for line in lines if reasons(line) is listed]
        assert [pattern for pattern in listed if not any(re.search(pattern, line) for line in own)] == []
        assert all(len(reason) > 15 for reason in listed.values())


def test_the_cases_are_many_and_of_every_kind() -> None:
    every = [case for path in PATHS for case in cases_of(path)]
    assert {path.stem for path in PATHS} == set(MODULES)
    assert all(len(case.taken) == len(RELEASES) for case in every)
    assert sum(case.taken[0] for case in every) > 1500
    assert sum(not case.taken[0] for case in every) > 1500


@pytest.mark.ptxas
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_what_stands_in_the_files_is_what_ptxas_says(path: Path) -> None:
    ptxas = find_tool("ptxas")
    # A third ptxas release is run on the cases on which the two releases agree.
    release = RELEASES.index(ptxas.release) if ptxas.release in RELEASES else None
    share = [case for case in cases_of(path)[::SHARE] if release is not None or len(set(case.taken)) == 1]
    wrong = [
        case.snippet
        for case, now in zip(share, ask([ptxas], share), strict=True)
        if now.taken[0] != case.taken[release or 0]
    ]
    assert wrong == []
