"""GEMM of fp8: `C = scale_a · scale_b · (A · Bᵀ)` with e4m3 operands and accumulation in two levels.

Tensor cores of Hopper accumulate fp8 with few bits below the largest term, fewer than f32 has, so a long reduction
loses small terms. Here they only accumulate over 128 of K, four wgmma over 32 each. Ordinary instructions then add this
partial sum to the total, in f32, while the tensor cores work for the other warpgroup.

The rest is that of `gemm_highperf_hopper.py`: persistent CTAs, a producer, clusters that share B, tiles in bands,
stores by TMA. The two accumulators take 2 x 64 registers for the 64 x 128 of each warpgroup.

A is M x K, B is N x K (wgmma cannot transpose bytes, so both are K-major), C is M x N in bf16; the scales are arrays of
one f32. K must be a multiple of 16 and N one of 8, so that rows are multiples of 16 bytes.

    python examples/hopper/gemm_fp8_hopper.py
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import PtxType, e4m3, f32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.hopper.gemm_highperf_hopper import Gemm, Reader, Shared
from examples.hopper.gemm_parts import ROWS, divide, multiply

if TYPE_CHECKING:
    from pyptx.reg import Reg


@dataclass(frozen=True, slots=True)
class Fp8Gemm(Gemm):
    """Tile sizes of the GEMM: 128 bytes of K per stage, over which the tensor cores accumulate."""

    dtype: ClassVar[PtxType] = e4m3
    widest: ClassVar[int] = 192  # maximum columns of C per tile: two accumulators of 96 registers each
    block_n: int = 128
    stages: int = 6
    b_major: str = field(default="K", init=False)

    def kernel(self):
        """Return the GEMM kernel with these tile sizes."""
        C, scale = self.c_tile.tma_tile("M", "N"), Tile(1, f32)
        factors = (*self.factors, scale, scale)

        @kernel(in_specs=factors, out_specs=(C,), grid=self.grid, cluster=self.cluster, **self.launch)
        def gemm(a, b, scale_a, scale_b, c) -> None:
            """Multiply; each CTA computes tile after tile of C."""
            shared, steps = Shared(self), -(-a.shape[1] // self.block_k)
            divide(
                self,
                lambda: shared.begin(a, b, c),
                produce=lambda: self.produce(a, b, c, shared),
                consume=lambda group: self.consume_scaled(c, (scale_a, scale_b), shared, group, steps),
            )
            ptx.cluster.sync()  # no CTA exits while other CTAs still write to its shared memory
            ptx.ret()

        return gemm

    def consume_scaled(self, c, scales, shared: Shared, group: Reg, steps: int) -> None:
        """Add the partial sum of each stage to the tile's f32 total; scale and store the total, tile after tile."""
        part, total = (reg.wgmma_frag(m=ROWS, n=self.block_n, dtype=f32) for _ in range(2))
        tiles, reader = (self.a_tile, self.b_tile()), Reader(self, shared, group)
        scale = scaling(*scales)
        for row, column in self.tiles(*c.shape):
            for value in total:
                ptx.mov(f32, value, 0.0)
            for _ in ptx.range_(0, steps):
                a, b = reader.wait()
                multiply(part, a, b, tiles, adds=False)
                ptx.wgmma.wait_group(0)
                reader.release()
                for value, addend in zip(total, part, strict=True):
                    ptx.add(f32, value, value, addend)
            for value in total:
                ptx.mul(f32, value, value, scale)
            self.store(total, c, shared.c, row + group * ROWS, column)
        ptx.cp.async_.bulk.wait_group(0)


def scaling(scale_a, scale_b) -> Reg:
    """Load both scales and return their product: seven instructions, four of them for the addresses."""
    pa, pb = ptx.global_ptrs(scale_a, scale_b)
    a, b = reg.scalar(f32), reg.scalar(f32)
    ptx.ld(f32, a, ptx.addr(pa))
    ptx.ld(f32, b, ptx.addr(pb))
    return a * b


@functools.cache
def build_gemm(*, overlaps: bool = False, **sizes: int):
    """Return the kernel with other tile sizes: `build_gemm(block_n=128, cluster=1)`."""
    return Fp8Gemm(overlaps=overlaps, **sizes).kernel()


gemm = build_gemm()

CUTS = {128: (6, 1.0), 192: (5, 0.9)}
"""Number of stages for each tile width, and the cost of a column relative to a column of the narrow tiles.

On an H200, M = N = K = 8192 takes 887 us with the wide tiles and 1008 us with the narrow ones, in 21 and 32 waves.
"""
MULTIPROCESSORS = 132  # SMs of an H100 or H200


def width_for(M: int, N: int) -> int:
    """Return the tile width with the lowest estimated time, which includes SMs without a tile in the last wave."""

    def cost(block_n: int) -> float:
        cut = Fp8Gemm(block_n=block_n)
        rows, columns = cut.extent(M, N)
        return -(-rows * columns // (MULTIPROCESSORS // cut.cluster)) * block_n * CUTS[block_n][1]

    return min(CUTS, key=cost)


def scaled_product(a, b, scale_a, scale_b):
    """Multiply with the kernel whose tile width suits these shapes."""
    block_n = width_for(a.shape[0], b.shape[0])
    return build_gemm(block_n=block_n, stages=CUTS[block_n][0])(a, b, scale_a, scale_b)


def reference(a: np.ndarray, b: np.ndarray, scale_a: np.ndarray, scale_b: np.ndarray) -> np.ndarray:
    """Return the scaled product C, computed by NumPy in float64."""
    scale = scale_a.astype(np.float64) * scale_b.astype(np.float64)
    return a.astype(np.float64) @ b.astype(np.float64).T * scale


def main() -> None:
    """Run the kernel on the simulator and print its largest error against a float64 reference."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((300, 656), (264, 656)))
    scales = np.array([[0.5], [3.0]], np.float32)
    expected = reference(a, b, *scales)
    error = np.abs(gemm(a, b, *scales) - expected).max() / np.abs(expected).max()
    print(f"gemm_fp8_hopper 300x264x656: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
