"""Warp collectives and barriers after divergence: groups of lanes, partial warps, and lanes that arrive singly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from .ptx_text import execute, words

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = range(6)
# %r2 is a per-thread value. Lanes of a warp diverge by bit 0 of %r2: some lanes store to shared memory first.
DIVERGED = """
.shared .align 4 .b8 s[1024];
mul.lo.u32 %r2, %r0, 40503; shr.u32 %r2, %r2, 3; and.b32 %r2, %r2, 255;
and.b32 %r3, %r2, 1; setp.ne.u32 %p1, %r3, 0;
mov.u32 %r4, s; mad.lo.u32 %r4, %r0, 4, %r4;
@!%p1 bra joined;
st.shared.u32 [%r4], %r2;
joined:
"""


def values(count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return (np.arange(count) * 40503 >> 3) & 255


Tile = np.ndarray[Any, np.dtype[np.int64]]
# Warp collective -> a lane's result from the values of its tile (lanes of its membermask); a ballot: tile's bits only.
TILES: dict[str, Callable[[Tile], Any]] = {
    "redux.sync.add.s32 %r7, %r2, %r8;": lambda tile: tile.sum(),
    "redux.sync.max.u32 %r7, %r2, %r8;": lambda tile: tile.max(),
    "shfl.sync.bfly.b32 %r7, %r2, 1, 0x1f, %r8;": lambda tile: tile[np.arange(len(tile)) ^ 1],
    "vote.sync.any.pred %p2, %p1, %r8; selp.u32 %r7, 1, 0, %p2;": lambda tile: (tile & 1).any(),
    "vote.sync.all.pred %p2, %p1, %r8; selp.u32 %r7, 1, 0, %p2;": lambda tile: (tile & 1).all(),
    "vote.sync.ballot.b32 %r7, %p1, %r8; popc.b32 %r7, %r7;": lambda tile: (tile & 1).sum(),
    "match.any.sync.b32 %r7, %r3, %r8; popc.b32 %r7, %r7;": lambda tile: [
        ((tile ^ each) & 1 == 0).sum() for each in tile
    ],
    "elect.sync %r7|%p2, %r8; and.b32 %r7, %r7, %r9;": lambda _tile: 0,
}


@pytest.mark.parametrize("width", [2, 4, 8, 16])
@pytest.mark.parametrize(
    "instruction",
    [pytest.param(each, marks=[pytest.mark.hopper] if each.startswith("elect") else []) for each in TILES],
)
def test_a_tile_waits_for_its_own_lanes_only(instruction: str, width: int) -> None:
    mask = (1 << width) - 1
    body = f"""
    and.b32 %r10, %r0, {32 - width}; mov.u32 %r11, {mask}; shl.b32 %r8, %r11, %r10; mov.u32 %r9, {width - 1};
    {instruction}
    st.global.u32 [%rd1], %r7;
    """
    of = TILES[instruction]
    expected = np.concatenate([np.broadcast_to(of(tile), width) for tile in values(64).reshape(-1, width)])
    for seed in SEEDS:
        assert words(DIVERGED + body, count=64, block=64, seed=seed).tolist() == expected.tolist()


@pytest.mark.parametrize("width", [2, 8])
def test_a_tile_exchanges_through_memory_after_its_warp_barrier(width: int) -> None:
    body = f"""
    and.b32 %r10, %r0, {32 - width}; mov.u32 %r11, {(1 << width) - 1}; shl.b32 %r8, %r11, %r10;
    @!%p1 st.shared.u32 [%r4], 7;
    bar.warp.sync %r8;
    xor.b32 %r9, %r4, 4; ld.shared.u32 %r7, [%r9];
    st.global.u32 [%rd1], %r7;
    """
    stored = np.where(values(64) & 1, values(64), 7)
    for seed in SEEDS:
        found = words(DIVERGED + body, count=64, block=64, seed=seed)
        assert found.tolist() == stored[np.arange(64) ^ 1].tolist()


def test_a_tile_that_is_complete_does_not_wait_for_another_one() -> None:
    """Lanes 16 to 31 wait for a flag that lane 0 sets after the redux of its own tile."""
    body = """
    .shared .align 4 .b8 f[4];
    mov.u32 %r4, f; setp.ge.u32 %p1, %r0, 20; setp.ge.u32 %p2, %r0, 16; selp.u32 %r8, 0xffff0000, 0x0000ffff, %p2;
    setp.eq.u32 %p3, %r0, 0; @%p3 st.volatile.shared.u32 [%r4], 0;
    bar.warp.sync -1;
    @!%p1 bra joined;
    wait:
    ld.volatile.shared.u32 %r5, [%r4]; setp.eq.u32 %p4, %r5, 0; @%p4 bra wait;
    joined:
    redux.sync.add.u32 %r7, %r0, %r8;
    @%p3 st.volatile.shared.u32 [%r4], 1;
    st.global.u32 [%rd1], %r7;
    """
    for seed in SEEDS:
        assert words(body, seed=seed).tolist() == [120] * 16 + [376] * 16


@pytest.mark.parametrize("threads", [7, 33, 36, 48, 63, 64, 100, 129])
def test_a_barrier_waits_for_all_lanes_of_a_partial_warp(threads: int) -> None:
    body = f"""
    @%p1 bra stored;
    st.shared.u32 [%r4], %r2;
    stored:
    bar.sync 0;
    mov.u32 %r5, s; sub.u32 %r6, {threads - 1}, %r0; mad.lo.u32 %r6, %r6, 4, %r5;
    ld.shared.u32 %r7, [%r6];
    st.global.u32 [%rd1], %r7;
    """
    for seed in SEEDS:
        found = words(DIVERGED + body, count=threads, block=threads, seed=seed)
        assert found.tolist() == values(threads)[::-1].tolist()


@pytest.mark.parametrize("threads", [32, 48, 100])
@pytest.mark.parametrize(
    ("reduction", "expected"),
    [
        ("bar.red.popc.u32 %r7, 0, %p1;", lambda bits: bits.sum()),
        ("bar.red.or.pred %p2, 0, %p1; selp.u32 %r7, 1, 0, %p2;", lambda bits: bits.any()),
        ("barrier.red.and.pred %p2, 0, %p1; selp.u32 %r7, 1, 0, %p2;", lambda bits: bits.all()),
    ],
)
def test_a_reduction_gives_all_lanes_of_a_diverged_warp_its_result(
    reduction: str, expected: Callable[[Tile], int], threads: int
) -> None:
    body = f"{reduction} st.global.u32 [%rd1], %r7;"
    for seed in SEEDS:
        found = words(DIVERGED + body, count=threads, block=threads, seed=seed)
        assert found.tolist() == [int(expected(values(threads) & 1))] * threads


def test_lanes_that_arrive_and_exit_count_once() -> None:
    """The even lanes of warp 1 arrive before its odd ones, and exit; warp 0 waits for all of them."""
    body = """
    .shared .align 4 .b8 s[256];
    mov.u32 %r4, s; mad.lo.u32 %r4, %r0, 4, %r4;
    setp.lt.u32 %p1, %r0, 32; @%p1 bra consumer;
    st.shared.u32 [%r4], %r0;
    and.b32 %r3, %r0, 1; setp.eq.u32 %p2, %r3, 0; @%p2 bra even;
    barrier.arrive 1, 64; ret;
    even:
    barrier.arrive 1, 64; ret;
    consumer:
    barrier.sync 1, 64;
    ld.shared.u32 %r7, [%r4+128];
    st.global.u32 [%rd1], %r7;
    """
    for seed in SEEDS:
        assert words(body, block=64, seed=seed).tolist() == list(range(32, 64))


def test_arrivals_alone_complete_a_barrier() -> None:
    """The full number of arrivals completes a phase; a later wait is for the next phase."""
    body = """
    setp.lt.u32 %p1, %r0, 64; @%p1 bra early;
    bar.sync 2, 96;
    bar.sync 1, 64;
    ret;
    early:
    bar.arrive 1, 64;
    bar.arrive 2, 96;
    """
    result = execute(body, np.zeros(1, np.uint32), block=96)
    assert "deadlock" in {each.rule for each in result.findings}


def test_each_lane_waits_at_the_barrier_that_it_names() -> None:
    """Even lanes of both warps synchronize at barrier 1, odd lanes at barrier 2, by one instruction."""
    body = f"""{DIVERGED}
    mov.u32 %r6, 0; @%p1 bra odd; st.shared.u32 [%r4], %r2;
    odd:
    and.b32 %r3, %r0, 1; add.u32 %r3, %r3, 1;
    barrier.sync %r3, 32;
    xor.b32 %r5, %r0, 32; shl.b32 %r5, %r5, 2; mov.u32 %r6, s; add.u32 %r6, %r6, %r5;
    ld.shared.u32 %r7, [%r6];
    st.global.u32 [%rd1], %r7;
    """
    for seed in SEEDS:
        assert words(body, count=64, block=64, seed=seed).tolist() == values(64)[np.arange(64) ^ 32].tolist()
