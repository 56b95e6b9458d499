"""The checks find an injected asynchronous fault under every schedule; the kernel without it has no finding.

`PYPTX_KERNELS=all` runs every kernel under every schedule. Without it, kernels run alternately under two of the four
schedules: in order and with seed 2, or with seed 1 and with delayed completion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tools.shares import share

from pyptx_ir.plugins.rows import TensorMap
from pyptx_sim import WithDescriptor, run

from .injected_async_bugs import INJECTED as ASYNC
from .injected_async_bugs import Injected
from .injected_order_bugs import ORDERS
from .test_async_copy import SCHEDULES

if TYPE_CHECKING:
    from pyptx_sim.findings import Finding

pytestmark = [pytest.mark.scaled, pytest.mark.hopper]

INJECTED = (*ASYNC, *ORDERS)
SCHEDULED = [  # the schedules of a kernel are tested consecutively, so that it is compiled once
    pytest.param(case, schedule, id=f"{case.title}-{schedule}")
    for number, case in enumerate(INJECTED)
    for schedule in share(SCHEDULES, 2, number)
]
each_case = pytest.mark.parametrize(("case", "schedule"), SCHEDULED)
# Rule of a case -> rule of some random schedules. A warp may access the mbarrier before the other warp initializes it,
# or after its invalidation. A warp may read before the copy is issued, so that the copy overwrites the buffer early,
# or read after a copy that should have waited for the read.
INSTEAD = {
    **dict.fromkeys(("mbarrier-init-race", "mbarrier-inval"), "mbarrier-uninitialized"),
    "read-before-wait": "early-reuse",
    "early-reuse": "read-before-wait",
}


def findings_of(case: Injected, body: str, **schedule: Any) -> tuple[Finding, ...]:
    a, b = np.arange(1, 257, dtype=np.uint32), np.zeros(256, np.uint32)
    described = TensorMap("u32", (16, 16), (64, 4), (8, 8), (1, 1))
    arguments = [a, b, WithDescriptor(a, described)]
    return run(case.text(body), grid=case.blocks, cluster=case.blocks, block=64, args=arguments, **schedule).findings


@each_case
def test_a_injected_bug_is_found_at_its_line(case: Injected, schedule: dict[str, Any]) -> None:
    found = findings_of(case, case.faulty, **schedule)
    right = [finding for finding in found if finding.rule in {case.rule, INSTEAD.get(case.rule)}]
    assert right, [str(finding) for finding in found]
    assert all(finding.message and finding.help for finding in right)
    marked = case.text(case.faulty).splitlines()[case.marked_line() - 1].strip()
    if marked != "// !" and any(finding.rule == case.rule for finding in right):
        assert case.marked_line() in {line for finding in right for line in (finding.line, finding.other_line)}


@each_case
def test_the_mended_kernel_gives_no_finding(case: Injected, schedule: dict[str, Any]) -> None:
    assert [str(finding) for finding in findings_of(case, case.mended, **schedule)] == []


def test_there_are_at_least_twenty_five_injected_bugs() -> None:
    assert len({case.title for case in INJECTED}) == len(INJECTED) >= 25
