"""The two kinds of blocks that differentiate attention: what they own, what passes them, and who sees whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from examples.attention.problem import Place, Problem, dealt, divided

from pyptx import ptx, reg
from pyptx.types import u32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx.reg import Reg

OWNED = 128  # rows of a block
TOGETHER = 64  # queries whose numbers lie side by side
TOLD_BYTES = 2 * TOGETHER * 4  # two f32 of each


def blocks_of(rows: int) -> int:
    """Return how many blocks own `rows` rows of a head."""
    return -(-rows // OWNED)


def steps_of(queries: int) -> int:
    """Return the `T` of what is told of `queries` queries: by `TOGETHER`, as many as their blocks have room for."""
    return blocks_of(queries) * (OWNED // TOGETHER)


def told_of(problem: Problem, place: Place, array) -> Reg:
    """Return the address of what is told of the queries that begins at `place`."""
    (pointer,) = ptx.global_ptrs(array)
    line = (place.batch * problem.heads + place.head) * array.shape[2]
    return pointer + (line + divided(place.row, TOGETHER)) * TOLD_BYTES


@dataclass(frozen=True, slots=True)
class Keys:
    """The side of blocks that own keys: queries pass, of each head that shares the keys."""

    problem: Problem
    place: Place
    step: int  # rows that it walks over at once
    owns = ("K", "V")
    passes = ("Q", "DOUT")
    gradients = ("DK", "DV")

    def walk(self) -> Iterator[Place]:
        """Loop over the queries that see some key, of one head after the other."""
        problem = self.problem
        for index in ptx.range_(problem.shared) if problem.shared > 1 else [0]:
            first = self.steps_before() * self.step if problem.causal else 0
            for row in ptx.range_(first, problem.queries, self.step):
                yield Place(self.place.head * problem.shared + index, self.place.batch, row)

    def steps_before(self) -> Reg:
        """Return how many steps of queries see none of the keys, if causal."""
        return divided((self.place.row - self.problem.ahead).max(0), self.step)

    def steps(self) -> Reg | int:
        """Return how many steps the walk has; at least one."""
        every = -(-self.problem.queries // self.step)
        return ((every - self.steps_before()) if self.problem.causal else every) * self.problem.shared

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
    step: int  # rows that it walks over at once
    owns = ("Q", "DOUT")
    passes = ("K", "V")
    gradients = ("DQ",)

    def walk(self) -> Iterator[Place]:
        """Loop over the keys that some query sees."""
        head = divided(self.place.head, self.problem.shared)
        end = self.steps() * self.step
        for row in ptx.range_(0, end, self.step):
            yield Place(head, self.place.batch, row)

    def steps(self) -> Reg | int:
        """Return how many steps the walk has; at least one."""
        return self.problem.steps(self.place.row + OWNED, self.step)

    def hides(self, row: Reg) -> Reg | None:
        """Return whether one of the keys from `row` on is not seen by every query; None if all are."""
        if not (self.problem.causal or self.problem.keys % self.step):
            return None
        return row >= self.problem.whole_steps(self.place.row, self.step) * self.step

    def limit(self, row: Reg, column: Reg) -> Reg:
        """Return the last key that a thread's first query sees, counted from its first column."""
        if not self.problem.causal:
            return (self.problem.keys - 1) - column
        return row - column + self.problem.ahead

    def sees(self, limit: Reg, row: int, column: int) -> Reg:
        """Return whether a thread's query (`row`) sees its key (`column`), both counted from its first."""
        return limit >= (column - row if self.problem.causal else column)


def sides_of(problem: Problem, step: int) -> tuple[Reg, Keys, Queries]:
    """Return whether this block owns keys, and what it is on either side; the longest work comes first."""
    owning_keys = problem.heads_of_keys * blocks_of(problem.keys)
    owning_queries = problem.heads * blocks_of(problem.queries)
    block, batch = dealt(reg.from_(ptx.special.ctaid.x(), u32), owning_keys + owning_queries)
    head, row = dealt(block, problem.heads_of_keys)
    keys = Place(head, batch, row * OWNED)
    head, row = dealt((block - owning_keys).max(0), problem.heads)
    queries = Place(head, batch, ((blocks_of(problem.queries) - 1) - row) * OWNED)
    return block < owning_keys, Keys(problem, keys, step), Queries(problem, queries, step)
