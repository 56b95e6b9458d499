"""`tcgen05.mma` multiplies tiles that threads have written, with every major and swizzle.

Integers make results exact: a byte read from a wrong address shows. The kernels are written like user code.
"""

from __future__ import annotations

from itertools import product as combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tools.shares import share

from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.shared_memory.tiles import SharedTile
from pyptx_dsl.types import b32, e4m3, f32, s32, u8, u16, u32

if TYPE_CHECKING:
    from pyptx_dsl.kernels.kernel import Kernel

pytestmark = pytest.mark.scaled

M, N, K = 128, 64, 64
SWIZZLES = (None, "32B", "64B", "128B")
SHAPES = list(combinations(("K", "MN"), SWIZZLES))
CASES = share(list(combinations(SHAPES, SHAPES)), 7)
MODES = ({}, {"delay_async": True}, {"seed": 1})


def tile(mn: int, layout: tuple[str, str | None]) -> SharedTile:
    """Return a byte tile with the given swizzle; the widest valid swizzle if rows are not multiples of it."""
    major, swizzle = layout
    shape = (mn, K) if major == "K" else (K, mn)
    width = int(swizzle[:-1]) if swizzle else 16
    return SharedTile(u8, shape, major=major, swizzle=swizzle if shape[1] % width == 0 else "widest")


def write(allocated: Any, described: SharedTile, row: Any, bytes_of_row: Any, size: int) -> None:
    """Emit stores, element by element, of the thread's row of a matrix: `size` bytes along K."""
    value = reg.scalar(u16)
    for k in range(size):
        ptx.ld(u8, value, ptx.addr(bytes_of_row, k))
        if described.major == "K":
            panel, inside = divmod(k, described.box_columns)
            place = (panel, row, inside) if described.boxes > 1 else (row, inside)
            allocated.store(value, *place)
            continue
        if described.boxes == 1:
            allocated.store(value, k, row)
            continue
        shift = described.box_columns.bit_length() - 1
        allocated.store(value, row >> shift, k, row & (described.box_columns - 1))


def multiplying(a_layout: tuple[str, str | None], b_layout: tuple[str, str | None]) -> Kernel[Any]:
    A, B = tile(M, a_layout), tile(N, b_layout)

    @kernel(in_specs=(Tile(M, K, u8), Tile(N, K, u8)), out_specs=(Tile(M, N, s32),), grid=1, block=128, arch="sm_100a")
    def k(a, b, d):
        sA, sB, done = smem.tile(A), smem.tile(B), smem.mbarrier(1)
        tid = reg.from_(ptx.special.tid.x(), u32)
        warp = tid >> 5
        pa, pb, pd = ptx.global_ptrs(a, b, d)
        write(sA, A, tid, pa + tid * K, K)
        with ptx.if_(tid < N):
            write(sB, B, tid, pb + tid * K, K)
        with ptx.if_(tid == 0):
            ptx.mbarrier.init(done[0], 1)
        ptx.inst.fence.proxy.async_.shared__cta()
        with ptx.tmem.alloc(64, when=warp == 0) as t:
            with ptx.if_(tid == 0):
                for step in range(0, K, A.k_step):
                    ptx.tcgen05.mma(
                        t, sA, sB, shape=(M, N), dtype_d=s32, dtype_a=u8, dtype_b=u8, accumulate=step > 0,
                        a_k_offset=A.offset(k=step), b_k_offset=B.offset(k=step),
                    )  # fmt: skip
                ptx.tcgen05.commit(done[0])
            ptx.mbarrier.wait(done[0], 0)
            ptx.tcgen05.fence_after_thread_sync()
            sums = ptx.tcgen05.ld(None, t.quarter(warp), shape="32x32b")
            ptx.tcgen05.wait_ld()
            held = ptx.tcgen05.fragment(shape=(M, N))
            for i, register in enumerate(sums):
                ptx.st(b32, ptx.addr(pd + (held.row(tid, i) * N + held.column(0, i)) * 4), register)
        ptx.ret()

    return k


@pytest.mark.parametrize(("a_layout", "b_layout"), CASES, ids=str)
def test_a_product_reads_what_was_written_into_its_tiles(
    a_layout: tuple[str, str | None], b_layout: tuple[str, str | None]
) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 256, (rows, K), np.uint8) for rows in (M, N))
    multiply = multiplying(a_layout, b_layout)
    mode = MODES[(SHAPES.index(a_layout) + SHAPES.index(b_layout)) % len(MODES)]
    result = multiply.simulate(a, b, checks="all", **mode)
    assert result.findings == ()
    np.testing.assert_array_equal(result.outputs[0], a.astype(np.int32) @ b.astype(np.int32).T)


@pytest.mark.parametrize(("multiply", "load"), [("mma", "16x64b"), ("mma", "16x256b"), ("mma_ws", "32x32b")])
def test_accumulators_that_use_some_lanes_are_loaded_by_their_fragments(multiply: str, load: str) -> None:
    m = 64
    described = SharedTile(u8, (m, 32))
    other = SharedTile(u8, (N, 32))

    @kernel(
        in_specs=(Tile(m, 32, u8), Tile(N, 32, u8)), out_specs=(Tile(m, N, s32),), grid=1, block=128, arch="sm_100a"
    )
    def k(a, b, d):
        sA, sB, done = smem.tile(described), smem.tile(other), smem.mbarrier(1)
        tid = reg.from_(ptx.special.tid.x(), u32)
        warp = tid >> 5
        pa, pb, pd = ptx.global_ptrs(a, b, d)
        with ptx.if_(tid < m):
            write(sA, described, tid, pa + tid * 32, 32)
            write(sB, other, tid, pb + tid * 32, 32)
        with ptx.if_(tid == 0):
            ptx.mbarrier.init(done[0], 1)
        ptx.inst.fence.proxy.async_.shared__cta()
        with ptx.tmem.alloc(64, when=warp == 0) as t:
            with ptx.if_(tid == 0):
                getattr(ptx.tcgen05, multiply)(
                    t, sA, sB, shape=(m, N), dtype_d=s32, dtype_a=u8, dtype_b=u8, accumulate=False
                )
                ptx.tcgen05.commit(done[0])
            ptx.mbarrier.wait(done[0], 0)
            ptx.tcgen05.fence_after_thread_sync()
            held = ptx.tcgen05.fragment(shape=(m, N), load=load, ws=multiply == "mma_ws")
            place = t.quarter(warp)
            sums = ptx.tcgen05.ld(reg.array(b32, held.registers), place, shape=load)
            ptx.tcgen05.wait_ld()
            row, column = held.row(tid, 0), held.column(tid, 0)
            for i, register in enumerate(sums):
                there = (row + held.row(0, i)) * N + column + held.column(0, i)
                ptx.st(b32, ptx.addr(pd + there * 4), register)
        ptx.ret()

    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 256, (rows, 32), np.uint8) for rows in (m, N))
    result = k.simulate(a, b, checks="all")
    assert result.findings == ()
    np.testing.assert_array_equal(result.outputs[0], a.astype(np.int32) @ b.astype(np.int32).T)


def test_registers_that_are_stored_come_back() -> None:
    @kernel(out_specs=(Tile(128, 16, f32),), grid=1, block=128, arch="sm_100a")
    def k(d):
        tid = reg.from_(ptx.special.tid.x(), u32)
        (pd,) = ptx.global_ptrs(d)
        with ptx.tmem.alloc(32, when=tid < 32) as t:
            mine = t.quarter(tid >> 5)
            values = [reg.from_(tid * 16 + column, u32) for column in range(16)]
            ptx.tcgen05.st(mine[:, 8:24], values, shape="32x32b")
            ptx.tcgen05.wait_st()
            back = ptx.tcgen05.ld(None, mine[:, 8:24], shape="32x32b")
            ptx.tcgen05.wait_ld()
            for column, register in enumerate(back):
                ptx.st(b32, ptx.addr(pd + tid * 64, column * 4), register)
        ptx.ret()

    result = k.simulate(checks="all")
    assert result.findings == ()
    np.testing.assert_array_equal(result.outputs[0].view(np.uint32), np.arange(2048).reshape(128, 16))


def test_bytes_that_are_floats_lie_as_bytes() -> None:
    assert SharedTile(e4m3, (64, 128), major="MN").bytes == SharedTile(u8, (64, 128), major="MN").bytes
