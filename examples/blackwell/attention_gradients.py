"""A block that differentiates attention on Blackwell: what it has, and the warps that fetch and multiply."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx import ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import bf16, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where this file is run by itself

from examples.attention.sides import OWNED, TOGETHER, TOLD_BYTES, Keys, Queries, told_of
from examples.attention.tiles import GROUP, load
from examples.blackwell.attention_products import accumulate, multiply

if TYPE_CHECKING:
    from pyptx.reg import Reg
    from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory

STEP = 128  # rows that pass at once
HALVES = 2  # of a step's columns, each with a warpgroup
HALF = STEP // HALVES  # as many as are told of together
STAGES = {64: 4, 128: 2}  # as fit into shared memory, by the head dimension
WORKERS = HALVES * GROUP
COLUMNS = 512


class Memory:
    """What a block has in shared memory: the two tiles that it owns, the stages of two that pass, and barriers."""

    def __init__(self, head_dim: int) -> None:
        """Allocate; `told` is what a kernel in front computed of the queries of a stage."""
        self.head_dim, self.depth = head_dim, STAGES[head_dim]
        self.own = SharedTile(bf16, (OWNED, head_dim))
        self.passing = SharedTile(bf16, (STEP, head_dim), stages=self.depth)
        self.across = SharedTile(bf16, (STEP, head_dim), major="MN", stages=self.depth)  # the same bytes, turned
        self.tiles = [smem.tile(self.own) for _ in range(2)]
        self.stages = [smem.tile(self.passing) for _ in range(2)]
        self.told = smem.alloc(f32, (self.depth, HALVES, 2, TOGETHER))
        self.owned, self.empty = smem.mbarrier(1), smem.mbarrier(self.depth)
        self.came = [smem.mbarrier(self.depth) for _ in range(2)]
        self.multiplied = [smem.mbarrier(1) for _ in range(2)]  # scores are there, and their products with dO and V
        self.weighed = [smem.mbarrier(1) for _ in range(2)]  # probabilities are there, and what changes them
        self.summed = smem.mbarrier(1)  # the gradients are complete

    def init(self) -> None:
        """Emit the initialisation of the barriers, for one thread."""
        counts = (
            *((each, 1) for each in (self.owned, *self.came, *self.multiplied, self.summed)),
            *((each, WORKERS) for each in self.weighed),
            (self.empty, 1 + WORKERS),  # the products have read a stage, and the workers what is told there
        )
        for barriers, count in counts:
            for barrier in barriers:
                ptx.mbarrier.init(barrier, count)
        ptx.fence.proxy_async_shared_cta()


def products_of(t: TensorMemory, which: int) -> TensorMemory:
    """Return where a step's scores lie (0), or the products of dO and V (1)."""
    return t[:, which * STEP : (which + 1) * STEP]


def factors_of(t: TensorMemory, which: int) -> list[TensorMemory]:
    """Return where the halves of probabilities (0) or their changes (1) lie, as bf16: each over what it was made of."""
    return [products_of(t, which)[:, half * HALF : half * HALF + HALF // 2] for half in range(HALVES)]


def sums_of(t: TensorMemory, number: int, head_dim: int) -> TensorMemory:
    """Return where the sums of a gradient lie."""
    first = 2 * STEP + number * head_dim
    return t[:, first : first + head_dim]


# --- the load warp ----------------------------------------------------------------------------------


def fetch(side: Keys | Queries, memory: Memory, arrays: dict) -> None:
    """Fetch the tiles that the block owns, then what passes; with queries, what is told of them."""
    ptx.mbarrier.arrive_expect_tx(memory.owned[0], 2 * memory.own.bytes)
    for name, tiles in zip(side.owns, memory.tiles, strict=True):
        load(memory.own, tiles, 0, arrays[name], side.place, memory.owned[0])
    turn = ptx.pipeline(memory.depth, phase=reg.scalar(u32, init=1))
    told = HALVES * TOLD_BYTES if isinstance(side, Keys) else 0
    for place in side.walk():
        stage, phase = turn.advance()
        ptx.mbarrier.wait(memory.empty[stage], phase)
        for name, tiles, came, more in zip(side.passes, memory.stages, memory.came, (told, 0), strict=True):
            ptx.mbarrier.arrive_expect_tx(came[stage], memory.passing.stage_bytes + more)
            load(memory.passing, tiles, stage, arrays[name], place, came[stage])
        if told:
            source = told_of(side.problem, place, arrays["TOLD"])
            ptx.cp.async_.bulk.load(memory.told[stage], source, told, mbar=memory.came[0][stage])


# --- the multiply warp ------------------------------------------------------------------------------


class Multiplier:
    """The thread that issues all products of a block, those of a step behind those of the step before."""

    def __init__(self, side: Keys | Queries, memory: Memory, t: TensorMemory) -> None:
        """Describe the tiles."""
        self.memory, self.gradients = memory, len(side.gradients)
        self.products = [products_of(t, which) for which in range(2)]
        self.factors = [factors_of(t, which) for which in range(2)]
        self.sums = [sums_of(t, number, memory.head_dim) for number in range(self.gradients)]
        self.own = [ptx.tcgen05.descriptor(tiles) for tiles in memory.tiles]
        self.passing = [ptx.tcgen05.descriptor(tiles) for tiles in memory.stages]
        self.turned = [turned(tiles, memory.across) for tiles in memory.stages]
        self.turn, self.phase = ptx.pipeline(memory.depth), reg.scalar(u32, init=0)
        self.before = reg.scalar(u32)  # the stage of the step before

    def run(self, steps: Reg | int) -> None:
        """Multiply: while workers have one matrix of a step in hand, its other one and sums are on their way."""
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
        ptx.tcgen05.commit(self.memory.summed[0])

    def multiply(self, which: int, stage: Reg, phase: Reg) -> None:
        """Start what is owned · (what passes)ᵀ, as soon as it has come."""
        memory = self.memory
        ptx.mbarrier.wait(memory.came[which][stage], phase)
        passing = ptx.tcgen05.advance(self.passing[which], memory.passing.stage_bytes, times=stage)
        multiply(self.products[which], self.own[which], memory.own, passing, memory.passing)
        ptx.tcgen05.commit(memory.multiplied[which][0])

    def add(self, which: int, *, more: Reg) -> None:
        """Add the products of probabilities (0) or their changes (1) with what passed in the step before.

        Changes with the first of what passed are the first gradient, probabilities with the second are the second.
        """
        memory, number = self.memory, 1 - which
        ptx.mbarrier.wait(memory.weighed[which][0], self.phase)
        ptx.tcgen05.fence_after_thread_sync()
        if number < self.gradients:
            passed = ptx.tcgen05.advance(self.turned[number], memory.across.stage_bytes, times=self.before)
            accumulate(self.sums[number], self.factors[which], passed, memory.across, more=more)
        if which == 1:
            ptx.tcgen05.commit(memory.empty[self.before])


def turned(tiles, layout: SharedTile) -> Reg:
    """Return the descriptor of tiles as `layout`, whatever the layout that they were allocated with."""
    return ptx.tcgen05.make_descriptor(
        tiles,
        leading_byte_offset=layout.leading_byte_offset,
        stride_byte_offset=layout.stride_byte_offset,
        swizzle=layout.swizzle,
    )
