"""Quantize to mxfp8: e4m3 elements, and a power of two as the scale factor of every 32 in a row (ue8m0).

The scale factor is the smallest power of two with which the block fits: `cvt.rp` rounds it up, so no element exceeds
448, the largest e4m3. Multiplying by a power of two is exact, so every element is rounded once. Blocks of zeros have
the smallest scale factor, 2^-127.

X is M x K, in bf16 or f32; K is a multiple of 32. Two threads share a block.

    python examples/blackwell/quantize_mxfp8.py
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from pyptx import Kernel, Tile, kernel, ptx, reg
from pyptx.types import PtxType, b16, b32, bf16, e4m3, e4m3x2, f32, u8, u32, ue8m0x2

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.blackwell import scales
from examples.blackwell.quantize import ACCESS, GROUP, THREADS, Group, magnitude, nothing, threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx.reg import Reg

BLOCK = 32  # elements of a row that share a scale factor
LARGEST = 448.0  # largest finite e4m3 number
EXPONENT, BIAS = 23, 127  # f32 exponent: position of its lowest bit, and its bias, which ue8m0 has too


def scale_of(size: Reg) -> tuple[Reg, Reg]:
    """Return a block's scale factor as a ue8m0 code, and its reciprocal; `size` is the block's largest magnitude.

    A ue8m0 is an exponent, so 2 * BIAS minus it is the exponent of its reciprocal.
    """
    spoilt, pair, factor = nothing(size), reg.scalar(b16), reg.scalar(f32)
    wanted = size * (1 / LARGEST) + spoilt
    ptx.cvt(ue8m0x2, f32, pair, wanted, wanted, rounding="rp", satfinite=True)
    exponent = ptx.mov(b32, reg.scalar(u32), [pair, pair]) & 0xFF
    ptx.mov(b32, factor, (2 * BIAS - exponent) << EXPONENT)
    return exponent, factor + spoilt


def rounded(values: Sequence[Reg], factor: Reg) -> list[Reg]:
    """Return `values` times `factor`, rounded to e4m3, four per word."""
    words = []
    for first in range(0, len(values), 4):
        low, high = (reg.scalar(b16) for _ in range(2))
        for pair, at in ((low, first), (high, first + 2)):
            ptx.cvt(e4m3x2, f32, pair, values[at + 1] * factor, values[at] * factor, rounding="rn", satfinite=True)
        words.append(ptx.mov(b32, reg.scalar(b32), [low, high]))
    return words


@functools.cache
def mxfp8_of(dtype: PtxType) -> Kernel[tuple[Tile, Tile]]:
    """Return the kernel that quantizes matrices of bf16 or f32; R and C are the `scales.extent` of its output."""

    @kernel(
        in_specs=(Tile("M", "K", dtype, align=ACCESS),),
        out_specs=(Tile("M", "K", e4m3, align=GROUP), scales.tile("R", "C")),
        grid=lambda M, K: threads(M, K, BLOCK),
        block=THREADS,
        arch="sm_100a",
    )
    def mxfp8(x, data, scale) -> None:
        mine = Group.mine(x.shape, BLOCK)
        pdata, pscale = ptx.global_ptrs(data, scale)
        values = mine.load(dtype, x)
        size, other = magnitude(values), reg.scalar(f32)
        ptx.shfl.sync.bfly(other, size, 1)  # the adjacent lane holds the other 16 of the block's 32 elements
        ptx.inst.max.NaN.f32(size, size, other)
        code, factor = scale_of(size)
        words = rounded(values, factor)
        ptx.st(b32, ptx.addr(pdata + (mine.row * x.shape[1] + mine.number * GROUP)), words, pred=mine.inside)
        code = ptx.selp(u32, reg.scalar(u32), code, 0, mine.inside)
        place = scales.offset(mine.row, mine.number >> 1, scale.shape[1])
        ptx.st(u8, ptx.addr(pscale + place), code, pred=(mine.number & 1) == 0)
        ptx.ret()

    return mxfp8


def quantize(x, dtype: PtxType = bf16):
    """Return a matrix quantized to e4m3, and its scale factors in the layout of `scales`."""
    M, K = x.shape
    R, C = scales.extent(M, K // BLOCK)
    return mxfp8_of(dtype)(x, R=R, C=C)


def dequantized(data: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the dequantized matrix, elements times scale factors, in float64."""
    M, K = data.shape
    codes = scales.rows_of(scale, M, K // BLOCK)
    powers = codes.view(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    return data.astype(np.float64) * powers.repeat(BLOCK, axis=1)


def reference(x: np.ndarray) -> np.ndarray:
    """Return the unquantized matrix in float64, which the dequantized values approximate."""
    return x.astype(np.float64)


def main() -> None:
    """Quantize on the simulator; print the largest error relative to the largest magnitude of the element's block."""
    x = np.random.default_rng(0).standard_normal((300, 416)).astype(ml_dtypes.bfloat16)
    errors = np.abs(dequantized(*quantize(x)) - reference(x)).reshape(300, -1, BLOCK)
    sizes = np.abs(reference(x)).reshape(errors.shape)
    print(f"quantize_mxfp8 300x416: largest error {(errors.max(2) / sizes.max(2)).max():.2e} of a block's largest")


if __name__ == "__main__":
    main()
