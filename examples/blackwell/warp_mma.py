"""Common part of the GEMMs for consumer Blackwell (sm_120): `mma.sync` on a ring of stages that TMA fills.

These GPUs have no `tcgen05` and no tensor memory: warps keep accumulators in registers, as on Ampere, and TMA loads the
operands, as on Hopper. A CTA has 99 KB of shared memory, which hold three stages of 32 KB: 128 rows of A and 128
columns of B, 128 bytes of K of each. One warp issues the copies; eight warps compute 64 x 32 of C each.

    TMA warp  -- bytes -->  `full`: the stage is loaded  -->  ldmatrix and mma.sync of eight warps
    eight warps  -- an arrival each -->  `empty`: the stage is read  -->  TMA warp

Copies go to `shared::cta`: sm_120 has clusters, and for a copy to `shared::cluster` ptxas adds a comparison, and a call
for the case that the destination is another CTA.

Four steps of 32 bytes of K make a stage, for every type: 16 elements of bf16, 32 of fp8, 64 of fp4. The rows that
ldmatrix reads are in different banks (`SharedTile` swizzles them, as TMA writes them).

TMA also stores C. A stage of A is as large as 128 rows of 64 columns of bf16; after the last read, the first two stages
become the tile of C. TMA clips the tile at the edges of C.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx import ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import b32, bf16, bf16x2, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if a script imports this

from examples import tile_order
from examples.ampere.gemm_highperf_ampere import split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyptx.reg import Reg, RegArray
    from pyptx.smem import SharedAlloc

    Product = tuple[Sequence[Reg], RegArray, Sequence[Reg], tuple[int, int]]

BM, BN = 128, 128  # rows and columns of C per CTA
DEPTH = 128  # bytes along K of A and B per stage: the width of the 128B swizzle
STEP = 32  # bytes along K of A and B per mma.sync
STAGES = 3
WM, WN = 64, 32  # rows and columns of C per warp: 64 accumulator registers per lane
BAND = 8  # rows of tiles per band: CTAs compute C band by band, so that concurrent CTAs share operands
CONSUMERS = BM // WM * (BN // WN)
PRODUCER, THREADS = CONSUMERS, (CONSUMERS + 1) * 32
C = SharedTile(bf16, (BM, DEPTH // bf16.bytes), stages=2)  # each stage holds half the columns of a C tile


@dataclass(frozen=True, slots=True)
class Block:
    """Warp index and lane of this thread, and the first row and column of the CTA's tile of C."""

    warp: Reg
    lane: Reg
    row: Reg
    column: Reg

    @classmethod
    def of(cls, c) -> Block:
        """Return this thread's `Block`; CTAs that run at the same time have adjacent tiles of C."""
        thread, block = reg.from_(ptx.special.tid.x(), u32), reg.from_(ptx.special.ctaid.x(), u32)
        M, N = c.shape
        row, column = tile_order.place(block, -(-M // BM), -(-N // BN), BAND)
        warp, lane = split(thread, 32)
        return cls(warp, lane, row * BM, column * BN)


def blocks(M: int, N: int) -> int:
    """Return the number of CTAs, one per tile of C."""
    return -(-M // BM) * -(-N // BN)


class Ring:
    """Ring of stages of A and B in shared memory, and their mbarriers."""

    def __init__(self, a: SharedTile, b: SharedTile) -> None:
        """Allocate stages and mbarriers, initialize the mbarriers, and synchronize all threads of the CTA."""
        self.layouts = a, b
        self.a, self.b = smem.tile(a), smem.tile(b)
        self.full, self.empty = smem.mbarrier(STAGES), smem.mbarrier(STAGES)
        with ptx.if_(ptx.special.tid.x() == 0):
            for full, empty in zip(self.full, self.empty, strict=True):
                ptx.mbarrier.init(full, 1)
                ptx.mbarrier.init(empty, CONSUMERS)
            ptx.fence.proxy_async_shared_cta()  # makes the mbarriers visible to TMA
        ptx.bar.sync()

    def produce(self, steps: int, fetch: Callable[[Reg, Reg, object], None]) -> None:
        """Fill stage after stage, in one thread: `fetch(step, stage, barrier)` starts the copies of one stage."""
        ring = ptx.pipeline(STAGES, phase=reg.scalar(u32, init=1))  # all stages start empty: the first waits pass
        for step in ptx.range_(0, steps):
            stage, phase = ring.advance()
            ptx.mbarrier.wait(self.empty[stage], phase)
            ptx.mbarrier.arrive_expect_tx(self.full[stage], sum(layout.stage_bytes for layout in self.layouts))
            fetch(step, stage, self.full[stage])

    def release(self, stage: Reg, lane: Reg) -> None:
        """Arrive at `empty` of a stage that this warp has read."""
        ptx.bar.warp.sync()  # all lanes of the warp have read the stage
        ptx.mbarrier.arrive(self.empty[stage], pred=lane == 0)


class Rows:
    """Blocks of 16 rows, from row `first`, of an operand that is contiguous along K; four registers each.

    A lane passes ldmatrix the address of 16 of the 32 bytes of a step, in one row of a block. Eight lanes
    address one register of a fragment. For A these are rows 0 to 7, rows 8 to 15, then both with the other 16 bytes.
    For B, a block is two fragments of eight columns of C: rows 0 to 7 with each 16 bytes, then rows 8 to 15.
    """

    def __init__(
        self, tile: SharedAlloc, layout: SharedTile, lane: Reg, first: Reg, rows: int, *, of_b: bool = False
    ) -> None:
        """Compute the address that this lane passes to ldmatrix in each step."""
        self.layout = layout
        half, row = split(lane, 16)
        if of_b:
            half, row = (lane >> 3) & 1, half * 8 + (lane & 7)
        size = layout.dtype.bytes
        chunks = [half * (16 // size) + step // size for step in range(0, DEPTH, STEP)]
        self._at = [reg.from_(tile.address(0, first + row, chunk), u32) for chunk in chunks]
        self.blocks = [reg.array(b32, 4) for _ in range(0, rows, 16)]

    def load(self, stage: Reg, step: int) -> list[RegArray]:
        """Load the fragments of one step of a stage, with one ldmatrix per block."""
        source = self._at[step] + stage * self.layout.stage_bytes
        for index, block in enumerate(self.blocks):
            ptx.ldmatrix(dst=block, src=ptx.addr(source, self.layout.offset(mn=16 * index)))
        return self.blocks


class Columns:
    """Blocks of 16 columns of B that is contiguous along N: like `Rows`, but ldmatrix transposes the blocks."""

    def __init__(self, tile: SharedAlloc, layout: SharedTile, lane: Reg, first: Reg, columns: int) -> None:
        """Compute the address that this lane passes to ldmatrix for each block."""
        self.layout = layout
        half, row = split(lane, 16)
        self._at = []
        for start in range(0, columns, 16):
            panel, inside = split(first + (half * 8 + start), layout.box_columns)
            self._at.append(reg.from_(tile.address(0, panel, row, inside), u32))
        self.blocks = [reg.array(b32, 4) for _ in self._at]

    def load(self, stage: Reg, step: int) -> list[RegArray]:
        """Load the fragments of one step of a stage, with one ldmatrix per block."""
        below = stage * self.layout.stage_bytes
        for source, block in zip(self._at, self.blocks, strict=True):
            ptx.ldmatrix(dst=block, src=ptx.addr(source + below, self.layout.offset(k=16 * step)), trans=True)
        return self.blocks


class Warp:
    """A warp's 64 x 32 part of the CTA's tile of C, from row `row` and column `column` of that tile."""

    def __init__(self, block: Block) -> None:
        """Compute the warp's row and column in the tile, and initialize the accumulators with zeros."""
        row, column = split(block.warp, BN // WN)
        self.row, self.column, self.lane = row * WM, column * WN, block.lane
        self.acc = [[[reg.scalar(f32, init=0.0) for _ in range(4)] for _ in range(WN // 8)] for _ in range(WM // 16)]

    def products(self, a: Sequence[RegArray], b: Sequence[RegArray]) -> Iterator[Product]:
        """Yield for each MMA of a step its accumulators, its A and B fragments, and the fragments' indices."""
        eights = [list(block)[first : first + 2] for block in b for first in (0, 2)]
        for i, (row, left) in enumerate(zip(self.acc, a, strict=True)):
            for j, (acc, right) in enumerate(zip(row, eights, strict=True)):
                yield acc, left, right, (i, j)

    def park(self, ring: Ring) -> None:
        """Round the accumulators to bf16, and write them to the shared memory of the stages of A."""
        half, row = split(self.lane, 16)
        size = ring.layouts[0].dtype.bytes
        for block in range(0, WN, 16):
            panel, inside = split(self.column + (half * 8 + block), DEPTH // bf16.bytes)
            target = reg.from_(ring.a.address(panel, self.row + row, inside * bf16.bytes // size), u32)
            for index, acc in enumerate(self.acc):
                quarters = [(pair, acc[block // 8 + side]) for side in range(2) for pair in (0, 2)]
                words = [
                    ptx.cvt(bf16x2, f32, reg.scalar(b32), eight[pair + 1], eight[pair], rounding="rn")
                    for pair, eight in quarters
                ]
                ptx.stmatrix(smem=ptx.addr(target, C.offset(mn=16 * index)), regs=words)


def store(ring: Ring, c, block: Block, park: Callable[[], None]) -> None:
    """After all warps have read all stages, `park` the consumers' accumulators, and store the tile by TMA."""
    ptx.bar.sync()
    with ptx.if_(block.warp < CONSUMERS):
        park()
        ptx.fence.proxy_async_shared_cta()  # makes the tile of C visible to TMA
    ptx.bar.sync()
    with ptx.if_((block.warp == 0) & (block.lane == 0)):
        for panel in range(BN // C.shape[1]):
            corner = (block.column + panel * C.shape[1], block.row)
            ptx.cp.async_.bulk.tensor_2d.store(dst=c, src=ring.a[panel], coord=corner)
        ptx.cp.async_.bulk.commit_group()
        ptx.cp.async_.bulk.wait_group(0, read=True)  # wait until TMA has read shared memory, before the CTA exits
