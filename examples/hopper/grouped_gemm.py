"""Grouped GEMM, as in a mixture of experts: the rows of X belong to groups, and each group has its own W.

`Y[r] = X[r] · W[g]` for every row r of group g. X is T x K with the rows of a group contiguous, W is G x K x N, and
`ends` has the end of each group: group g has the rows from `ends[g - 1]` (0 for the first) to before `ends[g]`, and
the last group ends at T. Groups may be of any size, also empty, and their sizes are known on the GPU only. Every warp
reads `ends` in order, counts the tiles of each group, and so finds those of its CTA. Nothing is padded or planned
beforehand.

The rest is `gemm_highperf_hopper.py`: the pipeline, the order of a group's tiles, and stores by TMA through two buffers
per warp: TMA stores one while the warp fills the other. This kernel has no clusters: they gained nothing on an H100,
and lost if groups are uneven. One part differs: the last tile of a group extends into rows of the next, which another
CTA writes. There the lanes of a warp copy the rows that belong to the group, 16 bytes each at a time.

N and K must be multiples of 8, because TMA requires rows that are multiples of 16 bytes.

    python examples/hopper/grouped_gemm.py
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import b32, f32, s32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.hopper.gemm_highperf_hopper import Gemm, Reader, Shared
from examples.hopper.gemm_parts import ROWS, divide, multiply, stage_panel
from examples.tile_order import place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx.reg import Reg, RegArray
    from pyptx.smem import SharedAlloc

CHUNK = 8  # bf16 elements per 16-byte copy of a lane; the copies of 32 lanes cover 4 rows of 64 columns


@dataclass(frozen=True, slots=True)
class GroupedGemm(Gemm):
    """Tile sizes of the grouped GEMM. The defaults are for groups of hundreds of rows."""

    cluster: int = field(default=1, init=False)
    band: int = 16  # tile rows per band: 132 concurrent 128 x 256 tiles cover a nearly square part of Y
    b_major: str = field(default="MN", init=False)

    def grid(self, T: int, K: int, G: int, N: int) -> int:
        """Return the number of CTAs on a device that holds all of them at once: one per possible tile."""
        return self.at_most((T // self.block_m + G) * -(-N // self.block_n))

    # --- tile order, producer, consumer -----------------------------------------------------------------

    def tiles(self, ends, w) -> Iterator[tuple[Reg, Reg, Reg, Reg]]:
        """Emit a loop over this CTA's tiles; yield group, first row, end row of the group, and first column."""
        (G, _, N), (pe,) = w.shape, ptx.global_ptrs(ends)
        columns, blocks = -(-N // self.block_n), reg.from_(ptx.special.nctaid.x(), u32)
        tile, group = reg.from_(ptx.special.ctaid.x(), u32), reg.scalar(u32, init=0)
        begin, end = reg.scalar(u32, init=0), reg.scalar(u32)
        ptx.ld(u32, end, ptx.addr(pe))
        with ptx.loop():
            rows = (end - begin + (self.block_m - 1)) // self.block_m  # rows of tiles in the group, rounded up
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
        """Fill stage after stage, each as soon as the consumers have read its previous tiles."""
        X, W, start = self.a_tile, self.b_tile(), reg.from_(shared.b, u32)
        ring = ptx.pipeline(self.stages, phase=reg.scalar(u32, init=1))  # all stages start empty: the first waits pass
        for group, row, _, column in self.tiles(ends, w):
            for k in ptx.range_(0, x.shape[1], X.k):
                stage, phase = ring.advance()
                ptx.mbarrier.wait(shared.stages.empty[stage], phase)
                full = shared.stages.full[stage]
                ptx.mbarrier.arrive_expect_tx(full, X.stage_bytes + W.stage_bytes)
                ptx.cp.async_.bulk.tensor_2d(dst=shared.a[stage], src=x, coord=(k, row), mbar=full)
                target = start + stage * W.stage_bytes
                for panel in range(W.boxes):
                    ptx.cp.async_.bulk.tensor_3d(
                        dst=ptx.addr(target, panel * W.box_bytes),
                        src=w,
                        coord=(column + panel * W.box_columns, k, group),
                        mbar=full,
                    )

    def consume(self, w, ends, y, shared: Shared, warpgroup: Reg, steps: int) -> None:
        """Multiply stage after stage, with one wgmma group in flight, and store tile after tile."""
        acc, tiles = reg.wgmma_frag(m=ROWS, n=self.block_n, dtype=f32), (self.a_tile, self.b_tile())
        reader = Reader(self, shared, warpgroup)
        for _, row, end, column in self.tiles(ends, w):
            for step in ptx.range_(0, steps):
                a, b = reader.wait()
                multiply(acc, a, b, tiles, adds=~(step == 0))
                ptx.wgmma.wait_group(1)  # the MMAs of the previous step are complete and have read their stage
                with ptx.if_(step > 0):
                    reader.release()
            ptx.wgmma.wait_group(0)
            reader.release()
            self.store_group(acc, y, shared.c, (row + warpgroup * ROWS, end, column))
        ptx.cp.async_.bulk.wait_group(0)

    def store_group(self, acc: RegArray, y, staged: SharedAlloc, at: tuple[Reg, Reg, Reg]) -> None:
        """Round the accumulator and store each warp's 16 rows, except rows of other groups, 64 columns at a time.

        TMA stores the 16 rows if all belong to the group, else lanes copy the group's rows. Both paths commit a bulk
        group per 64 columns, so that the number of outstanding bulk groups determines which buffer is free.
        """
        (row, end, column), warp = at, (ptx.special.tid.x() >> 5) - 4
        lane, buffers = reg.from_(ptx.special.laneid(), u32), self.c_tile.stages * 16 // self.block_m
        row += (warp & 3) * 16
        whole, elected = row + 16 <= end, ptx.elect_sync()
        for panel in range(self.block_n // 64):
            buffer, left = warp * buffers + panel % buffers, column + panel * 64
            ptx.cp.async_.bulk.wait_group(buffers - 1, read=True)  # TMA has read the previous Y tile from this buffer
            ptx.bar.warp.sync()
            stage_panel(acc, panel, staged, buffer, lane)
            ptx.fence.proxy_async_shared_cta()  # makes writes to the buffer of Y visible to TMA (async proxy)
            ptx.bar.warp.sync()
            with ptx.if_(whole & elected):
                ptx.cp.async_.bulk.tensor_2d.store(dst=y, src=staged[buffer], coord=(left, row))
            ptx.cp.async_.bulk.commit_group()
            with ptx.if_(~whole):
                copy_rows(y, staged, buffer, (row, end, left), lane)

    def kernel(self):
        """Return the grouped GEMM kernel with these tile sizes."""

        @kernel(
            in_specs=(
                self.a_tile.tma_tile("T", "K"),
                self.b_tile().tma_tile("G", "K", "N"),
                Tile("G", s32),
            ),
            out_specs=(self.c_tile.tma_tile("T", "N"),),
            grid=self.grid,
            **self.launch,
        )
        def grouped_gemm(x, w, ends, y) -> None:
            """Compute Y; each CTA computes tile after tile, of any group."""
            shared, steps = Shared(self), -(-x.shape[1] // self.block_k)
            divide(
                self,
                lambda: shared.begin(x, w, y),
                produce=lambda: self.produce(x, w, ends, shared),
                consume=lambda warpgroup: self.consume(w, ends, y, shared, warpgroup, steps),
            )
            ptx.ret()

        return grouped_gemm


def copy_rows(y, staged: SharedAlloc, buffer: Reg, at: tuple[Reg, Reg, Reg], lane: Reg) -> None:
    """Copy 64 columns of a warp's 16 rows from shared memory to Y, four rows at a time; skip rows of other groups."""
    (row, end, column), N, (py,) = at, y.shape[1], ptx.global_ptrs(y)
    down, x = lane >> 3, (lane & 7) * CHUNK
    own, left, chunk = row + down, column + x, reg.array(b32, 4)
    to = py + own * (2 * N) + left * 2
    for first in range(0, 16, 4):
        ptx.inst.ld.shared.v4.b32(chunk, ptx.addr(staged.address(buffer, down + first, x)))
        ptx.inst.st.global_.v4.b32(ptx.addr(to, first * 2 * N), chunk, pred=(left < N) & (own + first < end))


@functools.cache
def build_grouped_gemm(*, overlaps: bool = False, **sizes: int):
    """Return the kernel with other tile sizes: `build_grouped_gemm(block_n=64, stages=6)`."""
    return GroupedGemm(overlaps=overlaps, **sizes).kernel()


grouped_gemm = build_grouped_gemm()


def reference(x: np.ndarray, w: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return Y, computed by NumPy in float64."""
    parts = np.split(x.astype(np.float64), ends[:-1])
    return np.concatenate([part @ w[g].astype(np.float64) for g, part in enumerate(parts)])


def main() -> None:
    """Run the kernel on the simulator and print its largest error against a float64 reference."""
    rng = np.random.default_rng(0)
    ends = np.cumsum([130, 0, 7, 200], dtype=np.int32)
    x, w = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((337, 136), (4, 136, 264)))
    expected = reference(x, w, ends)
    error = np.abs(grouped_gemm(x, w, ends) - expected).max() / np.abs(expected).max()
    print(f"grouped_gemm 130 + 0 + 7 + 200 rows, 136 x 264: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
