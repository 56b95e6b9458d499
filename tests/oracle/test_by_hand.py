"""The instruction table is complete: it accepts handwritten forms from the manual exactly where ptxas does.

By default one form in six is checked on every third target, in rotation; with `PYPTX_ORACLE=all`, all on all targets.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.plugins.targets import find_target
from pyptx_ir.toolchain.finder import find_tool

from .by_hand import FOLDER, NEWEST, VERSIONS, HandWritten, read, taken
from .plan import targets_of
from .ptxas import Assembler
from .report import laxer, opinion, stricter

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

pytestmark = pytest.mark.no_cover

EVERYTHING = os.environ.get("PYPTX_ORACLE") == "all"
SHARE, TARGETS_SHARE = (1, 1) if EVERYTHING else (6, 3)  # one of 6 forms, and one of 3 targets, is tested by default
PATHS = sorted(FOLDER.glob("*.tsv"))
ASKED = ("sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120a")
RICHEST = ("sm_90a", "sm_100a", "sm_107a", "sm_120a")


forms_of = cache(read)


def differences(form: HandWritten, turn: int) -> list[str]:
    """Return the unreviewed differences between the instruction table and the recorded results of ptxas for a form.

    By default only every third target is tested; `turn` is the number of the first one, modulo 3.
    """
    targets = [target.name for target in targets_of(NEWEST)] if form.since else RICHEST
    places = [(target, NEWEST) for target in targets[turn % TARGETS_SHARE :: TARGETS_SHARE]]
    if form.since is not None:
        # The form's first PTX version and the version before it, on a target that both versions support.
        before = max((version for version in VERSIONS if version < form.since), default=form.since)
        old = [target for target in targets if find_target(target).since <= before and form.is_for(target, NEWEST)]
        places += [(target, version) for target in old[:1] for version in (before, form.since)]
    found: list[str] = []
    for target, version in places:
        mine, theirs = opinion(form.text, target, version), form.is_for(target, version)
        if (mine is None) != theirs and not listed(f"{form.text} | {mine or ''} | ", stricter() if mine else laxer()):
            found.append(f"{form.text} on {target}, PTX {version}: table's error: {mine}; accepted by ptxas: {theirs}")
    return found


def listed(line: str, patterns: Iterable[str]) -> bool:
    """Return whether a reviewed list explains a difference."""
    return any(re.search(pattern, line) for pattern in patterns)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_table_takes_what_was_written_by_hand_where_ptxas_does(path: Path) -> None:
    forms = forms_of(path)
    assert len(forms) > 10
    assert [each for turn, form in enumerate(forms[::SHARE]) for each in differences(form, turn)] == []


@pytest.mark.ptxas
@pytest.mark.parametrize("target", ASKED)
def test_what_stands_in_the_files_is_what_ptxas_says(target: str) -> None:
    ptxas = find_tool("ptxas")
    # Each target checks only some forms: ptxas is slow, because it runs again after each syntax error.
    shares = [form for path in PATHS for form in forms_of(path)][ASKED.index(target) :: 2 * len(ASKED)]
    forms = [form for form in shares if form.since is None or form.since <= ptxas.newest_ptx]
    accepted = set(taken(Assembler(ptxas, target, ptxas.newest_ptx), [form.text for form in forms]))
    wrong = [form.text for form in forms if (form.text in accepted) != form.is_for(target, ptxas.newest_ptx)]
    assert wrong == []
