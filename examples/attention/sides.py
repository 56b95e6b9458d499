"""CTAs of attention's backward pass, which own a tile of keys or of queries: their iterations and the causal mask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from examples.attention.problem import Problem, TilePosition, divided, unflatten

from pyptx import ptx, reg
from pyptx.types import u32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx.reg import Reg

OWNED = 128  # number of a head's queries (or keys) that a CTA owns
TOGETHER = 64  # queries per iteration; LSE and delta of this many queries are contiguous
STATS_BYTES = 2 * TOGETHER * 4  # bytes of STATS per iteration: two f32 per query


def blocks_of(rows: int) -> int:
    """Return the number of CTAs that own `rows` rows of a head."""
    return -(-rows // OWNED)


def steps_of(queries: int) -> int:
    """Return the extent `T` of STATS: the number of groups of `TOGETHER` queries, rounded up to whole CTAs."""
    return blocks_of(queries) * (OWNED // TOGETHER)


def stats_of(problem: Problem, place: TilePosition, array) -> Reg:
    """Return the address of the STATS values of the `TOGETHER` queries from `place` on."""
    (pointer,) = ptx.global_ptrs(array)
    line = (place.batch * problem.heads + place.head) * array.shape[2]
    return pointer + (line + divided(place.row, TOGETHER)) * STATS_BYTES


@dataclass(frozen=True, slots=True)
class Keys:
    """CTA that owns a tile of keys and iterates over the queries of each head that shares those keys."""

    problem: Problem
    place: TilePosition
    step: int  # queries that the CTA processes per iteration
    owns = ("K", "V")
    passes = ("Q", "DOUT")
    gradients = ("DK", "DV")

    def walk(self) -> Iterator[TilePosition]:
        """Emit a loop over blocks of `step` queries that see some key, head by head; yield each block's position."""
        problem = self.problem
        for index in ptx.range_(problem.shared) if problem.shared > 1 else [0]:
            first = self.steps_before() * self.step if problem.causal else 0
            for row in ptx.range_(first, problem.queries, self.step):
                yield TilePosition(self.place.head * problem.shared + index, self.place.batch, row)

    def steps_before(self) -> Reg:
        """Return the number of leading blocks of `step` queries that see no key of this CTA (causal mask)."""
        return divided((self.place.row - self.problem.ahead).max(0), self.step)

    def steps(self) -> Reg | int:
        """Return the number of iterations of the loop that `walk` emits."""
        every = -(-self.problem.queries // self.step)
        return ((every - self.steps_before()) if self.problem.causal else every) * self.problem.shared

    def hides(self, row: Reg) -> Reg | None:
        """Return whether a query of the block that starts at `row` does not see all keys of this CTA; None: no mask."""
        return row < self.place.row + (OWNED - 1 - self.problem.ahead) if self.problem.causal else None

    def limit(self, row: Reg, column: Reg) -> Reg:
        """Return the first query that sees key `row`, as an offset from the thread's first query, `column`."""
        return row - column - self.problem.ahead

    def sees(self, limit: Reg, row: int, column: int) -> Reg:
        """Return whether query `column` sees key `row`, relative to the thread's first column and row."""
        return limit <= column - row


@dataclass(frozen=True, slots=True)
class Queries:
    """CTA that owns a tile of queries and iterates over the keys that those queries see."""

    problem: Problem
    place: TilePosition
    step: int  # keys that the CTA processes per iteration
    owns = ("Q", "DOUT")
    passes = ("K", "V")
    gradients = ("DQ",)

    def walk(self) -> Iterator[TilePosition]:
        """Emit a loop over blocks of `step` keys that a query of this CTA sees; yield each block's position."""
        head = divided(self.place.head, self.problem.shared)
        end = self.steps() * self.step
        for row in ptx.range_(0, end, self.step):
            yield TilePosition(head, self.place.batch, row)

    def steps(self) -> Reg | int:
        """Return the number of iterations of the loop that `walk` emits; at least one."""
        return self.problem.steps(self.place.row + OWNED, self.step)

    def hides(self, row: Reg) -> Reg | None:
        """Return whether a query of this CTA does not see every key of the block at `row`; None: no block is masked."""
        if not (self.problem.causal or self.problem.keys % self.step):
            return None
        return row >= self.problem.whole_steps(self.place.row, self.step) * self.step

    def limit(self, row: Reg, column: Reg) -> Reg:
        """Return the last key that query `row` sees, as an offset from the thread's first key, `column`."""
        if not self.problem.causal:
            return (self.problem.keys - 1) - column
        return row - column + self.problem.ahead

    def sees(self, limit: Reg, row: int, column: int) -> Reg:
        """Return whether query `row` sees key `column`, relative to the thread's first row and column."""
        return limit >= (column - row if self.problem.causal else column)


def sides_of(problem: Problem, step: int) -> tuple[Reg, Keys, Queries]:
    """Return whether this CTA owns keys, and its tile as `Keys` and `Queries`; CTAs with most iterations come first."""
    owning_keys = problem.heads_of_keys * blocks_of(problem.keys)
    owning_queries = problem.heads * blocks_of(problem.queries)
    block, batch = unflatten(reg.from_(ptx.special.ctaid.x(), u32), owning_keys + owning_queries)
    head, row = unflatten(block, problem.heads_of_keys)
    keys = TilePosition(head, batch, row * OWNED)
    head, row = unflatten((block - owning_keys).max(0), problem.heads)
    queries = TilePosition(head, batch, ((blocks_of(problem.queries) - 1) - row) * OWNED)
    return block < owning_keys, Keys(problem, keys, step), Queries(problem, queries, step)
