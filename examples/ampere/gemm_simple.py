"""GEMM on the tensor cores of Ampere: the first of this folder's three GEMMs.

    C[M, N] = A[M, K] B[K, N]      row-major, bf16 or f16, f32 accumulation, any sizes; A and B aligned to 16 bytes

A thread block (CTA) of four warps computes 64 x 64 of C, each warp 32 x 32, in steps of 32 along K. In each step its
threads load a tile of A and one of B, store them to shared memory, and synchronize. ldmatrix then loads them into
registers in the layout of mma.sync (print `ptx.mma.fragment(shape=SHAPE, operand="a", dtype=bf16)` to see it), and
mma.sync multiplies.

ldmatrix reads eight rows of 16 bytes at once. Rows in shared memory are padded by 16 bytes, so that these eight are in
different banks.

The kernel is slow because the tensor cores wait while tiles are loaded, and the loads wait while the tensor cores
multiply. The next step, `gemm_pipelined.py`, overlaps both.

    python examples/ampere/gemm_simple.py
"""

from __future__ import annotations

from functools import cache
from math import gcd
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import PtxType, b16, b32, bf16, f32, u32

if TYPE_CHECKING:
    from pyptx.reg import Reg, RegArray
    from pyptx.smem import SharedAlloc

    Accumulators = list[list[list[Reg]]]  # a warp's accumulators: [row block][column block][element of the lane]
    Origin = tuple[Reg | int, Reg | int]  # first row and first column of a tile, in its matrix

SHAPE = (16, 8, 16)  # M, N and K of one mma.sync
TILE, STEP = 64, 32  # rows and columns of C per CTA; columns of A and rows of B per step
WARP = 32  # rows and columns of C per warp
THREADS = (TILE // WARP) ** 2 * 32
PADDING = 8  # unused elements (16 bytes) after each row of a tile in shared memory


def load(thread: Reg, pointer: Reg, shape: tuple[int, int], origin: Origin, tile: SharedAlloc) -> None:
    """Copy a matrix, from `origin` (row, column) on, to a tile in shared memory; elements outside the matrix are 0.

    A thread moves 16 bytes at a time, or fewer if the row length is not a multiple of 8 elements.
    """
    rows, width = tile.shape[0], tile.shape[1] - PADDING
    vector = gcd(shape[1], 8)
    across = width // vector
    down = THREADS // across
    row, column = thread // across, thread % across * vector
    source = pointer + ((origin[0] + row) * shape[1] + (origin[1] + column)) * 2
    inside = origin[1] + column < shape[1]
    target = reg.from_(tile.address(row, column), u32)
    part = b32 if vector > 1 else b16
    chunks = [[reg.scalar(part, init=0) for _ in range(max(vector // 2, 1))] for _ in range(0, rows, down)]
    for first, chunk in zip(range(0, rows, down), chunks, strict=True):
        ptx.ld(part, chunk, ptx.addr(source, first * shape[1] * 2), pred=inside & (origin[0] + row + first < shape[0]))
    for first, chunk in zip(range(0, rows, down), chunks, strict=True):
        ptx.st(part, ptx.addr(target, first * (width + PADDING) * 2), chunk, space="shared")


def load_fragment(tile: SharedAlloc, row: Reg | int, column: Reg | int, lane: Reg, *, trans: bool = False) -> RegArray:
    """Load 16 x 16 elements of a tile: lanes 0-15 address the left halves of its rows, lanes 16-31 the right halves."""
    fragment = reg.array(b32, 4)
    ptx.ldmatrix(dst=fragment, src=tile.address(row + lane % 16, column + lane // 16 * 8), trans=trans)
    return fragment


def store(pointer: Reg, shape: tuple[int, int], origin: Origin, acc: Accumulators, lane: Reg, dtype: PtxType) -> None:
    """Round a warp's accumulators and store the elements inside C, at the positions of the fragment layout."""
    place = ptx.mma.fragment(shape=SHAPE, operand="c", dtype=f32)
    row, column = origin[0] + place.row(lane, 0), origin[1] + place.column(lane, 0)
    target, rounded = pointer + (row * shape[1] + column) * 2, reg.scalar(b16)
    for i, blocks in enumerate(acc):
        for j, block in enumerate(blocks):
            for element, value in enumerate(block):
                down, right = i * 16 + place.row(0, element), j * 8 + place.column(0, element)
                ptx.cvt(dtype, f32, rounded, value, rounding="rn")
                inside = (row + down < shape[0]) & (column + right < shape[1])
                ptx.st(b16, ptx.addr(target, (down * shape[1] + right) * 2), rounded, pred=inside)


@cache
def build_gemm(dtype: PtxType = bf16, arch: str = "sm_80"):
    """Return the GEMM kernel for bf16 or f16 matrices."""

    @kernel(
        in_specs=(Tile("M", "K", dtype, align=16), Tile("K", "N", dtype, align=16)),
        out_specs=(Tile("M", "N", dtype),),
        grid=lambda M, N, K: (-(-N // TILE), -(-M // TILE)),
        block=THREADS,
        arch=arch,
    )
    def gemm(A, B, C) -> None:
        (M, K), N = A.shape, B.shape[1]
        pa, pb, pc = ptx.global_ptrs(A, B, C)
        a_tile, b_tile = smem.alloc(dtype, (TILE, STEP + PADDING)), smem.alloc(dtype, (STEP, TILE + PADDING))
        thread = reg.from_(ptx.special.tid.x(), u32)
        lane, warp = thread % 32, thread // 32
        top, left = reg.from_(ptx.special.ctaid.y(), u32) * TILE, reg.from_(ptx.special.ctaid.x(), u32) * TILE
        row, column = warp // (TILE // WARP) * WARP, warp % (TILE // WARP) * WARP
        acc = [[[reg.scalar(f32, init=0.0) for _ in range(4)] for _ in range(WARP // 8)] for _ in range(WARP // 16)]
        for k in ptx.range_(reg.scalar(u32, init=0), K, STEP):
            load(thread, pa, (M, K), (top, k), a_tile)
            load(thread, pb, (K, N), (k, left), b_tile)
            ptx.bar.sync(0)
            for step in range(0, STEP, 16):
                a = [load_fragment(a_tile, row + i, step, lane) for i in range(0, WARP, 16)]
                # ldmatrix.trans loads the B fragments of two adjacent blocks of 8 columns.
                pairs = [load_fragment(b_tile, step, column + j, lane, trans=True) for j in range(0, WARP, 16)]
                b = [list(pair)[half : half + 2] for pair in pairs for half in (0, 2)]
                for blocks, left_factor in zip(acc, a, strict=True):
                    for c, right_factor in zip(blocks, b, strict=True):
                        ptx.mma.sync(
                            shape=SHAPE,
                            dtype_d=f32,
                            dtype_a=dtype,
                            dtype_b=dtype,
                            dtype_c=f32,
                            d=c,
                            a=left_factor,
                            b=right_factor,
                            c=c,
                        )
            ptx.bar.sync(0)
        store(pc, (M, N), (top + row, left + column), acc, lane, dtype)
        ptx.ret()

    return gemm


gemm = build_gemm()


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return A · B, computed by NumPy in float64."""
    return a.astype(np.float64) @ b.astype(np.float64)


def main() -> None:
    """Run the kernel on the simulator and print its largest error against a float64 reference."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((130, 95), (95, 77)))
    expected = reference(a, b)
    error = np.abs(gemm(a, b).astype(np.float64) - expected).max() / np.abs(expected).max()
    print(f"gemm 130x77x95: largest error {error:.1e} of the largest element")


if __name__ == "__main__":
    main()
