"""A CTA of attention on Blackwell: tiles, shared and tensor memory, mbarriers, queries, and the jobs of its warps."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx import ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import bf16, f32, s32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.attention.problem import Problem, TilePosition, unflatten
from examples.attention.tiles import GROUP, Ring

if TYPE_CHECKING:
    from pyptx.reg import Reg
    from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory

ROWS = 128  # rows of a tile of Q: one per lane of tensor memory, and per thread of a softmax warpgroup
TILES = 2
KEYS = 128  # keys per iteration of the loop over keys
CORRECTION, OTHERS = 2, 3  # warpgroup indices; 0 and 1 compute softmax, OTHERS issues copies and MMAs
LOADER, MULTIPLIER = 12, 13  # indices of the warp that loads tiles and of the warp that issues MMAs
THREADS = 4 * GROUP
REGISTERS = (184, 80, 64)  # registers per thread of softmax, correction and other warpgroups; 2 * 184 + 80 + 64 = 512
COLUMNS = 512
CHUNK = 16  # tensor memory columns that a thread loads or stores per instruction


@dataclass(frozen=True, slots=True)
class Plan:
    """Tiles for one head dimension; `stages` stages of K and of V fit into shared memory with Q."""

    head_dim: int
    stages: int

    @property
    def q(self) -> SharedTile:
        """Layout of Q in shared memory, one stage per tile; O is stored through the same memory."""
        return SharedTile(bf16, (ROWS, self.head_dim), stages=TILES)

    @property
    def k(self) -> SharedTile:
        """Layout of K in shared memory; MMAs reduce along its head dimension."""
        return SharedTile(bf16, (KEYS, self.head_dim), stages=self.stages)

    @property
    def v(self) -> SharedTile:
        """Layout of V in shared memory; MMAs reduce along its keys."""
        return SharedTile(bf16, (KEYS, self.head_dim), major="MN", stages=self.stages)


PLANS = (Plan(head_dim=64, stages=4), Plan(head_dim=128, stages=2))


class Memory:
    """Shared memory: tiles, f32 per row that the softmax passes to the correction warpgroup, mbarriers per tile."""

    def __init__(self, plan: Plan) -> None:
        """Allocate shared memory and mbarriers."""
        self.plan = plan
        self.q, self.k, self.v = smem.tile(plan.q), Ring(plan.k, readers=1), Ring(plan.v, readers=1)
        self.factors, self.inverses = (smem.alloc(f32, (TILES, ROWS)) for _ in range(2))
        self.loaded = smem.mbarrier(TILES)  # mbarrier per query tile: its Q is in shared memory
        self.s_ready = smem.mbarrier(TILES)  # mbarrier per query tile: MMAs of S, and earlier MMAs into O, are complete
        self.factor_ready = smem.mbarrier(TILES)  # mbarrier per query tile: factors that rescale O are in shared memory
        self.inverse_ready = smem.mbarrier(TILES)  # mbarrier per query tile: inverses of row sums are in shared memory
        self.p_ready = smem.mbarrier(TILES)  # mbarrier per query tile: P is in tensor memory, and O is rescaled
        self.o_ready = smem.mbarrier(TILES)  # mbarrier per query tile: the last MMA into O is complete

    def init(self) -> None:
        """Emit the initialization of the mbarriers, for one thread."""
        for barriers, arrivals in (
            *((each, 1) for each in (self.loaded, self.s_ready, self.o_ready)),
            *((each, GROUP) for each in (self.factor_ready, self.inverse_ready)),
            (self.p_ready, 2 * GROUP),
        ):
            for barrier in barriers:
                ptx.mbarrier.init(barrier, arrivals)
        self.k.init()
        self.v.init()
        ptx.fence.proxy_async_shared_cta()


@dataclass(frozen=True, slots=True)
class Work:
    """Queries of a CTA: two tiles from row `place.row`, and `steps`, the number of iterations over their keys."""

    problem: Problem
    place: TilePosition
    steps: Reg

    def place_of(self, tile: Reg | int) -> TilePosition:
        """Return the position of the CTA's query tile `tile`."""
        return replace(self.place, row=self.place.row + tile * ROWS)


def tiles_of(queries: int) -> int:
    """Return the number of CTAs for `queries` queries of a head."""
    return -(-queries // (TILES * ROWS))


def work_of(problem: Problem) -> Work:
    """Return this CTA's `Work`, its queries: heads vary fastest; if causal, tiles with most keys come first."""
    blocks = tiles_of(problem.queries)
    head, block, batch = unflatten(reg.from_(ptx.special.ctaid.x(), u32), problem.heads, blocks)
    if problem.causal:
        block = (blocks - 1) - block
    place = TilePosition(head, batch, block * (TILES * ROWS))
    return Work(problem, place, reg.scalar(s32, init=problem.steps(place.row + TILES * ROWS, KEYS)))


# --- tensor memory ----------------------------------------------------------------------------------


def scores_of(t: TensorMemory, tile: int) -> TensorMemory:
    """Return the tensor memory columns of a query tile's scores; the left half is overwritten by probabilities."""
    return t[:, tile * KEYS : (tile + 1) * KEYS]


def accumulator_of(t: TensorMemory, tile: int, head_dim: int) -> TensorMemory:
    """Return the tensor memory columns of a query tile's accumulator of O."""
    first = TILES * KEYS + tile * head_dim
    return t[:, first : first + head_dim]
