"""GEMM, a variant of the fourth step: clusters of two CTA pairs, which share the columns of B that they load.

Two pairs of `gemm_highperf_blackwell.py`, one tile below the other, need the same 256 columns of B. The first CTAs of
both pairs hold the left half, and the second CTAs the right half. Here each CTA loads half of its half, and TMA
multicasts it to the CTAs with the same index in both pairs: three quarters of the L2 traffic. The cost: a stage is free
when both pairs have read it, and a cluster of four CTAs has fewer possible placements than one of two.

    ranks 0, 1: a pair, rows   0 to 255      0 and 2 share the columns   0 to 127 of B: 64 from each
    ranks 2, 3: a pair, rows 256 to 511      1 and 3 share the columns 128 to 255

All else is as in `gemm_highperf_blackwell.py`.

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

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.blackwell.gemm_highperf_blackwell import BOTH, Block, Corner, Gemm

if TYPE_CHECKING:
    from pyptx import TensorSpec, Tile
    from pyptx.reg import Reg
    from pyptx.smem import MbarrierRef

PAIRS, ALIKE = 2, 0b0101  # CTA pairs per cluster; CTA mask of ranks 0 and 2, the first CTA of each pair


@dataclass(frozen=True, slots=True)
class SharingGemm(Gemm):
    """Tiling of a GEMM in clusters of two pairs, with 256 columns: a quarter of them is one TMA box of B."""

    pairs: ClassVar[int] = PAIRS

    def __post_init__(self) -> None:
        """Extend the base class: raise ValueError for tiles in which a quarter of the columns is not one TMA box."""
        Gemm.__post_init__(self)
        if self.block_n % 256:
            raise ValueError(f"block_n={self.block_n}: 256")

    @property
    def b_part(self) -> SharedTile:
        """Layout of the part of B that a CTA loads: half of the columns that it multiplies."""
        B = self.b_tile
        shape = (B.mn // PAIRS, B.k) if B.major == "K" else (B.k, B.mn // PAIRS)
        return SharedTile(B.dtype, shape, major=B.major, stages=B.stages)

    @property
    def factors(self) -> tuple[Tile, ...]:
        """Input specs: A, and B in its memory order, with TMA boxes of the parts that a CTA loads."""
        b_dims = ("N", "K") if self.b_major == "K" else ("K", "N")
        return self.a_tile.tma_tile("M", "K"), self.b_part.tma_tile(*b_dims)

    def block(self, a: TensorSpec, b: TensorSpec, c: TensorSpec) -> Block:
        """Return the `Block` that emits the kernel, with its shared memory allocated."""
        return SharingBlock(self, a, b, c)


class SharingBlock(Block):
    """One CTA of a cluster of two pairs."""

    plan: SharingGemm

    def __init__(self, plan: SharingGemm, a: TensorSpec, b: TensorSpec, c: TensorSpec) -> None:
        """Extend the base class: compute the pair, the part of B to load, its address, and the receiving CTAs."""
        Block.__init__(self, plan, a, b, c)
        B, part = plan.b_tile, plan.b_part
        self.half, pair = self.rank & 1, self.rank >> 1
        self.first = self.rank - self.half  # rank, in the cluster, of the first CTA of this CTA's pair
        self.both = mask(BOTH, self.first)
        self.alike = mask(ALIKE, self.half)
        self.share = self.half * B.mn + pair * part.mn
        self.target = reg.from_(self.shared_b, u32) + pair * part.stage_bytes

    def of_pair(self, barrier: MbarrierRef) -> Reg:
        """Return the address of an mbarrier in the pair's first CTA, which issues the MMAs: one instruction."""
        return ptx.cluster.map_shared_u32(barrier, self.first)

    def fetch(self, stage: Reg, corner: Corner, k: Reg, full: Reg) -> None:
        """Copy this CTA's half of A to itself, and its part of B to the CTAs with its index in both pairs."""
        B, part, at = self.plan.b_tile, self.plan.b_part, (k, corner.row)
        ptx.cp.async_.bulk.tensor_2d(dst=self.shared_a[stage], src=self.a, coord=at, mbar=full, cta_group=2)
        column = corner.column + self.share
        ptx.cp.async_.bulk.tensor_2d(
            dst=ptx.addr(self.target + stage * B.stage_bytes),
            src=self.b,
            coord=(k, column) if part.major == "K" else (column, k),
            mbar=full,  # the multicast copy also signals the mbarrier at this offset in the cluster's other CTA pair
            cta_group=2,
            multicast_mask=self.alike,
        )


def mask(blocks: int, by: Reg) -> Reg:
    """Return the 16-bit CTA mask `blocks` << `by`: three instructions."""
    return ptx.cvt(u16, u32, reg.scalar(u16), reg.from_(blocks, u32) << by)


@functools.cache
def build_gemm(*, b_major: str = "MN", **sizes: int):
    """Return the kernel with another tiling: `build_gemm(stages=5)`."""
    return SharingGemm(b_major=b_major, **sizes).kernel()


gemm = build_gemm()


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return A · B, computed by NumPy in float64."""
    return a.astype(np.float64) @ b.astype(np.float64)


def main() -> None:
    """Run the kernel on the simulator and print its largest error against a float64 reference."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((600, 328), (328, 520)))
    expected = reference(a, b)
    error = np.abs(gemm(a, b) - expected).max() / np.abs(expected).max()
    print(f"gemm_multicast_blackwell 600x520x328: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
