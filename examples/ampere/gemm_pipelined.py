"""GEMM with copies that run ahead of the tensor cores: the second of this folder's three GEMMs.

    C[M, N] = A[M, K] B[K, N]      row-major, bf16 or f16, f32 accumulation

In `gemm_simple.py` loads and MMAs wait for each other. Here shared memory holds a ring of STAGES tiles of A and B.
cp.async copies from global to shared memory without registers, and the thread continues: while the tensor cores
multiply one tile, the copies of the next STAGES - 1 are in flight. Each step waits for the oldest of them
(cp.async.wait_group), synchronizes the CTA, refills the stage that all threads have just read, and multiplies.

Rows are not padded here. `SharedTile` swizzles them instead: the row index permutes the 16-byte chunks of a row (print
`tiles(bf16)[0].picture()`). The eight rows that one ldmatrix reads are in different banks, and no memory is wasted.
cp.async takes the number of bytes to read: a copy outside the matrix reads nothing and writes zeros. Chunks are 16
bytes, so K and N must be multiples of 8 and the matrices aligned to 16 bytes; M is arbitrary.

The kernel is still slow: a warp alternates between loading fragments and multiplying, C is stored in 4-byte pieces, and
CTAs that run together have tiles of one row of C. `gemm_highperf_ampere.py` does better.

    python examples/ampere/gemm_pipelined.py
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import PtxType, b32, bf16, bf16x2, f16, f16x2, f32, s32, u32

if TYPE_CHECKING:
    from pyptx.reg import Reg, RegArray

    Accumulators = list[list[list[Reg]]]  # a warp's accumulators: [row block][column block][element of the lane]
    Origin = tuple[Reg | int, Reg | int]  # first row and first column of a tile, in its matrix

SHAPE = (16, 8, 16)  # M, N and K of one mma.sync
CHUNK = 8  # 16-bit elements in 16 bytes, the size of a cp.async and of an ldmatrix row
TILE, STEP, STAGES = 128, 32, 4  # rows and columns of C per CTA; columns of A and rows of B per stage
WARP = 64  # rows and columns of C per warp
THREADS = (TILE // WARP) ** 2 * 32
PACKED = {bf16: bf16x2, f16: f16x2}


def tiles(dtype: PtxType) -> tuple[SharedTile, SharedTile]:
    """Return the shared memory layouts of A and B; a row of B (256 bytes) is two boxes of the 128-byte swizzle."""
    return SharedTile(dtype, (TILE, STEP), stages=STAGES), SharedTile(dtype, (STEP, TILE), major="MN", stages=STAGES)


class Ring:
    """Stages of a tile in shared memory, and this thread's share of the copies from a row-major matrix.

    A thread copies 16 bytes, a chunk, of each `step`-th row. `source` is the address of the next tile's first. `rows`
    and `columns` are the numbers of rows and columns of the matrix from that chunk on.
    """

    def __init__(self, layout: SharedTile, thread: Reg, pointer: Reg, shape: tuple[int, int], origin: Origin) -> None:
        """Allocate the stages; the first tile starts at `origin` (row, column) of the matrix at `pointer`."""
        self.layout, self.tile = layout, smem.tile(layout)
        across = layout.shape[1] // CHUNK
        self.step, self.pitch = THREADS // across, shape[1] * 2
        row, column = thread // across, thread % across * CHUNK
        self.target = self.address(row, column)
        row, column = origin[0] + row, origin[1] + column
        self.source = pointer + (row * shape[1] + column) * 2
        self.rows, self.columns = shape[0] - reg.from_(row, s32), shape[1] - reg.from_(column, s32)

    def address(self, row: Reg | int, column: Reg | int, stage: Reg | int = 0) -> Reg:
        """Return the swizzled shared address of an element; rows wider than the swizzle are split into TMA boxes."""
        place = (stage, row, column)
        if self.layout.boxes > 1:
            width = self.layout.box_columns
            place = (stage, column // width, row, column % width)
        return reg.from_(self.tile.address(*place), u32)

    def fill(self, stage: Reg | int, *, rows: int = 0, columns: int = 0) -> None:
        """Copy this thread's 16-byte chunks of a tile to a stage, 0 outside the matrix; advance to the next tile."""
        target = self.target + stage * self.layout.stage_bytes
        inside = self.columns > 0
        for row in range(0, self.layout.shape[0], self.step):
            size = ptx.selp(b32, reg.scalar(b32), 16, 0, inside & (self.rows > row))
            to, source = row * self.layout.box_row_bytes, row * self.pitch
            # A row of A's tile is half an L2 line: prefetch 128 bytes, since the next stage copies the other half.
            ptx.cp.async_.cg(ptx.addr(target, to), ptx.addr(self.source, source), 16, size, prefetch="128B")
        self.source += rows * self.pitch + columns * 2
        self.rows -= rows
        self.columns -= columns


def name_row(ring: Ring, row: Reg | int, column: Reg | int, lane: Reg) -> Reg:
    """Return the address that a lane passes to ldmatrix for the 16 x 16 block at (row, column) of the first stage.

    Lanes 0-15 address the left halves of the 16 rows, lanes 16-31 the right halves.
    """
    return ring.address(row + lane % 16, column + lane // 16 * CHUNK)


def load_fragments(places: list[object], *, trans: bool = False) -> list[RegArray]:
    """Load a block of 16 x 16 from each address, by one ldmatrix.x4."""
    fragments = [reg.array(b32, 4) for _ in places]
    for fragment, place in zip(fragments, places, strict=True):
        ptx.ldmatrix(dst=fragment, src=place, trans=trans)
    return fragments


def store(pointer: Reg, shape: tuple[int, int], origin: Origin, acc: Accumulators, lane: Reg, dtype: PtxType) -> None:
    """Round a warp's accumulators and store the elements inside C, two adjacent elements (4 bytes) per store."""
    place = ptx.mma.fragment(shape=SHAPE, operand="c", dtype=f32)
    row, column = origin[0] + place.row(lane, 0), origin[1] + place.column(lane, 0)
    target, pair = pointer + (row * shape[1] + column) * 2, reg.scalar(b32)
    rows, columns = shape[0] - reg.from_(row, s32), shape[1] - reg.from_(column, s32)  # extent of C from (row, column)
    beside = [columns > j * 8 for j in range(len(acc[0]))]
    for i, blocks in enumerate(acc):
        for first in (0, 2):
            down = i * 16 + place.row(0, first)
            below = rows > down
            for j, block in enumerate(blocks):
                ptx.cvt(PACKED[dtype], f32, pair, block[first + 1], block[first], rounding="rn")
                ptx.st(b32, ptx.addr(target, (down * shape[1] + j * 8) * 2), pair, pred=below & beside[j])


def advance(stage: Reg) -> None:
    """Increment `stage` in place, modulo STAGES."""
    stage += 1
    ptx.selp(u32, stage, 0, stage, stage == STAGES)


@cache
def build_gemm_pipelined(dtype: PtxType = bf16, arch: str = "sm_80"):
    """Return the GEMM kernel for bf16 or f16 matrices."""

    @kernel(
        in_specs=(Tile("M", "K", dtype, align=16), Tile("K", "N", dtype, align=16)),
        out_specs=(Tile("M", "N", dtype, align=4),),
        grid=lambda M, N, K: (-(-N // TILE), -(-M // TILE)),
        block=THREADS,
        arch=arch,
    )
    def gemm_pipelined(A, B, C) -> None:
        (M, K), N = A.shape, B.shape[1]
        if K % CHUNK or N % CHUNK:
            raise ValueError(f"gemm_pipelined needs multiples of {CHUNK} for K and N, not {K} and {N}: see gemm_simple")
        pa, pb, pc = ptx.global_ptrs(A, B, C)
        thread = reg.from_(ptx.special.tid.x(), u32)
        lane, warp = thread % 32, thread // 32
        top, left = reg.from_(ptx.special.ctaid.y(), u32) * TILE, reg.from_(ptx.special.ctaid.x(), u32) * TILE
        row, column = warp // (TILE // WARP) * WARP, warp % (TILE // WARP) * WARP
        a_tiles, b_tiles = tiles(dtype)
        a_ring = Ring(a_tiles, thread, pa, (M, K), (top, 0))
        b_ring = Ring(b_tiles, thread, pb, (K, N), (0, left))
        steps, blocks = range(0, STEP, 16), range(0, WARP, 16)
        # The swizzle repeats every eight rows, so addresses of vertically adjacent blocks differ by a constant.
        a_rows = [name_row(a_ring, row, step, lane) for step in steps]
        b_rows = [name_row(b_ring, 0, column + block, lane) for block in blocks]
        acc = [[[reg.scalar(f32, init=0.0) for _ in range(4)] for _ in range(WARP // 8)] for _ in range(WARP // 16)]

        def fill(stage) -> None:
            a_ring.fill(stage, columns=STEP)
            b_ring.fill(stage, rows=STEP)
            ptx.cp.async_.commit_group()

        for stage in range(STAGES - 1):
            fill(stage)
        reading, filling = reg.scalar(u32, init=0), reg.scalar(u32, init=STAGES - 1)
        for _ in ptx.range_(-(-K // STEP)):
            ptx.cp.async_.wait_group(STAGES - 2)  # waits until the copies to the stage that is read next are complete
            ptx.bar.sync(0)
            fill(filling)
            advance(filling)
            a_stage, b_stage = reading * a_tiles.stage_bytes, reading * b_tiles.stage_bytes
            from_a, from_b = [a_row + a_stage for a_row in a_rows], [b_row + b_stage for b_row in b_rows]
            for step, source in zip(steps, from_a, strict=True):
                a = load_fragments([ptx.addr(source, a_tiles.offset(mn=block)) for block in blocks])
                # ldmatrix.trans loads the B fragments of two adjacent blocks of 8 columns.
                pairs = load_fragments([ptx.addr(source, b_tiles.offset(k=step)) for source in from_b], trans=True)
                b = [list(pair)[half : half + 2] for pair in pairs for half in (0, 2)]
                for acc_row, left_factor in zip(acc, a, strict=True):
                    for c, right_factor in zip(acc_row, b, strict=True):
                        ptx.mma.sync(
                            shape=SHAPE, dtype_d=f32, dtype_a=dtype, dtype_b=dtype, dtype_c=f32,
                            d=c, a=left_factor, b=right_factor, c=c,
                        )  # fmt: skip
            advance(reading)
        ptx.cp.async_.wait_all()
        store(pc, (M, N), (top + row, left + column), acc, lane, dtype)
        ptx.ret()

    return gemm_pipelined


gemm_pipelined = build_gemm_pipelined()


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return A · B, computed by NumPy in float64."""
    return a.astype(np.float64) @ b.astype(np.float64)


def main() -> None:
    """Run the kernel on the simulator and print its largest error against a float64 reference."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((190, 264), (264, 136)))
    expected = reference(a, b)
    error = np.abs(gemm_pipelined(a, b).astype(np.float64) - expected).max() / np.abs(expected).max()
    print(f"gemm_pipelined 190x136x264: largest error {error:.1e} of the largest element")


if __name__ == "__main__":
    main()
