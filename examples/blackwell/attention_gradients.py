"""A CTA of the backward pass of attention on Blackwell: its memory, and the warps that load tiles and issue MMAs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx import ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import bf16, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.attention.sides import OWNED, STATS_BYTES, TOGETHER, Keys, Queries, stats_of
from examples.attention.tiles import GROUP, load
from examples.blackwell.attention_mma import accumulate, multiply

if TYPE_CHECKING:
    from pyptx.reg import Reg
    from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory

STEP = 128  # queries (or keys) that the CTA processes per iteration
HALVES = 2  # halves of the score columns of an iteration, one per worker warpgroup
HALF = STEP // HALVES  # score columns per worker warpgroup; equals `TOGETHER`: queries with contiguous LSE and delta
STAGES = {64: 4, 128: 2}  # stages of shared memory for loaded tiles, by head dimension
WORKERS = HALVES * GROUP
COLUMNS = 512


class Memory:
    """Shared memory of a CTA: the two tiles that it owns, stages of the two tiles that it iterates over, mbarriers."""

    def __init__(self, head_dim: int) -> None:
        """Allocate shared memory; `stats` has -LSE and delta of a stage's queries, which an earlier kernel computes."""
        self.head_dim, self.depth = head_dim, STAGES[head_dim]
        self.own = SharedTile(bf16, (OWNED, head_dim))
        self.passing = SharedTile(bf16, (STEP, head_dim), stages=self.depth)
        self.across = SharedTile(bf16, (STEP, head_dim), major="MN", stages=self.depth)  # layout of transposed reads
        self.tiles = [smem.tile(self.own) for _ in range(2)]
        self.stages = [smem.tile(self.passing) for _ in range(2)]
        self.stats = smem.alloc(f32, (self.depth, HALVES, 2, TOGETHER))
        self.owned, self.empty = smem.mbarrier(1), smem.mbarrier(self.depth)
        self.loaded = [smem.mbarrier(self.depth) for _ in range(2)]
        self.mma_done = [smem.mbarrier(1) for _ in range(2)]  # mbarriers: MMAs of scores [0], of dP [1] are complete
        self.operand_ready = [smem.mbarrier(1) for _ in range(2)]  # mbarriers: P [0], dS [1] is in tensor memory
        self.gradients_done = smem.mbarrier(1)  # mbarrier: all MMAs of the CTA are complete

    def init(self) -> None:
        """Emit the initialization of the mbarriers, for one thread."""
        counts = (
            *((each, 1) for each in (self.owned, *self.loaded, *self.mma_done, self.gradients_done)),
            *((each, WORKERS) for each in self.operand_ready),
            (self.empty, 1 + WORKERS),  # arrivals: the commit of a stage's MMAs; worker threads that read LSE and delta
        )
        for barriers, count in counts:
            for barrier in barriers:
                ptx.mbarrier.init(barrier, count)
        ptx.fence.proxy_async_shared_cta()


def products_of(t: TensorMemory, which: int) -> TensorMemory:
    """Return the tensor memory columns of a step's scores (0) or of dP = dO · Vᵀ (1)."""
    return t[:, which * STEP : (which + 1) * STEP]


def factors_of(t: TensorMemory, which: int) -> list[TensorMemory]:
    """Return the columns of both bf16 halves of P (0) or dS (1), which overwrite the f32 scores (0) or dP (1)."""
    return [products_of(t, which)[:, half * HALF : half * HALF + HALF // 2] for half in range(HALVES)]


def accumulator_of(t: TensorMemory, number: int, head_dim: int) -> TensorMemory:
    """Return the tensor memory columns of a gradient's accumulator."""
    first = 2 * STEP + number * head_dim
    return t[:, first : first + head_dim]


# --- the warp that loads tiles ----------------------------------------------------------------------


def fetch(side: Keys | Queries, memory: Memory, arrays: dict) -> None:
    """Load the tiles that the CTA owns, then the tiles of each step; if these are queries, also their LSE and delta."""
    ptx.mbarrier.arrive_expect_tx(memory.owned[0], 2 * memory.own.bytes)
    for name, tiles in zip(side.owns, memory.tiles, strict=True):
        load(memory.own, tiles, 0, arrays[name], side.place, memory.owned[0])
    turn = ptx.pipeline(memory.depth, phase=reg.scalar(u32, init=1))
    stats = HALVES * STATS_BYTES if isinstance(side, Keys) else 0
    for place in side.walk():
        stage, phase = turn.advance()
        ptx.mbarrier.wait(memory.empty[stage], phase)
        for name, tiles, loaded, more in zip(side.passes, memory.stages, memory.loaded, (stats, 0), strict=True):
            ptx.mbarrier.arrive_expect_tx(loaded[stage], memory.passing.stage_bytes + more)
            load(memory.passing, tiles, stage, arrays[name], place, loaded[stage])
        if stats:
            source = stats_of(side.problem, place, arrays["STATS"])
            ptx.cp.async_.bulk.load(memory.stats[stage], source, stats, mbar=memory.loaded[0][stage])


# --- the warp that issues MMAs ----------------------------------------------------------------------


class Multiplier:
    """The thread that issues all MMAs of a CTA, step by step."""

    def __init__(self, side: Keys | Queries, memory: Memory, t: TensorMemory) -> None:
        """Create the shared memory descriptors of the tiles."""
        self.memory, self.gradients = memory, len(side.gradients)
        self.products = [products_of(t, which) for which in range(2)]
        self.factors = [factors_of(t, which) for which in range(2)]
        self.accumulators = [accumulator_of(t, number, memory.head_dim) for number in range(self.gradients)]
        self.own = [ptx.tcgen05.descriptor(tiles) for tiles in memory.tiles]
        self.passing = [ptx.tcgen05.descriptor(tiles) for tiles in memory.stages]
        self.transposed = [transposed(tiles, memory.across) for tiles in memory.stages]
        self.turn, self.phase = ptx.pipeline(memory.depth), reg.scalar(u32, init=0)
        self.before = reg.scalar(u32)  # stage with the tiles of the previous step, which its gradient MMAs read

    def run(self, steps: Reg | int) -> None:
        """Issue all MMAs; while warps process scores (or dP), MMAs of dP (or scores) and gradients are in flight."""
        ptx.mbarrier.wait(self.memory.owned[0], 0)
        stage, phase = self.turn.advance()
        for which in range(2):
            self.multiply(which, stage, phase)
        ptx.inst.mov.u32(self.before, stage)
        for step in ptx.range_(1, steps):
            stage, phase = self.turn.advance()
            for which in range(2):
                self.add(which, more=step > 1)
                self.multiply(which, stage, phase)
            ptx.inst.mov.u32(self.before, stage)
            self.phase ^= 1
        for which in range(2):
            self.add(which, more=reg.scalar(u32, init=steps) > 1)
        ptx.tcgen05.commit(self.memory.gradients_done[0])

    def multiply(self, which: int, stage: Reg, phase: Reg) -> None:
        """Start owned tile · (loaded tile)ᵀ, as soon as the loaded tile is complete."""
        memory = self.memory
        ptx.mbarrier.wait(memory.loaded[which][stage], phase)
        passing = ptx.tcgen05.advance(self.passing[which], memory.passing.stage_bytes, times=stage)
        multiply(self.products[which], self.own[which], memory.own, passing, memory.passing)
        ptx.tcgen05.commit(memory.mma_done[which][0])

    def add(self, which: int, *, more: Reg) -> None:
        """Accumulate a gradient: P (0) or dS (1) times a tile of the previous step's stage.

        dS times tile 0 of the stage is added to gradient 0, P times tile 1 to gradient 1, if the CTA has two gradients.
        """
        memory, number = self.memory, 1 - which
        ptx.mbarrier.wait(memory.operand_ready[which][0], self.phase)
        ptx.tcgen05.fence_after_thread_sync()
        if number < self.gradients:
            passed = ptx.tcgen05.advance(self.transposed[number], memory.across.stage_bytes, times=self.before)
            accumulate(self.accumulators[number], self.factors[which], passed, memory.across, more=more)
        if which == 1:
            ptx.tcgen05.commit(memory.empty[self.before])


def transposed(tiles, layout: SharedTile) -> Reg:
    """Return the shared memory descriptor of tiles with `layout` instead of the layout of their allocation."""
    return ptx.tcgen05.make_descriptor(
        tiles,
        leading_byte_offset=layout.leading_byte_offset,
        stride_byte_offset=layout.stride_byte_offset,
        swizzle=layout.swizzle,
    )
