"""Grouped matrix product, as in a mixture of experts: the rows of X belong to groups, and each group has its own W.

`Y[r] = X[r] · W[g]` for every row r of group g. X is T x K with the rows of a group one behind the other, W is
G x K x N, and `ends` says where each group ends: group g has the rows from `ends[g - 1]` (0 for the first) up to
`ends[g]`, and the last group ends at T. Groups may be of any size, also empty, and their sizes are known on the GPU
only: every warp walks along `ends`, counts the tiles of each group, and so finds those of its block. Nothing is padded
or planned beforehand.

The pipeline and the order of a group's tiles are those of `gemm_highperf_hopper.py`, without clusters. Stores are
different: the last tile of a group reaches into the rows of the next, which are another block's to write. So each warp
stages 16 rows in shared memory, 128 columns at a time, and each lane copies one of them out by `cp.async.bulk`, as far
as the columns go, if the row belongs to the group.

N and K are multiples of 8, so that rows are whole multiples of 16 bytes, which TMA asks for.

    python examples/hopper/grouped_gemm.py
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import b32, bf16, bf16x2, f32, s32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where this file is run by itself

from examples.hopper.gemm_highperf_hopper import ROWS, Cut, Stages, divide, multiply, prefetch
from examples.tile_order import place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx import TensorSpec
    from pyptx.reg import Reg, RegArray
    from pyptx.smem import SharedAlloc

BK = 64  # of K to a stage: a row of the 128B swizzle
PAD = 8  # elements behind each staged row: 16 bytes, so that eight rows of stmatrix lie in different banks


@dataclass(frozen=True, slots=True)
class GroupedGemm(Cut):
    """How the products are cut up. The defaults are for groups of hundreds of rows."""

    band: int = 16  # tiles below each other that are taken before the next column: 132 of 128 x 256 are about a square

    def __post_init__(self) -> None:
        """Refuse also bands without a row."""
        Cut.__post_init__(self)
        if self.band < 1:
            raise ValueError(f"band={self.band}: one row or more")

    @property
    def staged(self) -> int:
        """How many columns of a tile a warp stages at a time: half of the widest leaves room for one stage more."""
        return 64 if self.block_n % 128 else 128

    @property
    def x_tile(self) -> SharedTile:
        """What a block holds of X."""
        return SharedTile(bf16, (self.block_m, BK), stages=self.stages)

    @property
    def w_tile(self) -> SharedTile:
        """What a block holds of W."""
        return SharedTile(bf16, (BK, self.block_n), major="MN", stages=self.stages)

    def grid(self, T: int, K: int, G: int, N: int) -> int:
        """Return the number of blocks: one for each tile that there can be, where the device has room for as many."""
        return self.at_most((T // self.block_m + G) * -(-N // self.block_n))

    # --- the parts of the kernel ------------------------------------------------------------------------

    def tiles(self, ends, w) -> Iterator[tuple[Reg, Reg, Reg, Reg]]:
        """Yield group, first row, end of the group's rows, and first column of every tile of this block."""
        (G, _, N), (pe,) = w.shape, ptx.global_ptrs(ends)
        columns = -(-N // self.block_n)
        blocks = reg.from_(ptx.special.nctaid.x(), u32)
        tile, group = reg.from_(ptx.special.ctaid.x(), u32), reg.scalar(u32, init=0)
        begin, end = reg.scalar(u32, init=0), reg.scalar(u32)
        ptx.ld(u32, end, ptx.addr(pe))
        with ptx.loop():
            rows = (end - begin + (self.block_m - 1)) >> (self.block_m.bit_length() - 1)  # of tiles, rounded up
            tiles = rows * columns
            with ptx.if_(tile < tiles):
                row, column = place(tile, rows, columns, self.band)
                yield group, begin + row * self.block_m, end, column * self.block_n
                tile += blocks
            with ptx.else_():
                tile -= tiles
                group += 1
                ptx.break_(pred=group == G)
                ptx.mov(u32, begin, end)
                ptx.ld(u32, end, ptx.addr(pe + group * 4))

    def produce(self, x, w, ends, shared: Shared) -> None:
        """Fill one stage after the other, each as soon as the consumers have read what was in it."""
        X, W = self.x_tile, self.w_tile
        ring = ptx.pipeline(self.stages, phase=reg.scalar(u32, init=1))  # at first all stages are empty
        for group, row, _, column in self.tiles(ends, w):
            for k in ptx.range_(0, x.shape[1], BK):
                stage, phase = ring.advance()
                ptx.mbarrier.wait(shared.stages.empty[stage], phase)
                full = shared.stages.full[stage]
                ptx.mbarrier.arrive_expect_tx(full, X.stage_bytes + W.stage_bytes)
                ptx.cp.async_.bulk.tensor_2d(dst=shared.x[stage], src=x, coord=(k, row), mbar=full)
                for panel in range(W.panels):
                    at = (column + panel * W.panel_columns, k, group)
                    ptx.cp.async_.bulk.tensor_3d(dst=shared.w[stage, panel], src=w, coord=at, mbar=full)

    def consume(self, w, ends, y, shared: Shared, warpgroup: Reg, steps: int) -> None:
        """Multiply stage after stage, with one group of products in flight, and store tile after tile."""
        X, W = self.x_tile, self.w_tile
        rows = X.offset(mn=ROWS) if self.block_m > ROWS else 0
        x0 = ptx.wgmma.advance(ptx.wgmma.descriptor(shared.x), rows, times=warpgroup)
        w0 = ptx.wgmma.descriptor(shared.w)
        acc = reg.wgmma_frag(m=ROWS, n=self.block_n, dtype=f32)
        ring, read, elected = ptx.pipeline(self.stages), ptx.pipeline(self.stages), ptx.elect_sync()
        for _, row, end, column in self.tiles(ends, w):
            for step in ptx.range_(0, steps):
                stage, phase = ring.advance()
                ptx.mbarrier.wait(shared.stages.full[stage], phase)
                a = ptx.wgmma.advance(x0, X.stage_bytes, times=stage)
                b = ptx.wgmma.advance(w0, W.stage_bytes, times=stage)
                multiply(acc, a, b, (X, W), adds=~(step == 0))
                ptx.wgmma.wait_group(1)  # the products of the step before have read their stage
                with ptx.if_(step > 0):
                    ptx.mbarrier.arrive(shared.stages.empty[read.advance()[0]], pred=elected)
            ptx.wgmma.wait_group(0)
            ptx.mbarrier.arrive(shared.stages.empty[read.advance()[0]], pred=elected)
            self.store(acc, y, shared.y, (row + warpgroup * ROWS, end, column))
        ptx.cp.async_.bulk.wait_group(0)

    def store(self, acc: RegArray, y, staged: SharedAlloc, at: tuple[Reg, Reg, Reg]) -> None:
        """Round the accumulator, and copy those of each warp's 16 rows that belong to the group, columns by columns."""
        (row, end, column), N = at, y.shape[1]
        (py,) = ptx.global_ptrs(y)
        warp, lane = (ptx.special.tid.x() >> 5) - 4, reg.from_(ptx.special.laneid(), u32)
        own, packed = row + (warp & 3) * 16 + lane, reg.array(b32, 4)
        for first in range(0, self.block_n, self.staged):
            ptx.cp.async_.bulk.wait_group(0, read=True)  # what was staged before is on its way
            ptx.bar.warp.sync()
            for x in range(0, self.staged, 16):  # 16 columns: 8 registers
                block = (first + x) // 2
                for pair, i in zip(packed, range(block, block + 8, 2), strict=True):
                    ptx.cvt(bf16x2, f32, pair, acc[i + 1], acc[i], rounding="rn")
                ptx.stmatrix(smem=staged.address(warp, lane & 15, (lane >> 4) * 8 + x), regs=packed)
            ptx.fence.proxy_async_shared_cta()  # the copies see what was stored
            ptx.bar.warp.sync()
            left = column + first
            with ptx.if_((lane < 16) & (own < end) & (left < N)):
                width = ptx.min(u32, reg.scalar(u32), N - left, self.staged)
                ptx.cp.async_.bulk.store(ptx.addr(py + (own * N + left) * 2), staged[warp, lane], width * 2)
                ptx.cp.async_.bulk.commit_group()

    def kernel(self):
        """Put the parts together."""

        @kernel(
            in_specs=(self.x_tile.tma_tile("T", "K"), self.w_tile.tma_tile("G", "K", "N"), Tile("G", s32)),
            out_specs=(Tile("T", "N", bf16, align=16),),
            grid=self.grid,
            **self.launch,
        )
        def grouped_gemm(x, w, ends, y) -> None:
            """Multiply, each block tile after tile of whichever group."""
            shared, steps = Shared(self), -(-x.shape[1] // BK)
            divide(
                lambda: shared.begin(x, w),
                ptx.bar.sync,
                deals=self.block_m > ROWS,
                produce=lambda: self.produce(x, w, ends, shared),
                consume=lambda warpgroup: self.consume(w, ends, y, shared, warpgroup, steps),
            )
            ptx.ret()

        return grouped_gemm


class Shared:
    """What lies in a block's shared memory."""

    def __init__(self, plan: GroupedGemm) -> None:
        """Allocate the tiles, the barriers of their stages, and 16 rows of Y for each warp."""
        self.x, self.w = smem.tile(plan.x_tile), smem.tile(plan.w_tile)
        self.y = smem.alloc(bf16, (plan.block_m // 16, 16, plan.staged + PAD))
        self.stages = Stages(plan.stages, plan.block_m // 16)

    def begin(self, *tensors: TensorSpec) -> None:
        """Fetch the tensors' maps, initialise the barriers, and emit the fence that tells TMA."""
        prefetch(*tensors)
        self.stages.init()
        ptx.fence.proxy_async_shared_cta()


@functools.cache
def build_grouped_gemm(**sizes: int):
    """Return the kernel that cuts the products up in another way: `build_grouped_gemm(block_n=64, stages=6)`."""
    return GroupedGemm(**sizes).kernel()


grouped_gemm = build_grouped_gemm()


def reference(x: np.ndarray, w: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Compute the same in float64."""
    parts = np.split(x.astype(np.float64), ends[:-1])
    return np.concatenate([part @ w[g].astype(np.float64) for g, part in enumerate(parts)])


def main() -> None:
    """Run on the simulator and print the largest error against float64."""
    rng = np.random.default_rng(0)
    ends = np.cumsum([130, 0, 7, 200], dtype=np.int32)
    x, w = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((337, 136), (4, 136, 264)))
    expected = reference(x, w, ends)
    error = np.abs(grouped_gemm(x, w, ends) - expected).max() / np.abs(expected).max()
    print(f"grouped_gemm 130 + 0 + 7 + 200 rows, 136 x 264: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
