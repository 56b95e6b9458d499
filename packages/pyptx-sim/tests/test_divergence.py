"""Lanes and warps that diverge and reconverge."""

from __future__ import annotations

import numpy as np
import pytest

from .ptx_text import execute, words

each_seed = pytest.mark.parametrize("seed", [0, 1, 2])


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


COLLATZ = """
mov.u32 %r9, %ctaid.x; mad.lo.u32 %r9, %r9, 70, %r0; mad.wide.u32 %rd1, %r9, 4, %rd0;
add.u32 %r1, %r9, 1;
mov.u32 %r2, 0;
again:
setp.eq.u32 %p1, %r1, 1;
@%p1 bra done;
and.b32 %r3, %r1, 1;
setp.eq.u32 %p2, %r3, 0;
@%p2 bra even;
mad.lo.u32 %r1, %r1, 3, 1;
bra.uni next;
even:
shr.u32 %r1, %r1, 1;
next:
add.u32 %r2, %r2, 1;
bra again;
done:
st.global.u32 [%rd1], %r2;
"""


@each_seed
def test_lanes_leave_a_loop_at_their_own_time(seed: int) -> None:
    found = words(COLLATZ, count=210, grid=3, block=70, seed=seed)
    assert found.tolist() == [collatz(n + 1) for n in range(210)]


@each_seed
def test_an_indexed_branch_sends_each_lane_to_its_label(seed: int) -> None:
    body = """
    table: .branchtargets a, b, c;
    rem.u32 %r1, %r0, 3;
    brx.idx %r1, table;
    a: mov.u32 %r2, 10; bra done;
    b: mov.u32 %r2, 20; bra done;
    c: mov.u32 %r2, 30;
    done: st.global.u32 [%rd1], %r2;
    """
    assert words(body, seed=seed).tolist() == [(t % 3 + 1) * 10 for t in range(32)]


def test_guards_narrow_every_kind_of_instruction() -> None:
    body = """
    and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 1;
    mov.u32 %r2, 5; st.global.u32 [%rd1], %r2;
    @%p1 add.u32 %r2, %r2, %r0;
    @!%p1 ld.global.u32 %r2, [%rd1];
    @%p1 atom.global.add.u32 %r3, [%rd1], 100;
    @!%p1 exit;
    st.global.u32 [%rd1], %r2;
    """
    assert words(body).tolist() == [t + 5 if t % 2 else 5 for t in range(32)]


def test_threads_that_exit_are_missed_by_nobody() -> None:
    body = """
    setp.ge.u32 %p1, %r0, 40; @%p1 exit;
    setp.lt.u32 %p2, %r0, 3; @%p2 ret;
    mov.u32 %r1, 0;
    loop:
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p3, %r1, %r0; @%p3 bra loop;
    st.global.u32 [%rd1], %r1;
    """
    assert words(body, count=50, block=50).tolist() == [0 if t < 3 or t >= 40 else t for t in range(50)]


@each_seed
def test_a_lock_taken_by_each_lane_in_turn_makes_progress(seed: int) -> None:
    body = """
    again:
    atom.global.acquire.gpu.cas.b32 %r1, [%rd0], 0, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra again;
    ld.global.relaxed.gpu.u32 %r2, [%rd0+4];
    add.u32 %r2, %r2, 1;
    st.global.relaxed.gpu.u32 [%rd0+4], %r2;
    st.global.release.gpu.u32 [%rd0], 0;
    """
    out = np.zeros(2, np.uint32)
    assert execute(body, out, grid=2, block=12, seed=seed).findings == ()
    assert out.tolist() == [0, 24]


@each_seed
def test_a_warp_waits_for_a_flag_that_a_later_block_of_code_sets(seed: int) -> None:
    body = """
    mov.u32 %r9, %ctaid.x; setp.eq.u32 %p1, %r9, 3; @%p1 bra producer;
    wait:
    ld.global.acquire.gpu.u32 %r1, [%rd0];
    setp.eq.u32 %p2, %r1, 0;
    @%p2 bra wait;
    ld.global.u32 %r2, [%rd0+4];
    red.global.add.u32 [%rd0+8], %r2;
    ret;
    producer:
    setp.ne.u32 %p3, %r0, 0; @%p3 ret;
    st.global.u32 [%rd0+4], 7;
    st.global.release.gpu.u32 [%rd0], 1;
    """
    out = np.zeros(3, np.uint32)
    assert execute(body, out, grid=4, seed=seed).findings == ()
    assert out.tolist() == [1, 7, 7 * 96]


@each_seed
def test_a_shuffle_behind_a_branch_waits_for_the_lanes_of_its_mask(seed: int) -> None:
    body = """
    and.b32 %r1, %r0, 3; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, %r0;
    @%p1 bra one;
    setp.eq.u32 %p2, %r1, 1;
    @%p2 bra one;
    add.u32 %r2, %r2, 100;
    one:
    shfl.sync.bfly.b32 %r3, %r2, 2, 31, -1;
    st.global.u32 [%rd1], %r3;
    """
    value = [t if t % 4 < 2 else t + 100 for t in range(32)]
    assert words(body, seed=seed).tolist() == [value[t ^ 2] for t in range(32)]


def test_a_collective_whose_lanes_cannot_come_is_found_and_goes_on() -> None:
    body = """
    mov.u32 %r1, 1;
    setp.lt.u32 %p1, %r0, 16; @%p1 bra low;
    vote.sync.ballot.b32 %r1, 1, -1;
    low:
    barrier.sync 0;
    st.global.u32 [%rd1], %r1;
    """
    out = np.zeros(32, np.uint32)
    (finding,) = execute(body, out).findings
    assert finding.rule == "membermask-mismatch"
    assert finding.message == (
        "membermask names lanes 0-15 of warp 0, CTA (0, 0, 0), which do not reach this instruction"
    )
    assert out.tolist() == [1] * 16 + [0xFFFF0000] * 16


@each_seed
def test_groups_of_lanes_exchange_at_one_instruction_each_with_its_own_mask(seed: int) -> None:
    body = """
    and.b32 %r1, %r0, 24;
    shl.b32 %r2, 255, %r1;
    shfl.sync.bfly.b32 %r3, %r0, 1, 31, %r2;
    bar.warp.sync %r2;
    st.global.u32 [%rd1], %r3;
    """
    out = np.zeros(32, np.uint32)
    result = execute(body, out, seed=seed)
    assert [str(finding) for finding in result.findings] == []
    assert (out == np.arange(32) ^ 1).all()


@pytest.mark.parametrize("seed", range(20))
def test_lanes_that_met_once_wait_for_each_other_the_next_time_too(seed: int) -> None:
    body = """
    setp.lt.u32 %p1, %r0, 16;
    @%p1 bra low;
    add.u32 %r2, %r0, 1;
    low: bar.warp.sync -1;
    setp.lt.u32 %p2, %r0, 8;
    @%p2 bra few;
    add.u32 %r2, %r0, 2;
    few: setp.eq.u32 %p3, %r0, %r0;
    vote.sync.ballot.b32 %r3, %p3, -1;
    st.global.u32 [%rd1], %r3;
    """
    assert words(body, seed=seed).tolist() == [0xFFFFFFFF] * 32
