"""CTA pairs: `.cta_group::2` requires that the peer CTA has started, `dealloc` that the peer's accesses are complete.

Manual: "Issue Granularity", "tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tools.shares import full

from pyptx_ir.syntax import parse
from pyptx_sim import run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_ir.syntax.nodes import Module
    from pyptx_sim.findings import Finding

    Array = NDArray[Any]

pytestmark = [pytest.mark.blackwell, pytest.mark.scaled]

SCHEDULES: list[dict[str, Any]] = full([*({"seed": seed} for seed in range(8)), {"delay_async": True}],
                                      default=[{}, {"seed": 1}, {"delay_async": True}])  # fmt: skip

# D = A · B: CTA r has rows 128 r to 128 r + 127 of A and columns 8 r to 8 r + 7 of B; f16, K = 16. Warp 0 allocates.
KERNEL = """\
.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 d) .reqnctapercluster 2, 1, 1
{
.reg .pred %p<8>;
.reg .b16 %h<2>;
.reg .b32 %r<40>;
.reg .b64 %rd<12>;
.shared .align 1024 .b8 left[4096];
.shared .align 1024 .b8 right[256];
.shared .align 8 .b64 done;
.shared .align 8 .b64 over;
.shared .align 4 .b32 columns;
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
ld.param.u64 %rd3, [d];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %cluster_ctarank;
shr.u32 %r3, %r1, 5;
setp.eq.u32 %p0, %r3, 0;
setp.eq.u32 %p1, %r1, 0;
setp.eq.and.u32 %p2, %r2, 0, %p1;
setp.lt.u32 %p3, %r1, 16;
xor.b32 %r4, %r2, 1;
@%p1 mbarrier.init.shared::cta.b64 [done], 1;
@%p1 mbarrier.init.shared::cta.b64 [over], 1;
@%p1 fence.mbarrier_init.release.cluster;
BEGIN
mov.u32 %r5, left;
mad.lo.u32 %r6, %r2, 128, %r1;
mad.wide.u32 %rd4, %r6, 32, %rd1;
ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd4];
ld.global.v4.b32 {%r14, %r15, %r16, %r17}, [%rd4+16];
mad.lo.u32 %r6, %r1, 16, %r5;
st.shared.v4.b32 [%r6], {%r10, %r11, %r12, %r13};
st.shared.v4.b32 [%r6+2048], {%r14, %r15, %r16, %r17};
mov.u32 %r7, right;
mad.lo.u32 %r6, %r2, 16, %r1;
mad.wide.u32 %rd4, %r6, 16, %rd2;
mad.lo.u32 %r6, %r1, 16, %r7;
@%p3 ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd4];
@%p3 st.shared.v4.b32 [%r6], {%r10, %r11, %r12, %r13};
fence.proxy.async.shared::cta;
tcgen05.fence::before_thread_sync;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
tcgen05.fence::after_thread_sync;
ld.shared.b32 %r20, [columns];
shr.u32 %r5, %r5, 4;
cvt.u64.u32 %rd5, %r5;
or.b64 %rd5, %rd5, 0x0000400800800000;
shr.u32 %r7, %r7, 4;
cvt.u64.u32 %rd6, %r7;
or.b64 %rd6, %rd6, 0x0000400800080000;
mov.u32 %r21, 0x10040010;
setp.ne.u32 %p4, 0, 0;
mov.u16 %h0, 3;
@%p2 tcgen05.mma.cta_group::2.kind::f16 [%r20], %rd5, %rd6, %r21, %p4;
@%p2 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [done], %h0;
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [done], 0;
@!%p5 bra WAIT;
tcgen05.fence::after_thread_sync;
shl.b32 %r22, %r3, 21;
add.u32 %r22, %r22, %r20;
tcgen05.ld.sync.aligned.32x32b.x16.b32 {ACCUMULATORS}, [%r22];
tcgen05.wait::ld.sync.aligned;
mad.lo.u32 %r6, %r2, 128, %r1;
mad.wide.u32 %rd4, %r6, 64, %rd3;
st.global.v4.b32 [%rd4], {%r24, %r25, %r26, %r27};
st.global.v4.b32 [%rd4+16], {%r28, %r29, %r30, %r31};
st.global.v4.b32 [%rd4+32], {%r32, %r33, %r34, %r35};
st.global.v4.b32 [%rd4+48], {%r36, %r37, %r38, %r39};
tcgen05.fence::before_thread_sync;
bar.sync 0;
END
ret;
}
"""
ALLOCATE = "@%p0 tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [columns], 32;\n"
RELINQUISH = "@%p0 tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;\n"
FREE = "@%p0 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r20, 32;\n"
ARRIVE, WAIT = "barrier.cluster.arrive.aligned;\n", "barrier.cluster.wait.aligned;\n"
RELAXED = "barrier.cluster.arrive.relaxed.aligned;\n"
SYNC = ARRIVE + WAIT
# One thread arrives at the mbarrier of the peer CTA, like CUTLASS kernels before tcgen05.dealloc.
SIGNAL = (
    "mov.u32 %r8, over;\nmapa.shared::cluster.u32 %r8, %r8, %r4;\n@%p1 mbarrier.arrive.shared::cluster.b64 _, [%r8];\n"
)
POLL = "POLL:\nmbarrier.try_wait.parity.shared::cta.b64 %p6, [over], 0;\n@!%p6 bra POLL;\n"
ACCUMULATORS = ", ".join(f"%r{number}" for number in range(24, 40))
SECOND_FIRST = f"setp.eq.u32 %p7, %r2, 0;\n@%p7 bra FIRST;\n{FREE}{SYNC}bra OVER;\nFIRST:\n{SYNC}{FREE}OVER:\n"
ONE_ALONE = f"setp.ne.u32 %p7, %r2, 0;\n{SYNC}@%p7 bra OVER;\n{FREE}OVER:\n"
BEGUN, ENDED = SYNC + ALLOCATE + RELINQUISH, SYNC + FREE


@dataclass(frozen=True)
class Case:
    """PTX of a kernel's start and end (allocation, synchronization), and the name of the expected finding's rule."""

    name: str
    begin: str = BEGUN
    end: str = ENDED
    rule: str = ""


CASES = (
    Case("cluster barriers before the allocation and before the deallocation"),
    Case("barrier.cluster.arrive.relaxed before tcgen05.alloc", begin=RELAXED + WAIT + ALLOCATE + RELINQUISH),
    Case("mbarriers of both CTAs before the deallocation", end=SIGNAL + POLL + FREE + SYNC),
    Case("no barrier before the allocation", begin=ALLOCATE + RELINQUISH + SYNC, rule="cluster-cta-not-started"),
    Case("a CTA barrier before the allocation", "bar.sync 0;\n" + ALLOCATE + SYNC, rule="cluster-cta-not-started"),
    Case("an arrival, no wait before the allocation", begin=ARRIVE + ALLOCATE + WAIT, rule="cluster-cta-not-started"),
    Case("no barrier before the relinquish", begin=RELINQUISH + SYNC + ALLOCATE, rule="cluster-cta-not-started"),
    Case("no barrier before the deallocation", end=FREE, rule="tmem-use-after-free"),
    Case("a cluster barrier after the deallocation", end=FREE + SYNC, rule="tmem-use-after-free"),
    Case("an arrival and no wait before the deallocation", end=ARRIVE + FREE + WAIT, rule="tmem-use-after-free"),
    Case("an arrival at the peer's mbarrier and no wait", end=SIGNAL + FREE + POLL + SYNC, rule="tmem-use-after-free"),
    Case("the second CTA deallocates before it arrives", end=SECOND_FIRST, rule="deadlock"),
    Case("only one CTA deallocates", end=ONE_ALONE, rule="deadlock"),
)  # fmt: skip


@cache
def kernel(begin: str, end: str) -> Module:
    return parse(KERNEL.replace("BEGIN", begin).replace("END", end).replace("ACCUMULATORS", ACCUMULATORS))


def multiply(case: Case, **schedule: Any) -> tuple[bool, tuple[Finding, ...]]:
    """Run the kernel; return whether D is right, and the simulator's findings."""
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-8, 8, (rows, 16)).astype(np.float16) for rows in (256, 16))
    halves = b.reshape(2, 8, 2, 8).swapaxes(1, 2)  # B's columns per CTA: two 8 x 8 core matrices, one per half of K
    d = np.zeros((256, 16), np.float32)
    arguments = [a, np.ascontiguousarray(halves), d]
    result = run(kernel(case.begin, case.end), grid=2, cluster=2, block=128, args=arguments, **schedule)
    return bool((d == a.astype(np.float64) @ b.astype(np.float64).T).all()), result.findings


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_pair_allocates_and_frees_together(case: Case, schedule: dict[str, Any]) -> None:
    right, findings = multiply(case, **schedule)
    if case.rule:
        assert case.rule in {each.rule for each in findings if each.severity == "error"}, [
            str(each) for each in findings
        ]
    else:
        assert right
        assert findings == ()
