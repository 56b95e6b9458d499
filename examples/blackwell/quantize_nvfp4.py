"""Quantize to nvfp4: e2m1 elements, an e4m3 scale factor for every 16 in a row, and one f32 for the matrix.

e2m1 has the magnitudes 0, 0.5, 1, 1.5, 2, 3, 4 and 6, so a block's scale factor is its largest magnitude over 6. It
must be an e4m3 (without a sign, ue4m3), at most 448. Blocks are therefore first divided by the matrix's scale factor,
the matrix's largest magnitude over 6 * 448. An element is the e2m1 nearest to x / (scale factor of the block * scale
factor of the matrix), with the block's scale factor as rounded.

A block whose scale factor rounds to 0 becomes zeros. X is M x K, in bf16 or f32; K is a multiple of 32, so that rows,
with two elements per byte, are multiples of the 16 bytes that TMA requires.

    python examples/blackwell/quantize_nvfp4.py
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from pyptx import Kernel, Tile, kernel, ptx, reg
from pyptx.types import PtxType, b8, b16, b32, bf16, e2m1x2, e4m3x2, f16x2, f32, u8, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.blackwell import scales
from examples.blackwell.quantize import ACCESS, GROUP, THREADS, Group, largest, magnitude, nothing, threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx import TensorSpec
    from pyptx.reg import Reg

BLOCK = 16  # elements of a row that share a scale factor, all in one thread
LARGEST, LARGEST_SCALE = 6.0, 448.0  # largest e2m1 number, and largest e4m3 number
SMALLEST = 2.0**-117  # least scale of a matrix: its product with 2^-9, the smallest e4m3, has a finite reciprocal
DIGITS = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])  # value of each e2m1 code


def matrix_scale(size: TensorSpec) -> Reg:
    """Return the scale factor of a matrix from its largest magnitude, which it loads from `size`."""
    (psize,) = ptx.global_ptrs(size)
    scale = reg.scalar(f32)
    ptx.ld(f32, scale, ptx.addr(psize))
    return ptx.max(f32, scale, scale * (1 / (LARGEST * LARGEST_SCALE)), SMALLEST)


def scale_of(size: Reg, whole: Reg) -> tuple[Reg, Reg]:
    """Return a block's scale factor as an e4m3 code, and its elements' multiplier; `size` is the largest magnitude.

    `whole` is the scale factor of the matrix.
    """
    pair, halves, scale = reg.scalar(b16), reg.scalar(f16x2), reg.scalar(f32)
    wanted = size * reciprocal(whole * LARGEST) + nothing(size)
    ptx.cvt(e4m3x2, f32, pair, wanted, wanted, rounding="rn", satfinite=True)
    ptx.cvt(f16x2, e4m3x2, halves, pair, rounding="rn")
    ptx.inst.cvt.f32.f16(scale, low_half(halves))
    factor = reciprocal(scale * whole)
    ptx.mov(f32, factor, 0.0, pred=scale == 0.0)
    return ptx.mov(b32, reg.scalar(u32), [pair, pair]) & 0xFF, factor


def low_half(pair: Reg) -> Reg:
    """Return the lower 16 bits of a 32-bit register."""
    low, high = (reg.scalar(b16) for _ in range(2))
    ptx.mov(b32, [low, high], pair)
    return low


def reciprocal(value: Reg) -> Reg:
    """Return 1 / `value`, rounded to nearest."""
    return ptx.inst.rcp.rn.f32(reg.scalar(f32), value)


def rounded(values: Sequence[Reg], factor: Reg) -> list[Reg]:
    """Return `values` times `factor`, rounded to e2m1, eight per word, the first in the lowest bits."""
    words = []
    for first in range(0, len(values), 8):
        pairs = [reg.scalar(e2m1x2) for _ in range(4)]
        for pair, at in zip(pairs, range(first, first + 8, 2), strict=True):
            ptx.cvt(e2m1x2, f32, pair, values[at + 1] * factor, values[at] * factor, rounding="rn", satfinite=True)
        words.append(ptx.mov(b32, reg.scalar(b32), pairs))
    return words


@functools.cache
def nvfp4_of(dtype: PtxType) -> Kernel[tuple[Tile, Tile, Tile]]:
    """Return the kernel that quantizes matrices of bf16 or f32 from their largest magnitude.

    H is K / 2; R and C are the `scales.extent` of its output.
    """

    @kernel(
        in_specs=(Tile("M", "K", dtype, align=ACCESS), Tile(1, f32)),
        out_specs=(Tile("M", "H", b8, align=GROUP // 2), scales.tile("R", "C"), Tile(1, f32)),
        grid=lambda M, K: threads(M, K, BLOCK),
        block=THREADS,
        arch="sm_100a",
    )
    def nvfp4(x, size, data, scale, whole) -> None:
        mine = Group.mine(x.shape, BLOCK)
        pdata, pscale, pwhole = ptx.global_ptrs(data, scale, whole)
        values, of_matrix = mine.load(dtype, x), matrix_scale(size)
        code, factor = scale_of(magnitude(values), of_matrix)
        words = rounded(values, factor)
        ptx.st(b32, ptx.addr(pdata + (mine.row * data.shape[1] + mine.number * (GROUP // 2))), words, pred=mine.inside)
        code = ptx.selp(u32, reg.scalar(u32), code, 0, mine.inside)
        ptx.st(u8, ptx.addr(pscale + scales.offset(mine.row, mine.number, scale.shape[1])), code)
        ptx.st(f32, ptx.addr(pwhole), of_matrix, pred=(mine.row == 0) & (mine.number == 0))
        ptx.ret()

    return nvfp4


def quantize(x, dtype: PtxType = bf16):
    """Return a matrix in e2m1 (two per byte), its blocks' scale factors (layout of `scales`) and the matrix's own."""
    M, K = x.shape
    R, C = scales.extent(M, K // BLOCK)
    return nvfp4_of(dtype)(x, largest(x, dtype), H=K // 2, R=R, C=C)


def dequantized(data: np.ndarray, scale: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return the dequantized matrix, elements times scale factors, in float64."""
    M, K = data.shape[0], data.shape[1] * 2
    codes = np.stack((data & 15, data >> 4), axis=2).reshape(M, K)
    factors = scales.rows_of(scale, M, K // BLOCK).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    return DIGITS[codes] * factors.repeat(BLOCK, axis=1) * whole.astype(np.float64)


def reference(x: np.ndarray) -> np.ndarray:
    """Return the unquantized matrix in float64, which the dequantized values approximate."""
    return x.astype(np.float64)


def main() -> None:
    """Quantize on the simulator; print the largest error relative to the largest magnitude of the element's block."""
    x = np.random.default_rng(0).standard_normal((300, 416)).astype(ml_dtypes.bfloat16)
    errors = np.abs(dequantized(*quantize(x)) - reference(x)).reshape(300, -1, BLOCK)
    sizes = np.abs(reference(x)).reshape(errors.shape)
    print(f"quantize_nvfp4 300x416: largest error {(errors.max(2) / sizes.max(2)).max():.2e} of a block's largest")


if __name__ == "__main__":
    main()
