"""The two kinds of blocks that differentiate attention: what they own, what passes them, and who sees whom."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx import ptx, smem
from pyptx.smem import SharedTile
from pyptx.types import bf16, f32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where this file is run by itself

from examples.attention.problem import Place, Problem, divided
from examples.attention.tiles import WARPS
from examples.hopper.attention_plans import ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx.reg import Reg

CONSUMERS = 2
OWNED = CONSUMERS * ROWS  # rows of a block
STEP = 64  # rows that it walks over in one step
STAGES = 3
TOLD_BYTES = 2 * STEP * 4  # two f32 of each query of a step


def blocks_of(rows: int) -> int:
    """Return how many blocks own `rows` rows of a head."""
    return -(-rows // OWNED)


def steps_of(queries: int) -> int:
    """Return how many steps the blocks of `queries` queries have: the `T` of what is told of them."""
    return blocks_of(queries) * (OWNED // STEP)


def told_of(problem: Problem, place: Place, array) -> Reg:
    """Return the address of what is told of the step of queries that begins at `place`."""
    (pointer,) = ptx.global_ptrs(array)
    line = (place.batch * problem.heads + place.head) * array.shape[2]
    return pointer + (line + divided(place.row, STEP)) * TOLD_BYTES


class Memory:
    """What a block has in shared memory: the two tiles that it owns, the stages of two that pass, and barriers.

    `told` is what the first kernel computed of the queries of a stage; `swizzle` is that of what the block owns.
    """

    def __init__(self, head_dim: int, swizzle: str = "widest") -> None:
        """Allocate; the barriers count the bytes that come (`owned`, `came`) and the warps that have read (`empty`)."""
        self.own = SharedTile(bf16, (ROWS, head_dim), swizzle=swizzle, stages=CONSUMERS)
        self.passing = SharedTile(bf16, (STEP, head_dim), stages=STAGES)
        self.across = SharedTile(bf16, (STEP, head_dim), major="MN", stages=STAGES)  # the same bytes, turned
        self.tiles = [smem.tile(self.own) for _ in range(2)]
        self.stages = [smem.tile(self.passing) for _ in range(2)]
        self.told = smem.alloc(f32, (STAGES, 2, STEP))
        self.owned, self.empty = smem.mbarrier(1), smem.mbarrier(STAGES)
        self.came = [smem.mbarrier(STAGES) for _ in range(2)]

    def init(self) -> None:
        """Emit the initialisation of the barriers, for one thread."""
        for barriers, count in ((self.owned, 1), *((each, 1) for each in self.came), (self.empty, CONSUMERS * WARPS)):
            for barrier in barriers:
                ptx.mbarrier.init(barrier, count)
        ptx.fence.proxy_async_shared_cta()


@dataclass(frozen=True, slots=True)
class Keys:
    """The side of blocks that own keys: queries pass, of each head that shares the keys."""

    problem: Problem
    place: Place
    owns = ("K", "V")
    passes = ("Q", "DOUT")
    gradients = ("DK", "DV")

    def walk(self) -> Iterator[Place]:
        """Loop over the queries that see some key, of one head after the other."""
        problem = self.problem
        for index in ptx.range_(problem.shared) if problem.shared > 1 else [0]:
            first = divided((self.place.row - problem.ahead).max(0), STEP) * STEP if problem.causal else 0
            for row in ptx.range_(first, problem.queries, STEP):
                yield Place(self.place.head * problem.shared + index, self.place.batch, row)

    def hides(self, row: Reg) -> Reg | None:
        """Return whether one of the queries from `row` on does not see every key; None if all do."""
        return row < self.place.row + (OWNED - 1 - self.problem.ahead) if self.problem.causal else None

    def limit(self, row: Reg, column: Reg) -> Reg:
        """Return the first query that sees a thread's first key, counted from its first column."""
        return row - column - self.problem.ahead

    def sees(self, limit: Reg, row: int, column: int) -> Reg:
        """Return whether a thread's query (`column`) sees its key (`row`), both counted from its first."""
        return limit <= column - row


@dataclass(frozen=True, slots=True)
class Queries:
    """The side of blocks that own queries: the keys that they see pass."""

    problem: Problem
    place: Place
    owns = ("Q", "DOUT")
    passes = ("K", "V")
    gradients = ("DQ",)

    def walk(self) -> Iterator[Place]:
        """Loop over the keys that some query sees."""
        head = divided(self.place.head, self.problem.shared)
        end = self.problem.steps(self.place.row + OWNED, STEP) * STEP
        for row in ptx.range_(0, end, STEP):
            yield Place(head, self.place.batch, row)

    def hides(self, row: Reg) -> Reg | None:
        """Return whether one of the keys from `row` on is not seen by every query; None if all are."""
        if not (self.problem.causal or self.problem.keys % STEP):
            return None
        return row >= self.problem.whole_steps(self.place.row, STEP) * STEP

    def limit(self, row: Reg, column: Reg) -> Reg:
        """Return the last key that a thread's first query sees, counted from its first column."""
        if not self.problem.causal:
            return (self.problem.keys - 1) - column
        return row - column + self.problem.ahead

    def sees(self, limit: Reg, row: int, column: int) -> Reg:
        """Return whether a thread's query (`row`) sees its key (`column`), both counted from its first."""
        return limit >= (column - row if self.problem.causal else column)
