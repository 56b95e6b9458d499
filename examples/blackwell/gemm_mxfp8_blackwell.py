"""GEMM of mxfp8: `C = (A * scale_a) @ (B * scale_b).T`, with a scale factor for every 32 elements along K.

The elements are e4m3, the scale factors powers of two (ue8m0); `block_scaled.py` describes how they reach the tensor
cores. One MMA covers 32 of K, so it reads one scale factor of each row. Those of the four MMAs of a stage are the four
bytes of a word of tensor memory, and the instruction descriptor of each MMA selects its byte.

A is M x K, B is N x K, C is M x N in bf16, and the scale factors have the layout of `scales.py`; `quantize_mxfp8.py`
computes elements and scale factors. K is a multiple of 32 and N one of 8.

    python examples/blackwell/gemm_mxfp8_blackwell.py
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import ml_dtypes
import numpy as np

from pyptx import kernel
from pyptx.types import PtxType, e4m3, ue8m0

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.blackwell.block_scaled import ScaledBlock, ScaledGemm
from examples.blackwell.quantize_mxfp8 import BLOCK, dequantized, quantize


@dataclass(frozen=True, slots=True)
class Mxfp8Gemm(ScaledGemm):
    """Tiling of the GEMM: 128 elements of K per stage."""

    dtype: ClassVar[PtxType] = e4m3
    kind: ClassVar[str] = "mxf8f6f4"
    element: ClassVar[PtxType] = e4m3
    per_byte: ClassVar[int] = 1
    per_scale: ClassVar[int] = BLOCK
    scale_type: ClassVar[PtxType] = ue8m0

    def kernel(self):
        """Return the kernel of this tiling."""
        given = *self.factors, *self.scale_tiles

        @kernel(in_specs=given, out_specs=(self.c_tile.tma_tile("M", "N"),), **self.launch)
        def gemm(a, b, scale_a, scale_b, c) -> None:
            """Compute C: each CTA pair, tile after tile."""
            ScaledBlock(self, a, b, c, (scale_a, scale_b)).run()

        return gemm


@functools.cache
def build_gemm(**sizes: int):
    """Return the kernel with another tiling: `build_gemm(block_n=128, stages=6)`."""
    return Mxfp8Gemm(**sizes).kernel()


gemm = build_gemm()


def reference(a: np.ndarray, b: np.ndarray, scale_a: np.ndarray, scale_b: np.ndarray) -> np.ndarray:
    """Return C, computed by NumPy in float64 from the dequantized matrices."""
    return dequantized(a, scale_a) @ dequantized(b, scale_b).T


def main() -> None:
    """Quantize two matrices and multiply them on the simulator; print the largest error against float64."""
    rng = np.random.default_rng(0)
    given = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((300, 416), (264, 416)))
    (a, scale_a), (b, scale_b) = map(quantize, given)
    expected = reference(a, b, scale_a, scale_b)
    error = np.abs(gemm(a, b, scale_a, scale_b) - expected).max() / np.abs(expected).max()
    print(f"gemm_mxfp8_blackwell 300x264x416: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
