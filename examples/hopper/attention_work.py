"""Work of an attention CTA: its queries and keys, the producer that loads K and V, and the consumers' stages."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx import ptx, reg, smem
from pyptx.types import s32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if a script imports this

from examples.attention.problem import Problem, TilePosition, divided, unflatten
from examples.attention.tiles import Ring, load
from examples.hopper.attention_plans import ROWS, Plan

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyptx.reg import Reg
    from pyptx.smem import SharedAlloc


@dataclass(frozen=True, slots=True)
class Work:
    """Queries of a head, and iterations over their keys in this CTA: `first` up to `behind` - 1."""

    plan: Plan
    problem: Problem
    place: TilePosition
    first: Reg | int
    behind: Reg

    def if_any(self) -> AbstractContextManager[object]:
        """Emit a branch around the body for CTAs without steps; no branch if keys are not split: all have steps."""
        return nullcontext() if self.plan.splits == 1 else ptx.if_(self.first < self.behind)


def work_of(plan: Plan, problem: Problem) -> Work:
    """Return this CTA's queries and keys (`Work`): heads vary fastest; if causal, tiles with most keys come first.

    The steps of a tile are divided evenly over its cluster; the last ones, on the diagonal, go to the last CTA.
    """
    number = ptx.special.ctaid.x() if plan.splits == 1 else ptx.special.clusterid.x()
    blocks = plan.tiles(problem.queries)
    head, block, batch = unflatten(reg.from_(number, u32), problem.heads, blocks)
    if problem.causal:
        block = (blocks - 1) - block
    place = TilePosition(head, batch, block * plan.rows)
    steps = reg.scalar(s32, init=problem.steps(place.row + plan.rows, plan.keys))
    if plan.splits == 1:
        return Work(plan, problem, place, 0, steps)
    rank = reg.from_(ptx.special.cluster_ctarank(), s32)
    first, behind = (divided(steps * each, plan.splits) for each in (rank, rank + 1))
    return Work(plan, problem, place, first, behind)


# --- queries ----------------------------------------------------------------------------------------


class QueryTiles:
    """Shared memory of Q, one stage per consumer, with the mbarrier `full`. O is stored through the same memory."""

    def __init__(self, plan: Plan, tiles: SharedAlloc) -> None:
        """Allocate the mbarrier `full`; `tiles` is the shared memory of Q."""
        self.plan, self.tiles, self.full = plan, tiles, smem.mbarrier(1)[0]

    def init(self) -> None:
        """Emit mbarrier.init, in one thread."""
        ptx.mbarrier.init(self.full, 1)

    def fetch(self, place: TilePosition, tensor) -> None:
        """Start the TMA loads of Q for all consumers."""
        ptx.mbarrier.arrive_expect_tx(self.full, self.plan.q.bytes)
        for consumer in range(self.plan.consumers):
            at = replace(place, row=place.row + consumer * ROWS)
            load(self.plan.q, self.tiles, consumer, tensor, at, self.full)


# --- keys and values --------------------------------------------------------------------------------


class Producer:
    """Thread that loads queries, keys and values, in the order in which the consumers use them."""

    def __init__(self, queries: QueryTiles, rings: list[Ring], tensors) -> None:
        """Initialize the pipeline positions of K and V: all stages are empty."""
        self.queries, self.rings, self.tensors = queries, rings, tensors
        self.turns = [ptx.pipeline(ring.layout.stages, phase=reg.scalar(u32, init=1)) for ring in rings]

    def fetch(self, work: Work) -> None:
        """Load Q, K and V for a tile of queries."""
        self.queries.fetch(work.place, self.tensors[0])
        with work.if_any():
            self._fetch_keys(work)

    def _fetch_keys(self, work: Work) -> None:
        size = work.plan.keys
        first, last = work.first * size, (work.behind - 1) * size
        self._next(work, 0, last)
        for row in ptx.range_(last - size, first - 1, -size):
            self._next(work, 0, row)
            self._next(work, 1, row + size)  # V of a step is loaded after K of the next step
        self._next(work, 1, reg.scalar(s32, init=first))

    def _next(self, work: Work, which: int, row: Reg) -> None:
        ring, (stage, phase) = self.rings[which], self.turns[which].advance()
        ptx.mbarrier.wait(ring.empty[stage], phase)
        ptx.mbarrier.arrive_expect_tx(ring.full[stage], ring.layout.stage_bytes)
        place = TilePosition(divided(work.place.head, work.problem.shared), work.place.batch, row)
        load(ring.layout, ring.tiles, stage, self.tensors[1 + which], place, ring.full[stage])


class Reader:
    """Position of a consumer warp in a ring of stages, and the stage that the warp reads."""

    def __init__(self, ring: Ring) -> None:
        """Initialize the position; the warp reads no stage yet."""
        self.ring, self.turn = ring, ptx.pipeline(ring.layout.stages)
        self.stage = reg.scalar(u32, init=ring.layout.stages)

    def wait(self) -> Reg:
        """Wait until the next stage is full, and return its index."""
        stage, phase = self.turn.advance()
        ptx.mbarrier.wait(self.ring.full[stage], phase)
        ptx.inst.mov.u32(self.stage, stage)
        return stage

    def release(self, first_lane: Reg) -> None:
        """Arrive at `empty` of the stage that this warp waited for last, if any, after the warp has read that stage."""
        ptx.mbarrier.arrive(self.ring.empty[self.stage], pred=first_lane & (self.stage < self.ring.layout.stages))
