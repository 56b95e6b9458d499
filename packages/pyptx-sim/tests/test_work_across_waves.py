"""Asynchronous accesses to global memory are ordered before later threads only by release and acquire.

CTA 0 issues copies. The last of 300 CTAs, which run in two waves, accesses bytes that the copies have read or written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .ptx_text import execute
from .test_async_copy import each_schedule

pytestmark = pytest.mark.hopper

BLOCKS = 300
BEFORE = ".shared .align 128 .b8 box[128];\n.shared .align 8 .b64 bar;"
KERNEL = """
mov.u32 %r9, %ctaid.x;
setp.eq.u32 %p0, %r0, 0;
mov.u32 %r3, box;
mad.lo.u32 %r4, %r0, 4, %r3;
add.u64 %rd5, %rd0, 4096;
setp.eq.u32 %p2, %r9, 0;
@%p2 bra FIRST;
setp.eq.u32 %p2, %r9, 299;
@%p2 bra LAST;
setp.eq.u32 %p2, %r9, 290;
@%p2 bra BETWEEN;
ret;
FIRST:
{copies}
@%p0 st.release.gpu.global.u32 [%rd5], {tells};
ret;
BETWEEN:
{between}
ret;
LAST:
{hears}
{uses}
"""
STORE = """
st.shared.u32 [%r4], %r0;
fence.proxy.async.shared::cta;
bar.warp.sync -1;
@%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [box], 128;
@%p0 cp.async.bulk.commit_group;
"""
ADD = STORE.replace(
    "cp.async.bulk.global.shared::cta.bulk_group", "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32"
)
LOAD = """
@%p0 mbarrier.init.shared.b64 [bar], 1;
@%p0 fence.mbarrier_init.release.cluster;
@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [box], [%rd0], 128, [bar];
"""
ARRIVED = "@!%p0 bra A;\nW: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0;\n@!%p4 bra W;\nA:"
DONE, READ = "@%p0 cp.async.bulk.wait_group 0;", "@%p0 cp.async.bulk.wait_group.read 0;"
HEARS = "H: ld.acquire.gpu.global.u32 %r5, [%rd5{at}];\nsetp.eq.u32 %p3, %r5, 0;\n@%p3 bra H;"
PASSES_ON = HEARS.format(at="").replace("H", "P") + "\n@%p0 st.release.gpu.global.u32 [%rd5+4], 1;"
USES = {"load": "ld.global.u32 %r6, [%rd1];", "store": "st.global.u32 [%rd1], %r0;"}
# Lanes 0 and 1 each bulk-store half of the words and wait. One lane releases the flag; then half of the words are read.
HALVES = """
st.shared.u32 [%r4], %r0;
fence.proxy.async.shared::cta;
bar.warp.sync -1;
setp.lt.u32 %p5, %r0, 2;
mul.lo.u32 %r6, %r0, 64;
add.u32 %r7, %r3, %r6;
cvt.u64.u32 %rd6, %r6;
add.u64 %rd6, %rd0, %rd6;
@%p5 cp.async.bulk.global.shared::cta.bulk_group [%rd6], [%r7], 64;
@%p5 cp.async.bulk.commit_group;
@%p5 cp.async.bulk.wait_group 0;
"""
HALF = "shr.u32 %r7, %r0, 4;\nsetp.eq.u32 %p5, %r7, {half};\n@%p5 ld.global.u32 %r6, [%rd1];"
WORK = {
    "store": (STORE, DONE, READ, "load"),
    "store over": (STORE, DONE, READ, "store"),
    "reduction": (ADD, DONE, READ, "load"),
    "load": (LOAD, ARRIVED, "", "store"),
}


def found(copies: str, use: str, *, hears: str = "", between: str = "", tells: int = 1, **options: Any) -> set[str]:
    body = KERNEL.format(copies=copies, tells=tells, between=between, hears=hears, uses=USES.get(use, use))
    result = execute(body, np.zeros(2048, np.uint32), grid=BLOCKS, before=BEFORE, **options)
    assert result.statistics.waves == 2
    return {finding.rule for finding in result.findings if finding.severity != "note"}


@each_schedule
@pytest.mark.parametrize("work", WORK.values(), ids=list(WORK))
def test_work_of_an_earlier_wave_that_one_is_told_of_is_over(
    work: tuple[str, str, str, str], schedule: dict[str, Any]
) -> None:
    copies, done, _, use = work
    assert found(copies + done, use, hears=HEARS.format(at=""), **schedule) == set()
    passed = {"between": PASSES_ON, "hears": HEARS.format(at="+4")}
    assert found(copies + done, use, **passed, **schedule) == set()


@each_schedule
@pytest.mark.parametrize("work", WORK.values(), ids=list(WORK))
def test_work_of_an_earlier_wave_that_nobody_tells_of_is_met(
    work: tuple[str, str, str, str], schedule: dict[str, Any]
) -> None:
    copies, done, early, use = work
    met = {"early-reuse"} if work[0] is LOAD else {"read-before-wait"}
    assert met <= found(copies + done, use, **schedule)
    if early:  # case: the flag is released before the copy completes
        assert met <= found(copies + early, use, hears=HEARS.format(at=""), **schedule)


@each_schedule
@pytest.mark.parametrize("lane", [0, 1])
@pytest.mark.parametrize("meets", [False, True], ids=["alone", "after a warp barrier"])
def test_a_lane_of_an_earlier_wave_tells_of_its_own_work(schedule: dict[str, Any], lane: int, *, meets: bool) -> None:
    copies = HALVES + "bar.warp.sync -1;" * meets + f"setp.eq.u32 %p0, %r0, {lane};"
    options = {"hears": HEARS.format(at=""), **schedule}
    assert found(copies, HALF.format(half=lane), **options) == set()
    assert found(copies, HALF.format(half=1 - lane), **options) == (set() if meets else {"read-before-wait"})


def test_work_of_the_same_agent_in_a_later_wave_tells_nothing_of_the_earlier() -> None:
    """CTA 256 runs in place of CTA 0, which has exited. Its wait for its own copy does not order CTA 0's copy."""
    again = "setp.eq.u32 %p2, %r9, 256;\n@%p2 bra AGAIN;\nsetp.eq.u32 %p2, %r9, 290;"
    body = KERNEL.replace("setp.eq.u32 %p2, %r9, 290;", again) + (
        "ret;\nAGAIN:\nadd.u64 %rd0, %rd0, 2048;\n" + STORE + DONE + "\nld.global.u32 %r6, [%rd1];"
    )
    text = body.format(copies=STORE + DONE, tells=1, between="", hears="", uses="")
    findings = execute(text, np.zeros(2048, np.uint32), grid=BLOCKS, before=BEFORE).findings
    assert {finding.rule for finding in findings} == {"read-before-wait"}
