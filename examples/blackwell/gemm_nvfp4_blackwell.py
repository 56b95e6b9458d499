"""GEMM of nvfp4: `C = whole_a * whole_b * (A * scale_a) @ (B * scale_b).T`, in blocks of 16 along K.

The elements are e2m1, two to a byte, the scale factors of blocks e4m3 without a sign, and each matrix has one of f32.
`block_scaled.py` describes how the scale factors of blocks reach the tensor cores. One MMA covers 64 of K, so it reads
four scale factors of each row, a word of tensor memory. The scale factors of the matrices are the same for all elements
of C: the warps that store C multiply by them.

Shared memory and TMA use bytes: a stage has 128 bytes of each row, 256 elements.

A is M x K / 2, B is N x K / 2, in bytes, C is M x N in bf16, and the scale factors have the layout of `scales.py`;
`quantize_nvfp4.py` computes elements and scale factors. K is a multiple of 32 and N one of 8.

    python examples/blackwell/gemm_nvfp4_blackwell.py
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import PtxType, b8, e2m1, f32, ue4m3

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.blackwell.block_scaled import ScaledBlock, ScaledGemm
from examples.blackwell.quantize_nvfp4 import BLOCK, dequantized, quantize

if TYPE_CHECKING:
    from examples.blackwell.gemm_highperf_blackwell import Corner

    from pyptx import TensorSpec
    from pyptx.reg import RegArray


@dataclass(frozen=True, slots=True)
class Nvfp4Gemm(ScaledGemm):
    """Tiling of the GEMM: 256 elements of K per stage."""

    dtype: ClassVar[PtxType] = b8
    kind: ClassVar[str] = "mxf4nvf4"
    element: ClassVar[PtxType] = e2m1
    per_byte: ClassVar[int] = 2
    per_scale: ClassVar[int] = BLOCK
    scale_type: ClassVar[PtxType] = ue4m3

    def kernel(self):
        """Return the kernel of this tiling; H is K / 2."""
        factors = self.a_tile.tma_tile("M", "H"), self.b_tile.tma_tile("N", "H")
        given = *factors, *self.scale_tiles, Tile(1, f32), Tile(1, f32)

        @kernel(in_specs=given, out_specs=(self.c_tile.tma_tile("M", "N"),), **self.launch)
        def gemm(a, b, scale_a, scale_b, whole_a, whole_b, c) -> None:
            """Compute C: each CTA pair, tile after tile."""
            Nvfp4Block(self, a, b, c, (scale_a, scale_b), (whole_a, whole_b)).run()

        return gemm


class Nvfp4Block(ScaledBlock):
    """One CTA of a pair that multiplies its accumulators by the scale factors of both matrices."""

    def __init__(
        self,
        plan: Nvfp4Gemm,
        a: TensorSpec,
        b: TensorSpec,
        c: TensorSpec,
        given: tuple[TensorSpec, TensorSpec],
        whole: tuple[TensorSpec, TensorSpec],
    ) -> None:
        """Extend the base class: store the specs of the matrices' scale factors."""
        super().__init__(plan, a, b, c, given)
        self.whole = whole

    def scale(self, acc: RegArray, at: Corner) -> None:
        """Multiply a thread's accumulators by the scale factors of both matrices."""
        del at
        factors = (ptx.ld(f32, reg.scalar(f32), ptx.addr(each)) for each in ptx.global_ptrs(*self.whole))
        common = next(factors) * next(factors)
        for value in acc:
            ptx.mul(f32, value, value, common)


@functools.cache
def build_gemm(**sizes: int):
    """Return the kernel with another tiling: `build_gemm(block_n=128)`."""
    return Nvfp4Gemm(**sizes).kernel()


gemm = build_gemm()


def reference(a, b, scale_a, scale_b, whole_a, whole_b) -> np.ndarray:
    """Return C, computed by NumPy in float64 from the dequantized matrices."""
    return dequantized(a, scale_a, whole_a) @ dequantized(b, scale_b, whole_b).T


def main() -> None:
    """Quantize two matrices and multiply them on the simulator; print the largest error against float64."""
    rng = np.random.default_rng(0)
    given = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((300, 416), (264, 416)))
    quantized = [each for pair in zip(*map(quantize, given), strict=True) for each in pair]
    expected = reference(*quantized)
    error = np.abs(gemm(*quantized) - expected).max() / np.abs(expected).max()
    print(f"gemm_nvfp4_blackwell 300x264x416: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
