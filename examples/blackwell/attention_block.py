"""A block of attention on Blackwell: its tiles, its memories and barriers, what it works for, whose job is what."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx import ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import bf16, f32, s32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where this file is run by itself

from examples.attention.problem import Place, Problem, dealt
from examples.attention.tiles import GROUP, Ring

if TYPE_CHECKING:
    from pyptx.reg import Reg
    from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory

ROWS = 128  # of a tile of Q: the lanes of tensor memory, and the threads of a softmax warpgroup
TILES = 2
KEYS = 128  # of a step
CORRECTION, OTHERS = 2, 3  # warpgroups, behind those of the softmax; the last has the warps that only issue
LOADER, MULTIPLIER = 12, 13  # warps
THREADS = 4 * GROUP
REGISTERS = (184, 80, 64)  # of a thread of the softmax, the correction, the others: twice the first, and they make 512
COLUMNS = 512
CHUNK = 16  # columns that a thread moves at once


@dataclass(frozen=True, slots=True)
class Plan:
    """The tiles of a head dimension; `stages` of K and of V fit beside Q into shared memory."""

    head_dim: int
    stages: int

    @property
    def q(self) -> SharedTile:
        """Q, a stage for each tile; O leaves through the same memory."""
        return SharedTile(bf16, (ROWS, self.head_dim), stages=TILES)

    @property
    def k(self) -> SharedTile:
        """K, multiplied along the head."""
        return SharedTile(bf16, (KEYS, self.head_dim), stages=self.stages)

    @property
    def v(self) -> SharedTile:
        """V, multiplied along the keys."""
        return SharedTile(bf16, (KEYS, self.head_dim), major="MN", stages=self.stages)


PLANS = (Plan(head_dim=64, stages=4), Plan(head_dim=128, stages=2))


class Memory:
    """Shared memory: tiles, what softmax tells the correction of each row, and barriers, one for each tile."""

    def __init__(self, plan: Plan) -> None:
        """Allocate."""
        self.plan = plan
        self.q, self.k, self.v = smem.tile(plan.q), Ring(plan.k, readers=1), Ring(plan.v, readers=1)
        self.factors, self.inverses = (smem.alloc(f32, (TILES, ROWS)) for _ in range(2))
        self.loaded = smem.mbarrier(TILES)  # Q is there
        self.scored = smem.mbarrier(TILES)  # S is there, and so is what was added to O before it
        self.told, self.closed = smem.mbarrier(TILES), smem.mbarrier(TILES)  # factors are there; at the end, inverses
        self.weighed = smem.mbarrier(TILES)  # P is there, and O is scaled
        self.summed = smem.mbarrier(TILES)  # O is complete

    def init(self) -> None:
        """Emit the initialisation of the barriers, for one thread."""
        for barriers, arrivals in (
            *((each, 1) for each in (self.loaded, self.scored, self.summed)),
            *((each, GROUP) for each in (self.told, self.closed)),
            (self.weighed, 2 * GROUP),
        ):
            for barrier in barriers:
                ptx.mbarrier.init(barrier, arrivals)
        self.k.init()
        self.v.init()
        ptx.fence.proxy_async_shared_cta()


@dataclass(frozen=True, slots=True)
class Work:
    """The queries of a block: two tiles from `place.row` on, and how many steps of keys they walk over."""

    problem: Problem
    place: Place
    steps: Reg

    def place_of(self, tile: Reg | int) -> Place:
        """Return where a tile of the block begins."""
        return replace(self.place, row=self.place.row + tile * ROWS)


def tiles_of(queries: int) -> int:
    """Return how many blocks the queries of a head take."""
    return -(-queries // (TILES * ROWS))


def work_of(problem: Problem) -> Work:
    """Return what this block works for: heads first, and of causal problems the longest rows first."""
    blocks = tiles_of(problem.queries)
    head, block, batch = dealt(reg.from_(ptx.special.ctaid.x(), u32), problem.heads, blocks)
    if problem.causal:
        block = (blocks - 1) - block
    place = Place(head, batch, block * (TILES * ROWS))
    return Work(problem, place, reg.scalar(s32, init=problem.steps(place.row + TILES * ROWS, KEYS)))


# --- tensor memory ----------------------------------------------------------------------------------


def scores_of(t: TensorMemory, tile: int) -> TensorMemory:
    """Return where a tile has its scores, and in their left half its probabilities."""
    return t[:, tile * KEYS : (tile + 1) * KEYS]


def sums_of(t: TensorMemory, tile: int, head_dim: int) -> TensorMemory:
    """Return where a tile has its O."""
    first = TILES * KEYS + tile * head_dim
    return t[:, first : first + head_dim]
