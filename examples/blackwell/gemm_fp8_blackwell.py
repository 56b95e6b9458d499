"""GEMM of fp8: `C[i, j] = scale_a[i] * scale_b[j] * (A @ B.T)[i, j]`, with e4m3 operands and bf16 results.

Tensor cores of Blackwell accumulate in f32, so the accumulator stays in tensor memory over all of K (Hopper needs a
second accumulator: `gemm_fp8_hopper.py`). A scale belongs to a row of A, or to a row of B, which is a column of C. It
is constant along K, so the warps that store C multiply each accumulator by both. An array of a single scale is for the
whole matrix.

The rest of the kernel is that of `gemm_highperf_blackwell.py`: persistent CTA pairs, two accumulators, stores by TMA.

A is M x K, B is N x K, as quantizers write them: K is contiguous in both. C is M x N. `scale_a` has M or 1 elements of
f32, `scale_b` N or 1. K is a multiple of 16 and N one of 8, so that rows are multiples of 16 bytes.

    python examples/blackwell/gemm_fp8_blackwell.py
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

from examples.blackwell.gemm_highperf_blackwell import Block, Corner, Gemm

if TYPE_CHECKING:
    from pyptx import TensorSpec
    from pyptx.reg import Reg, RegArray

VECTOR = 4  # f32 scale factors that a thread loads at once (16 bytes)


@dataclass(frozen=True, slots=True)
class Fp8Gemm(Gemm):
    """Tiling of the GEMM: 128 bytes of K per stage."""

    dtype: ClassVar[PtxType] = e4m3
    b_major: str = field(default="K", init=False)

    def kernel(self):
        """Return the kernel of this tiling."""
        scales = Tile("SA", f32), Tile("SB", f32, align=4 * VECTOR)

        @kernel(in_specs=(*self.factors, *scales), out_specs=(self.c_tile.tma_tile("M", "N"),), **self.launch)
        def gemm(a, b, scale_a, scale_b, c) -> None:
            """Compute C: each CTA pair, tile after tile."""
            Fp8Block(self, a, b, c, (scale_a, scale_b)).run()

        return gemm


class Fp8Block(Block):
    """One CTA of a pair that multiplies its accumulators by the scales of A and B."""

    def __init__(
        self, plan: Fp8Gemm, a: TensorSpec, b: TensorSpec, c: TensorSpec, scales: tuple[TensorSpec, TensorSpec]
    ) -> None:
        """Extend the base class: store the scales' specs; ValueError unless an array has 1 scale or one per row."""
        super().__init__(plan, a, b, c)
        M, N = c.shape
        for name, scale, rows in zip("ab", scales, (M, N), strict=True):
            if scale.shape[0] not in {1, rows}:
                raise ValueError(f"scale_{name} has {scale.shape[0]} elements: 1, or {rows}")
        self.scales = scales

    def scale(self, acc: RegArray, at: Corner) -> None:
        """Multiply a thread's accumulators by the scale of their row, and each by that of its column."""
        of_rows, of_columns = self.scales
        by_row = load_scales(of_rows, at.row + ptx.special.laneid(), 1)[0]
        for first in range(0, len(acc), VECTOR):
            by_column = load_scales(of_columns, at.column + first, VECTOR)
            for value, factor in zip(acc[first : first + VECTOR], by_column, strict=True):
                ptx.mul(f32, value, value, by_row * factor)


def load_scales(scales: TensorSpec, first: Reg, count: int) -> list[Reg]:
    """Return `count` scales from index `first`, 1.0 past the end; all are equal if the array has a single scale."""
    (start,) = ptx.global_ptrs(scales)
    if scales.shape[0] == 1:
        return [ptx.ld(f32, reg.scalar(f32), ptx.addr(start))] * count
    values = [reg.scalar(f32, init=1.0) for _ in range(count)]
    where = ptx.addr(start + first * 4)
    ptx.ld(f32, values if count > 1 else values[0], where, nc=True, pred=first < scales.shape[0])
    return values


@functools.cache
def build_gemm(**sizes: int):
    """Return the kernel with another tiling: `build_gemm(block_n=128, stages=8)`."""
    return Fp8Gemm(**sizes).kernel()


gemm = build_gemm()


def reference(a: np.ndarray, b: np.ndarray, scale_a: np.ndarray, scale_b: np.ndarray) -> np.ndarray:
    """Return C, computed by NumPy in float64."""
    product = a.astype(np.float64) @ b.astype(np.float64).T
    return product * scale_a.astype(np.float64)[:, None] * scale_b.astype(np.float64)


def main() -> None:
    """Run the kernel on the simulator and print its largest error against a float64 reference."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((300, 656), (264, 656)))
    scales = rng.uniform(0.5, 2, 300).astype(np.float32), np.array([3], np.float32)
    expected = reference(a, b, *scales)
    error = np.abs(gemm(a, b, *scales) - expected).max() / np.abs(expected).max()
    print(f"gemm_fp8_blackwell 300x264x656: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
