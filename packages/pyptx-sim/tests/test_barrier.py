"""CTA and cluster barriers, and the messages for barriers that never complete."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx_sim.errors import Deadlock, SimulationError

from .ptx_text import BODY_LINE, execute, words

each_seed = pytest.mark.parametrize("seed", [0, 1, 2])

SUM = """
.shared .align 4 .b8 s[4096];
mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1;
st.shared.u32 [%r2], %r0;
mov.u32 %r3, %ntid.x; shr.u32 %r3, %r3, 1;
loop:
bar.sync 0;
setp.ge.u32 %p1, %r0, %r3;
@%p1 bra skip;
mad.lo.u32 %r4, %r3, 4, %r2;
ld.shared.u32 %r5, [%r4]; ld.shared.u32 %r6, [%r2];
add.u32 %r6, %r6, %r5;
st.shared.u32 [%r2], %r6;
skip:
shr.u32 %r3, %r3, 1;
setp.ne.u32 %p2, %r3, 0;
@%p2 bra loop;
bar.sync 0;
ld.shared.u32 %r7, [s];
st.global.u32 [%rd1], %r7;
"""


@each_seed
@pytest.mark.parametrize("threads", [64, 256, 1024])
def test_a_tree_reduction_sees_every_store_before_its_barrier(threads: int, seed: int) -> None:
    assert set(words(SUM, count=threads, block=threads, seed=seed)) == {threads * (threads - 1) // 2}


@each_seed
def test_a_producer_arrives_and_a_consumer_waits(seed: int) -> None:
    body = """
    .shared .align 4 .b8 s[128];
    and.b32 %r1, %r0, 31; mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2;
    setp.lt.u32 %p1, %r0, 32; @%p1 bra consumer;
    st.shared.u32 [%r2], %r0;
    bar.arrive 3, 64;
    ret;
    consumer:
    bar.sync 3, 64;
    ld.shared.u32 %r3, [%r2];
    st.global.u32 [%rd1], %r3;
    """
    assert words(body, count=32, block=64, seed=seed).tolist() == list(range(32, 64))


@each_seed
def test_a_reducing_barrier_counts_and_combines_predicates(seed: int) -> None:
    body = """
    rem.u32 %r1, %r0, 3; setp.eq.u32 %p1, %r1, 0;
    setp.lt.u32 %p2, %r0, 1000; setp.eq.u32 %p3, %r0, 1000;
    barrier.cta.red.popc.aligned.u32 %r2, 0, %p1;
    barrier.cta.red.and.aligned.pred %p4, 1, %p2;
    barrier.cta.red.or.aligned.pred %p5, 2, !%p3;
    bar.red.and.pred %p6, 3, 96, %p1;
    selp.u32 %r3, 1000, 0, %p4; add.u32 %r2, %r2, %r3;
    selp.u32 %r3, 2000, 0, %p5; add.u32 %r2, %r2, %r3;
    selp.u32 %r3, 4000, 0, %p6; add.u32 %r2, %r2, %r3;
    st.global.u32 [%rd1], %r2;
    """
    assert set(words(body, count=96, block=96, seed=seed)) == {32 + 3000}


@each_seed
def test_different_warps_may_use_different_barriers_and_instructions(seed: int) -> None:
    body = """
    shr.u32 %r1, %r0, 6; add.u32 %r2, %r1, 1;
    and.b32 %r3, %r0, 32; setp.eq.u32 %p1, %r3, 0; @%p1 bra other;
    barrier.sync.aligned %r2, 64;
    bra done;
    other:
    barrier.sync.aligned %r2, 64;
    done:
    st.global.u32 [%rd1], %r2;
    """
    assert words(body, count=256, block=256, seed=seed).tolist() == [t // 64 + 1 for t in range(256)]


@each_seed
def test_lanes_meet_at_different_warp_barriers(seed: int) -> None:
    body = """
    .shared .align 4 .b8 s[128];
    mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1; xor.b32 %r3, %r0, 1; mad.lo.u32 %r3, %r3, 4, %r1;
    and.b32 %r4, %r0, 1; setp.eq.u32 %p1, %r4, 1; @%p1 bra odd;
    st.shared.u32 [%r2], 10;
    bar.warp.sync -1;
    ld.shared.u32 %r5, [%r3];
    bra done;
    odd:
    st.shared.u32 [%r2], 20;
    bar.warp.sync -1;
    ld.shared.u32 %r5, [%r3];
    done:
    st.global.u32 [%rd1], %r5;
    """
    out = np.zeros(32, np.uint32)
    execute(body, out, seed=seed)
    assert out.tolist() == [20, 10] * 16


def test_threads_that_have_exited_are_missing_at_a_barrier() -> None:
    body = "setp.lt.u32 %p1, %r0, 5; @%p1 exit;\nbar.sync 0;\nst.global.u32 [%rd1], %r0;"
    out = np.zeros(64, np.uint32)
    (finding,) = execute(body, out, block=64).findings
    assert (finding.rule, finding.line, finding.count) == ("barrier-divergence", BODY_LINE + 1, 5)
    assert "5 threads exited without reaching this barrier" in finding.message
    assert out.tolist() == [0] * 5 + list(range(5, 64))


def test_a_deadlock_names_who_waits_where_and_for_how_many() -> None:
    body = "setp.lt.u32 %p1, %r0, 32; @!%p1 exit;\nbar.sync 7, 96;"
    out = np.zeros(64, np.uint32)
    with pytest.raises(
        Deadlock,
        match=rf"warp 0 of CTA \(0, 0, 0\) at PTX line {BODY_LINE + 1} \(bar.sync 7, 96\): 32 of 96 threads arrived",
    ):
        execute(body, out, block=64, checks="none")
    (finding,) = execute(body, out, block=64).findings
    assert (finding.rule, finding.line) == ("deadlock", BODY_LINE + 1)
    assert "32 of 96 threads arrived at barrier 7" in finding.notes[0]


@pytest.mark.parametrize(
    "body",
    [
        "spin: ld.volatile.global.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra spin;",
        "spin: atom.global.cas.b32 %r1, [%rd0], 1, 2; setp.eq.u32 %p1, %r1, 0; nanosleep.u32 20; @%p1 bra spin;",
        "spin: atom.global.exch.b32 %r1, [%rd0+4], 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra spin;",
        "spin: st.global.u32 [%rd1], %r0; bra spin;",
    ],
)
@pytest.mark.long
def test_spinning_on_memory_that_nobody_changes_is_a_deadlock(body: str) -> None:
    result = execute(body, np.zeros(96, np.uint32), block=96, grid=2, checks=["deadlock"])
    (finding,) = result.findings
    assert finding.rule == "deadlock"
    assert finding.message == "livelock: 6 warps spin without any change of memory"


def test_a_barrier_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(SimulationError, match="invalid barrier 16"):
        execute("bar.sync 16;", np.zeros(1))
    with pytest.raises(SimulationError, match="multiple of 32"):
        execute("bar.sync 1, 33;", np.zeros(1))


@pytest.mark.hopper
def test_a_cluster_barrier_waits_for_every_cta() -> None:
    body = """
    mov.u32 %r1, %cluster_ctarank; setp.ne.u32 %p1, %r1, 3; @%p1 bra wait;
    mov.u32 %r2, 0;
    busy: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 50; @%p2 bra busy;
    red.global.add.u32 [%rd0], 1;
    wait:
    barrier.cluster.arrive.release;
    barrier.cluster.wait.acquire;
    ld.global.relaxed.gpu.u32 %r3, [%rd0];
    setp.lt.u32 %p3, %r3, 64; @%p3 trap;
    """
    out = np.zeros(1, np.uint32)
    assert execute(body, out, grid=4, cluster=4, block=64).findings == ()
    assert out.tolist() == [64]


PAIRS = """
.shared .align 4 .b8 s[512];
mov.u32 %r1, s;
shl.b32 %r2, %r0, 2;
add.u32 %r3, %r1, %r2;
"""


@pytest.mark.parametrize("seed", range(6))
def test_a_generation_is_made_of_as_many_threads_as_the_barrier_is_for(seed: int) -> None:
    findings = execute(f"{PAIRS}bar.sync 1, 64;", np.zeros(128, np.uint32), block=128, seed=seed).findings
    assert {each.rule for each in findings} == {"barrier-phase"}  # warps that complete a phase depend on the schedule


def test_those_who_come_too_late_for_a_generation_are_not_ordered_by_it() -> None:
    body = f"""{PAIRS}
    st.shared.u32 [%r3], %r0;
    bar.sync 1, 64;
    xor.b32 %r4, %r2, 256;  // two warps further on
    add.u32 %r4, %r1, %r4;
    ld.shared.u32 %r5, [%r4];
    """
    rules = {finding.rule for finding in execute(body, np.zeros(128, np.uint32), block=128).findings}
    assert "shared-race" in rules
