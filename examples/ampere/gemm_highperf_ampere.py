"""GEMM, as fast as mma.sync goes: the last of this folder's three GEMMs.

    C[M, N] = A[M, K] B[K, N]      row-major, bf16 or f16, f32 accumulation

Beyond `gemm_pipelined.py`, where copies run ahead of the tensor cores through a ring of tiles, this kernel

- has a larger tile per CTA (128 x 256 for eight warps) and 64 x 64 of it per warp. An element that ldmatrix loads is
  used 64 times, and an element copied to shared memory 128 or 256 times;
- double-buffers the fragments: while the tensor cores multiply one step, ldmatrix loads the next, and neither waits;
- orders tiles in groups of eight tile rows, column by column; the kernel computes the order. CTAs that run at the same
  time share few rows of A and few columns of B, and find them in L2;
- stages the accumulators in shared memory (the ring, unused by then) and stores rows of them, 16 bytes per lane.

Shared memory is swizzled (`SharedTile`): the eight rows that one ldmatrix reads are in different banks, and so are the
rows that the epilogue writes. A copy outside the matrix reads nothing and writes zeros (the source size of cp.async); a
store outside it is skipped. Rows are moved in chunks of 16 bytes, so K and N must be multiples of 8 and the matrices
aligned to 16 bytes; M is arbitrary.

    python examples/ampere/gemm_highperf_ampere.py
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, overload

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import PtxType, b32, bf16, bf16x2, f16, f16x2, f32, s32, u32

if TYPE_CHECKING:
    from pyptx.reg import Reg

    Origin = tuple[Reg | int, Reg | int]  # first row and first column of a tile, in its matrix

SHAPE = (16, 8, 16)  # M, N and K of one mma.sync
CHUNK = 8  # 16-bit elements in 16 bytes: one cp.async, one row of an ldmatrix, or one store
WARP_TILE = 64  # rows and columns of C per warp: 128 accumulator registers per lane
GROUP = 8  # tile rows per group: CTAs compute C group by group
PACKED = {bf16: bf16x2, f16: f16x2}


@dataclass(frozen=True)
class Config:
    """Tile of C per CTA (`m` x `n`), columns of A and rows of B per stage (`k`), and number of stages.

    ValueError unless `m` is a multiple of 128, `n` of 64 and `k` of 32. The stages of B together must have at least `m`
    rows, because the epilogue puts the tile of C there.
    """

    m: int = 128
    n: int = 256
    k: int = 32
    stages: int = 4

    def __post_init__(self) -> None:
        """Raise ValueError for unsupported tile sizes."""
        if self.m % (2 * WARP_TILE) or self.n % WARP_TILE or self.k % (2 * SHAPE[2]):
            raise ValueError(f"{self} has a tile that is not a multiple of 128 x 64 x 32")
        if self.stages < 2 or self.stages * self.k < self.m:
            raise ValueError(f"{self} needs {max(2, -(-self.m // self.k))} stages or more")

    @property
    def warps(self) -> int:
        """Number of warps, one per 64 x 64 of the tile."""
        return self.m // WARP_TILE * (self.n // WARP_TILE)


class Ring:
    """Stages of a tile in shared memory, and this thread's share of the copies from a row-major matrix.

    A thread copies 16 bytes, a chunk, of each `step`-th row. `source` is the address of the next tile's first. `rows`
    and `columns` are the numbers of rows and columns of the matrix from that chunk on.
    """

    def __init__(
        self, layout: SharedTile, thread: Reg, threads: int, pointer: Reg, shape: tuple[int, int], origin: Origin
    ) -> None:
        """Allocate the stages; the first tile starts at `origin` (row, column) of the matrix at `pointer`."""
        self.layout, self.tile = layout, smem.tile(layout)
        across = layout.shape[1] // CHUNK
        self.step, self.pitch = threads // across, shape[1] * 2
        row, chunk = split(thread, across)
        column = chunk * CHUNK
        self.target = self.address(row, column)
        row, column = origin[0] + row, origin[1] + column
        self.source = pointer + (row * shape[1] + column) * 2
        self.rows, self.columns = shape[0] - reg.from_(row, s32), shape[1] - reg.from_(column, s32)

    def address(self, row: Reg | int, column: Reg | int, stage: Reg | int = 0) -> Reg:
        """Return the swizzled shared address of an element; rows wider than the swizzle are split into TMA boxes."""
        place = (stage, row, column)
        if self.layout.boxes > 1:
            panel, inside = split(column, self.layout.box_columns)
            place = (stage, panel, row, inside)
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


class Warp:
    """A warp's 64 x 64 of the CTA's tile of C: ldmatrix addresses, fragments of two steps of K, accumulators."""

    def __init__(self, a: Ring, b: Ring, dtype: PtxType, thread: Reg) -> None:
        """Compute the row addresses that this lane passes to ldmatrix.x4, which loads a block of 16 x 16.

        Lanes 0-15 address the left halves of its rows, lanes 16-31 the right halves. Four registers then hold the 8 x 8
        quarters in the order of mma.sync: for A one fragment; for B, transposed by ldmatrix, the fragments of two
        adjacent blocks of eight columns.
        """
        self.rings, self.dtype = (a, b), dtype
        warp, self.lane = split(thread, 32)
        self.row, self.column = (place * WARP_TILE for place in split(warp, b.layout.mn // WARP_TILE))
        half, row = split(self.lane, 16)
        chunk = half * CHUNK
        self.a_rows = [a.address(self.row + row, k + chunk) for k in range(0, a.layout.k, 16)]
        self.b_rows = [b.address(row, self.column + (n + chunk)) for n in range(0, WARP_TILE, 16)]
        blocks = range(WARP_TILE // 16)
        self.a, self.b = ([[reg.array(b32, 4) for _ in blocks] for _ in range(2)] for _ in range(2))
        self.acc = [[[reg.scalar(f32, init=0.0) for _ in range(4)] for _ in range(WARP_TILE // 8)] for _ in blocks]

    def load(self, k: int, stage: Reg) -> None:
        """Load the fragments of columns `k` to `k + 15` of A (rows of B) from a stage: eight ldmatrix.x4."""
        (a, b), step = (ring.layout for ring in self.rings), k // 16
        source = self.a_rows[step] + stage * a.stage_bytes
        for block, fragment in enumerate(self.a[step % 2]):
            ptx.ldmatrix(dst=fragment, src=ptx.addr(source, a.offset(mn=16 * block)))
        offset = stage * b.stage_bytes
        for source, fragment in zip(self.b_rows, self.b[step % 2], strict=True):
            ptx.ldmatrix(dst=fragment, src=ptx.addr(source + offset, b.offset(k=k)), trans=True)

    def multiply(self, k: int) -> None:
        """Multiply the A and B fragments of a step (16 of K) and add to the accumulators: 32 mma.sync."""
        dtype = self.dtype
        step = k // 16 % 2
        for a, acc in zip(self.a[step], self.acc, strict=True):
            for column, c in enumerate(acc):
                left = column % 2 * 2
                b = list(self.b[step][column // 2])[left : left + 2]
                ptx.mma.sync(shape=SHAPE, dtype_d=f32, dtype_a=dtype, dtype_b=dtype, dtype_c=f32, d=c, a=a, b=b, c=c)

    def park(self) -> None:
        """Round the accumulators and write them to the stages of B, used as one matrix as wide as the tile."""
        ring, depth = self.rings[1], self.rings[1].layout.k
        place = ptx.mma.fragment(shape=SHAPE, operand="c", dtype=f32)
        row, column = self.row + place.row(self.lane, 0), self.column + place.column(self.lane, 0)
        stage, row = split(row, depth)
        for block in range(WARP_TILE // 8):
            target = ring.address(row, column + 8 * block, stage)
            for index, acc in enumerate(self.acc):
                for first in (0, 2):  # each lane holds two adjacent accumulators of row r and two of row r + 8
                    below = 16 * index + place.row(0, first)
                    at = below // depth * ring.layout.stage_bytes + ring.layout.offset(k=below % depth)
                    low, high = acc[block][first : first + 2]
                    pair = ptx.cvt(PACKED[self.dtype], f32, reg.scalar(b32), high, low, rounding="rn")
                    ptx.st(b32, ptx.addr(target, at), pair, space="shared")


@overload
def split(value: Reg, size: int) -> tuple[Reg, Reg]: ...


@overload
def split(value: Reg | int, size: int) -> tuple[Reg | int, Reg | int]: ...


def split(value: Reg | int, size: int) -> tuple[Reg | int, Reg | int]:
    """Return `value // size` and `value % size`; a shift and a mask for powers of two, which ptxas would not emit."""
    if size & (size - 1):
        return value // size, value % size
    return value >> size.bit_length() - 1, value & size - 1


def choose_tile(block: Reg, rows: int, columns: int) -> tuple[Reg, Reg]:
    """Return a CTA's tile row and tile column: groups of GROUP tile rows, column by column within each group."""
    group, inside = block // (GROUP * columns), block % (GROUP * columns)
    height = (rows - group * GROUP).min(GROUP)  # the last group may have fewer than GROUP tile rows
    return group * GROUP + inside % height, inside // height


def store_tile(
    ring: Ring, thread: Reg, threads: int, pointer: Reg, shape: tuple[int, int], origin: Origin, rows: int
) -> None:
    """Store the tile of C that `Warp.park` wrote to shared memory, 16 bytes per lane; skip elements outside C."""
    layout = ring.layout
    across = layout.mn // CHUNK
    step = threads // across
    row, chunk = split(thread, across)
    column = chunk * CHUNK
    source = ring.address(row, column)
    row, column = origin[0] + row, origin[1] + column
    target, left = pointer + (row * shape[1] + column) * 2, shape[0] - reg.from_(row, s32)
    inside, values = column < shape[1], reg.array(b32, 4)
    for first in range(0, rows, step):
        at = first // layout.k * layout.stage_bytes + layout.offset(k=first % layout.k)
        ptx.ld(b32, values, ptx.addr(source, at), space="shared")
        ptx.st(b32, ptx.addr(target, first * shape[1] * 2), values, pred=inside & (left > first))


@cache
def build_gemm_highperf(dtype: PtxType = bf16, arch: str = "sm_80", **sizes: int):
    """Return the kernel for bf16 or f16 with tile sizes `Config(**sizes)`: smaller tiles suit small matrices."""
    cut = Config(**sizes)
    a_layout = SharedTile(dtype, (cut.m, cut.k), stages=cut.stages)
    b_layout = SharedTile(dtype, (cut.k, cut.n), major="MN", stages=cut.stages)
    threads = cut.warps * 32

    @kernel(
        in_specs=(Tile("M", "K", dtype, align=16), Tile("K", "N", dtype, align=16)),
        out_specs=(Tile("M", "N", dtype, align=16),),
        grid=lambda M, N, K: -(-M // cut.m) * -(-N // cut.n),
        block=threads,
        arch=arch,
    )
    def gemm_highperf(A, B, C) -> None:
        (M, K), N = A.shape, B.shape[1]
        if K % CHUNK or N % CHUNK:
            raise ValueError(f"gemm_highperf needs multiples of {CHUNK} for K and N, not {K} and {N}: see gemm_simple")
        pa, pb, pc = ptx.global_ptrs(A, B, C)
        thread, block = reg.from_(ptx.special.tid.x(), u32), reg.from_(ptx.special.ctaid.x(), u32)
        tile_row, tile_column = choose_tile(block, -(-M // cut.m), -(-N // cut.n))
        top, left = tile_row * cut.m, tile_column * cut.n
        a = Ring(a_layout, thread, threads, pa, (M, K), (top, 0))
        b = Ring(b_layout, thread, threads, pb, (K, N), (0, left))
        warp = Warp(a, b, dtype, thread)

        def fill(stage) -> None:
            a.fill(stage, columns=cut.k)
            b.fill(stage, rows=cut.k)
            ptx.cp.async_.commit_group()

        def await_next() -> None:  # waits until all threads' copies to the next stage are complete
            ptx.cp.async_.wait_group(cut.stages - 2)
            ptx.bar.sync(0)

        for stage in range(cut.stages - 1):
            fill(stage)
        await_next()
        reading, filling = reg.scalar(u32, init=0), reg.scalar(u32, init=cut.stages - 1)
        warp.load(0, reading)
        for _ in ptx.range_(-(-K // cut.k)):
            for k in range(0, cut.k, 16):
                if k + 16 == cut.k:  # the next 16 columns of A (rows of B) are in the next stage
                    await_next()
                    advance(reading, cut.stages)
                warp.load((k + 16) % cut.k, reading)
                if k == 0:  # every warp has passed await_next since it last read the stage that is refilled here
                    fill(filling)
                    advance(filling, cut.stages)
                warp.multiply(k)
        ptx.cp.async_.wait_all()
        ptx.bar.sync(0)
        warp.park()
        ptx.bar.sync(0)
        store_tile(b, thread, threads, pc, (M, N), (top, left), cut.m)
        ptx.ret()

    return gemm_highperf


def advance(stage: Reg, stages: int) -> None:
    """Increment `stage` in place, modulo `stages`."""
    stage += 1
    ptx.selp(u32, stage, 0, stage, stage == stages)


gemm_highperf = build_gemm_highperf()


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return A · B, computed by NumPy in float64."""
    return a.astype(np.float64) @ b.astype(np.float64)


def main() -> None:
    """Run the kernel on the simulator and print its largest error against a float64 reference."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((320, 264), (264, 392)))
    expected = reference(a, b)
    error = np.abs(gemm_highperf(a, b).astype(np.float64) - expected).max() / np.abs(expected).max()
    print(f"gemm_highperf 320x392x264: largest error {error:.1e} of the largest element")


if __name__ == "__main__":
    main()
