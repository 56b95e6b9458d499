"""An injected fault has a finding at its line under every schedule, and the kernel without it has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import run
from pyptx_sim.errors import Deadlock

from .injected_bugs import INJECTED as ORDINARY
from .injected_bugs import Injected
from .injected_matrices import MATRICES
from .test_async_copy import each_schedule

pytestmark = pytest.mark.hopper

INJECTED = (*ORDINARY, *MATRICES)

each_case = pytest.mark.parametrize("case", INJECTED, ids=[case.title for case in INJECTED])


def findings_of(case: Injected, body: str, **schedule: Any) -> tuple[Any, ...]:
    a = np.arange(64, dtype=np.uint32)
    b = np.zeros(64, dtype=np.uint32)
    launch = {"grid": (case.blocks, 1, 1), "block": (case.threads, 1, 1), "args": [a, b], **schedule}
    try:
        return tuple(run(case.text(body), checks="all", **launch).findings)
    except Deadlock as deadlock:
        return tuple(deadlock.findings)


@each_schedule  # the schedules of a kernel are tested consecutively, so that each kernel is compiled only once
@each_case
def test_a_injected_bug_is_found_at_its_line(case: Injected, schedule: dict[str, Any]) -> None:
    found = [finding for finding in findings_of(case, case.faulty, **schedule) if finding.rule == case.rule]
    assert found, f"no {case.rule}"
    finding = found[0]
    assert finding.help
    assert finding.message
    marked = case.text(case.faulty).splitlines()[case.marked_line() - 1]
    if marked.strip() != "// !":
        assert case.marked_line() in {line for finding in found for line in (finding.line, finding.other_line)}


@each_schedule
@each_case
def test_the_mended_kernel_gives_no_finding(case: Injected, schedule: dict[str, Any]) -> None:
    assert findings_of(case, case.mended, **schedule) == ()


def test_there_are_at_least_thirty_injected_bugs() -> None:
    assert len({case.title for case in INJECTED}) == len(INJECTED) >= 30
