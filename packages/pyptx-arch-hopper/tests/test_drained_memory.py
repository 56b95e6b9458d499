"""Reuse of shared memory, and CTA exit in clusters: correct and faulty kernels with wait_group, mbarriers and flags."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import run

pytestmark = pytest.mark.hopper

SCHEDULES = [{}, {"delay_async": True}, *({"seed": seed} for seed in range(1, 5))]
HEAD = """\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 a)
{
.reg .pred %p<8>;
.reg .b32 %r<30>;
.reg .b64 %rd<20>;
.reg .f32 %f<8>;
.shared .align 1024 .b8 factors[4096];
.shared .align 8 .b64 bar[2];
.shared .align 4 .b32 seen;
mov.u32 %r1, %tid.x;
shr.u32 %r2, %r1, 5;
setp.eq.u32 %p0, %r1, 0;
@%p0 mbarrier.init.shared.b64 [bar], 32;
"""
# Warp 3 executes wait_group after the other warps, and does not synchronize with them. Then warp 3 arrives at the
# mbarrier for which warp 4 waits before warp 4 overwrites the operands.
PRODUCT = """\
setp.eq.u32 %p4, %r1, 0;
@%p4 st.shared.u32 [seen], 0;
mov.u32 %r9, factors;
mad.lo.u32 %r10, %r1, 32, %r9;
mov.u32 %r11, 0;
setp.eq.u32 %p3, %r2, 4;
@%p3 bra filled;
st.shared.v4.u32 [%r10], {%r11, %r11, %r11, %r11};
st.shared.v4.u32 [%r10+16], {%r11, %r11, %r11, %r11};
fence.proxy.async.shared::cta;
filled:
bar.sync 0;
@%p3 bra writes;
bfe.u32 %r9, %r9, 4, 14;
cvt.u64.u32 %rd10, %r9;
or.b64 %rd10, %rd10, 0x0000001000080000;
add.u64 %rd11, %rd10, 128;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd11, 0, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
setp.eq.u32 %p1, %r2, 3;
@%p1 bra last;
wgmma.wait_group.sync.aligned 0;
red.relaxed.cta.shared.add.u32 [seen], 1;
bra end;
last:
ld.relaxed.cta.shared.u32 %r12, [seen];
setp.ne.u32 %p2, %r12, 96;
@%p2 bra last;
WAIT
mbarrier.arrive.shared.b64 _, [bar];
LATER
bra end;
writes:
w: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
@!%p2 bra w;
st.shared.u32 [factors], 7;
end:
ret;
}
"""
BEHIND = "wgmma.wait_group.sync.aligned 0;"


def findings(text: str, **options: Any) -> list[Any]:
    block = options.pop("block", 128)
    return list(run(text, args=[np.zeros(256, np.uint32)], block=block, **{"grid": 1, **options}).findings)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_each_warp_of_a_warpgroup_knows_what_it_has_waited_for(schedule: dict[str, Any]) -> None:
    text, launch = HEAD + PRODUCT, {"block": 160, **schedule}
    assert findings(text.replace("WAIT", BEHIND).replace("LATER", ""), **launch) == []
    late = text.replace("WAIT", "").replace("LATER", BEHIND)
    assert {each.rule for each in findings(late, **launch)} == {"early-reuse"}


DRAIN = """\
mov.u32 %r3, %cluster_ctarank;
xor.b32 %r4, %r3, 1;
mov.u32 %r5, bar;
mapa.shared::cluster.u32 %r6, %r5, %r4;
@%p0 fence.mbarrier_init.release.cluster;
barrier.cluster.arrive;
barrier.cluster.wait;
setp.eq.u32 %p1, %r3, 1;
@%p1 bra drained;
SEND
bra end;
drained:
DRAINED
end:
ret;
}
"""


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_a_phase_that_a_block_has_seen_proves_that_the_arrivals_have_come(schedule: dict[str, Any]) -> None:
    text = (HEAD + DRAIN).replace("SEND", "mbarrier.arrive.shared::cluster.b64 _, [%r6];")
    wait = "w: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra w;"
    launch = {"block": 32, "grid": 2, "cluster": 2, **schedule}
    assert findings(text.replace("DRAINED", wait), **launch) == []
    assert {each.rule for each in findings(text.replace("DRAINED", ""), **launch)} == {"cluster-cta-exited"}


SENT = """\
ld.param.u64 %rd1, [a];
mov.u32 %r3, %cluster_ctarank;
xor.b32 %r4, %r3, 1;
mov.u32 %r5, seen;
mapa.shared::cluster.u32 %r6, %r5, %r4;
setp.eq.u32 %p1, %r3, 1;
BEGIN
@%p0 st.shared::cluster.u32 [%r6], 1;
barrier.cluster.arrive;
barrier.cluster.wait;
ret;
}
"""
FLAGS = """\
mul.wide.u32 %rd2, %r3, 4;
add.u64 %rd2, %rd1, %rd2;
mul.wide.u32 %rd3, %r4, 4;
add.u64 %rd3, %rd1, %rd3;
@%p0 st.relaxed.gpu.global.u32 [%rd2], 1;
f: ld.relaxed.gpu.global.u32 %r7, [%rd3];
setp.eq.u32 %p2, %r7, 0;
@%p2 bra f;
"""


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize(
    ("begin", "found"),
    [
        ("", {"cluster-cta-not-started"}),
        (
            "barrier.cluster.arrive.relaxed;",
            {"cluster-cta-not-started", "cluster-cta-exited"},
        ),  # a second finding, because the kernel has no cluster barrier at its end either
        ("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;", set()),
        (FLAGS, set()),
    ],
    ids=["nothing", "an arrival alone", "a relaxed barrier", "flags"],
)
def test_a_block_is_known_to_have_started_by_anything_that_it_has_done(
    begin: str, found: set[str], schedule: dict[str, Any]
) -> None:
    text = (HEAD + SENT).replace("BEGIN", begin)
    if begin.endswith("relaxed;"):
        text = text.replace("barrier.cluster.arrive;\nbarrier.cluster.wait;", "barrier.cluster.wait;")
    assert {each.rule for each in findings(text, block=32, grid=2, cluster=2, **schedule)} == found
