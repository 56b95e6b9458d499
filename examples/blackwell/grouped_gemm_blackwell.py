"""Grouped GEMM, as in a mixture of experts: the rows of X belong to groups, and each group has its own W.

`Y[r] = X[r] @ W[g]` for every row r of group g. X is T x K with the rows of a group contiguous, W is G x K x N, and
`ends` has the end of each group: group g has the rows from `ends[g - 1]` (0 for the first) up to `ends[g]`, exclusive,
and the last group ends at T. Groups may be of any size, also empty, and their sizes are known on the GPU only: every
warp reads `ends` in order, counts the tiles of each group, and so finds the tiles of its CTA pair. Nothing is padded
or planned beforehand.

Pairs, rings, accumulators and the order of a group's tiles are those of `gemm_highperf_blackwell.py`. Stores differ if
the last tile of a group extends into the rows of the next group, which another pair writes: TMA stores 32 rows of one
group, and if there are fewer, each thread stores its own row if the group has it.

A tile has 256 rows, so this kernel is for groups of hundreds of rows. N and K are multiples of 8, so that rows are
whole multiples of 16 bytes, which TMA requires.

    python examples/blackwell/grouped_gemm_blackwell.py
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import b32, bf16, s32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.blackwell.accumulators import VECTOR
from examples.blackwell.gemm_highperf_blackwell import BM, COLUMNS, HALF, PAIR, ROWS, Block, Corner, Gemm
from examples.tile_order import place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx import TensorSpec
    from pyptx.reg import Reg, RegArray


class Rows(NamedTuple):
    """A tile of a group: the first row and column of this CTA, the end of the group's rows, and the group's index."""

    row: Reg
    column: Reg
    end: Reg
    group: Reg


@dataclass(frozen=True, slots=True)
class GroupedGemm(Gemm):
    """Tiling of the groups' GEMMs, on as many CTAs as fit on the device, or on at most `blocks` CTAs."""

    b_major: str = field(default="MN", init=False)

    def grid(self, T: int, G: int, N: int) -> int:
        """Return the maximum number of CTAs: a pair for each possible tile."""
        blocks = PAIR * (T // BM + G) * -(-N // self.block_n)
        return blocks if self.blocks is None else min(blocks, self.blocks // PAIR * PAIR)

    def kernel(self):
        """Return the kernel of this tiling."""
        x, w = self.a_tile.tma_tile("T", "K"), self.b_tile.tma_tile("G", "K", "N")
        y = self.c_tile.tma_tile("T", "N")

        @kernel(in_specs=(x, w, Tile("G", s32)), out_specs=(y,), **self.launch)
        def grouped_gemm(x, w, ends, y) -> None:
            """Compute Y: each CTA pair, tile after tile of any group."""
            GroupedBlock(self, x, w, y, ends).run()

        return grouped_gemm


class GroupedBlock(Block):
    """One CTA of a pair that iterates over the tiles of all groups."""

    def __init__(self, plan: GroupedGemm, x: TensorSpec, w: TensorSpec, y: TensorSpec, ends: TensorSpec) -> None:
        """Extend the base class: store the spec of `ends`, the ends of the groups."""
        super().__init__(plan, x, w, y)
        self.ends = ends

    def tiles(self) -> Iterator[Rows]:
        """Yield this CTA's part (`Rows`) of every tile of the pair."""
        (G,), (pe,) = self.ends.shape, ptx.global_ptrs(self.ends)
        columns = -(-self.c.shape[1] // self.plan.block_n)
        pairs = reg.from_(ptx.special.nclusterid.x(), u32)
        tile, group = reg.from_(ptx.special.clusterid.x(), u32), reg.scalar(u32, init=0)
        begin, end = reg.scalar(u32, init=0), reg.scalar(u32)
        ptx.ld(u32, end, ptx.addr(pe))
        with ptx.loop():
            rows = (end - begin + (BM - 1)) // BM
            tiles = rows * columns
            with ptx.if_(tile < tiles):
                row, column = place(tile, rows, columns, self.plan.band)
                yield Rows(begin + row * BM + self.rank * HALF, column * self.plan.block_n, end, group)
                tile += pairs
            with ptx.else_():
                tile -= tiles
                group += 1
                ptx.break_(pred=group == G)
                ptx.mov(u32, begin, end)
                ptx.ld(u32, end, ptx.addr(pe + group * 4))

    def corner(self, tile: Rows) -> Rows:
        """Return `tile` unchanged: a `Rows` already has this CTA's first row and column."""
        return tile

    def fetch(self, stage: Reg, corner: Rows, k: Reg, full: Reg) -> None:
        """Copy this CTA's rows of X, and its columns of the group's W."""
        at = k, corner.row
        ptx.cp.async_.bulk.tensor_2d(dst=self.shared_a[stage], src=self.a, coord=at, mbar=full, cta_group=2)
        W, column = self.plan.b_tile, corner.column + self.rank * self.plan.b_tile.mn
        for panel in range(W.boxes):
            at = column + panel * W.box_columns, k, corner.group
            shared = self.shared_b[stage, panel] if W.boxes > 1 else self.shared_b[stage]
            ptx.cp.async_.bulk.tensor_3d(dst=shared, src=self.b, coord=at, mbar=full, cta_group=2)

    def write(self, pairs: RegArray, buffer: int, at: Rows) -> None:
        """Store 64 columns of a warp's 32 rows of Y: by TMA if all rows belong to the group, else row by row."""
        with ptx.if_(at.row + ROWS <= at.end):
            super().write(pairs, buffer, Corner(at.row, at.column))
        with ptx.else_():
            (py,), N = ptx.global_ptrs(self.c), self.c.shape[1]
            row = at.row + ptx.special.laneid()
            start = py + (row * N + at.column) * bf16.bytes
            for i in range(0, COLUMNS, VECTOR):
                inside = (row < at.end) & (at.column + i < N)
                ptx.st(b32, ptx.addr(start, i * bf16.bytes), pairs[i // 2 : (i + VECTOR) // 2], pred=inside)


@functools.cache
def build_grouped_gemm(**sizes: int):
    """Return the kernel with another tiling: `build_grouped_gemm(block_n=128, stages=8)`."""
    return GroupedGemm(**sizes).kernel()


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
    print(f"grouped_gemm_blackwell 130 + 0 + 7 + 200 rows, 136 x 264: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
