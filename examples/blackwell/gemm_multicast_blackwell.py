"""Matrix product, beside the ladder: clusters of two pairs, which share what they read of B.

Two pairs of `gemm_highperf_blackwell.py`, one tile below the other, need the same 256 columns of B, of which the first
blocks of both hold the left half, and the second ones the right half. Here each block fetches half of its half, and TMA
writes it to the blocks in the same place of both pairs: three quarters of the traffic with L2. What it costs: stages
are free when both pairs have read them, and a cluster of four blocks fits into fewer places than one of two.

    ranks 0, 1: a pair, rows   0 to 255      0 and 2 share the columns   0 to 127 of B: 64 from each
    ranks 2, 3: a pair, rows 256 to 511      1 and 3 share the columns 128 to 255

All else is that kernel's.

    python examples/blackwell/gemm_multicast_blackwell.py
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import ml_dtypes
import numpy as np

from pyptx import ptx, reg
from pyptx.smem import SharedTile
from pyptx.types import u16, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where this file is run by itself

from examples.blackwell.gemm_highperf_blackwell import BOTH, Block, Corner, Gemm

if TYPE_CHECKING:
    from pyptx import TensorSpec, Tile
    from pyptx.reg import Reg
    from pyptx.smem import MbarrierRef

PAIRS, ALIKE = 2, 0b0101  # pairs of a cluster, and the mask of their first blocks


@dataclass(frozen=True, slots=True)
class SharingGemm(Gemm):
    """A product in clusters of two pairs, of 256 columns: a quarter of them is a panel of B."""

    pairs: ClassVar[int] = PAIRS

    def __post_init__(self) -> None:
        """Refuse also tiles of whose columns a quarter is no panel."""
        Gemm.__post_init__(self)
        if self.block_n % 256:
            raise ValueError(f"block_n={self.block_n}: 256")

    @property
    def b_part(self) -> SharedTile:
        """What a block fetches of B: half of what it holds."""
        B = self.b_tile
        shape = (B.mn // PAIRS, B.k) if B.major == "K" else (B.k, B.mn // PAIRS)
        return SharedTile(B.dtype, shape, major=B.major, stages=B.stages)

    @property
    def factors(self) -> tuple[Tile, ...]:
        """A, and B as it lies, in boxes of what is fetched."""
        b_dims = ("N", "K") if self.b_major == "K" else ("K", "N")
        return self.a_tile.tma_tile("M", "K"), self.b_part.tma_tile(*b_dims)

    def block(self, a: TensorSpec, b: TensorSpec, c: TensorSpec) -> Block:
        """Allocate what a block has in shared memory."""
        return SharingBlock(self, a, b, c)


class SharingBlock(Block):
    """One block of a cluster of two pairs."""

    plan: SharingGemm

    def __init__(self, plan: SharingGemm, a: TensorSpec, b: TensorSpec, c: TensorSpec) -> None:
        """Find out also which pair this is, and what this block fetches of B, for whom, and to where."""
        Block.__init__(self, plan, a, b, c)
        B, part = plan.b_tile, plan.b_part
        self.half, pair = self.rank & 1, self.rank >> 1
        self.first = self.rank - self.half  # the block with which the pair begins
        self.both = mask(BOTH, self.first)
        self.alike = mask(ALIKE, self.half)
        self.share = self.half * B.mn + pair * part.mn
        self.target = reg.from_(self.shared_b, u32) + pair * part.stage_bytes

    def of_pair(self, barrier: MbarrierRef) -> Reg:
        """Return the address of a barrier in the pair's first block, which multiplies: one instruction."""
        return ptx.cluster.map_shared_u32(barrier, self.first)

    def fetch(self, stage: Reg, corner: Corner, k: Reg, full: Reg) -> None:
        """Copy this block's half of A, and its part of B to the blocks of both pairs that need it."""
        B, part, at = self.plan.b_tile, self.plan.b_part, (k, corner.row)
        ptx.cp.async_.bulk.tensor_2d(dst=self.shared_a[stage], src=self.a, coord=at, mbar=full, cta_group=2)
        column = corner.column + self.share
        ptx.cp.async_.bulk.tensor_2d(
            dst=ptx.addr(self.target + stage * B.stage_bytes),
            src=self.b,
            coord=(k, column) if part.major == "K" else (column, k),
            mbar=full,  # and the one in the same place of the other pair
            cta_group=2,
            multicast_mask=self.alike,
        )


def mask(blocks: int, by: Reg) -> Reg:
    """Return the mask of some blocks, moved on by a number of them: three instructions."""
    return ptx.cvt(u16, u32, reg.scalar(u16), reg.from_(blocks, u32) << by)


@functools.cache
def build_gemm(*, b_major: str = "MN", **sizes: int):
    """Return the kernel that cuts the product up in another way: `build_gemm(stages=5)`."""
    return SharingGemm(b_major=b_major, **sizes).kernel()


gemm = build_gemm()


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Compute the same in float64."""
    return a.astype(np.float64) @ b.astype(np.float64)


def main() -> None:
    """Run on the simulator and print the largest error against float64."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((600, 328), (328, 520)))
    expected = reference(a, b)
    error = np.abs(gemm(a, b) - expected).max() / np.abs(expected).max()
    print(f"gemm_multicast_blackwell 600x520x328: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
