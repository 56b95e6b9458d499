"""What asynchronous work did last to a memory: who wrote each granule, and which agents have read it.

Granules of a layer are as wide as the narrowest piece of work in it, from 1024 bytes down to 4, which no work goes
below. So who touches a part of a granule always touches what work has touched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.checks.race.shadow import NOBODY, TIME, WARP, Table, fitting, reach_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.checks.race.clocks import Known
    from pyptx_sim.checks.race.shadow import Reach
    from pyptx_sim.observer import Offsets, Space, Touch, Work

WIDEST: Final = 1024
ATOMIC: Final = 1  # the column of an agent's row that has no lanes
# Reads of so many agents of a block are kept for each granule.
READERS: Final = 16
_ALWAYS: Final = np.iinfo(np.int32).max  # a time that nobody knows
_COARSER: Final = 8  # granules of which a piece has more are looked up in the summary first


@dataclass(frozen=True, slots=True)
class Granules:
    """Granules that accesses touch, all in `reach`: number i belongs to their piece `pieces[i]`."""

    at: NDArray[np.int64]
    reach: Reach
    pieces: NDArray[np.int64]


@dataclass(slots=True)
class Entries:
    """Accesses of `size` bytes at each of `offsets`; piece i is a part of access, or of operation, `owners[i]`.

    That is by warp `warps[owners[i]]` (of asynchronous work: the one that issued it), of which row `rows[owners[i]]` of
    `known` says what it knows. Atomic ones may meet each other. `work` is None of accesses of warps themselves.
    """

    space: Space
    offsets: Offsets
    size: int
    owners: Offsets
    warps: NDArray[np.int64]
    known: Known
    rows: NDArray[np.int64]
    pc: int
    atomic: bool
    work: Work | None = None
    _known: dict[int, Granules] = field(default_factory=dict)

    def granules(self, granule: int) -> Granules:
        """Return the granules of a width that they touch: of one operation, each once in a row."""
        found = self._known.get(granule)
        if found is None:
            at, pieces = granules_of(self.offsets, self.size, granule)
            if self.work is not None and self.size < granule:
                owners = self.owners[pieces]
                new = np.ones(len(at), np.bool_)
                new[1:] = (at[1:] != at[:-1]) | (owners[1:] != owners[:-1])
                at, pieces = at[new], pieces[new]
            found = self._known[granule] = Granules(at, reach_of(at), pieces)
        return found


def granules_of(offsets: Offsets, size: int, granule: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the granules of a width that accesses touch, and which access each belongs to."""
    first = offsets // granule
    aligned = fitting(max(granule, size), offsets, size)
    if size <= granule and aligned == size:
        return first, np.arange(len(offsets))
    counts = size // granule if aligned >= granule else (offsets + (size - 1)) // granule - first + 1
    which = np.repeat(np.arange(len(offsets)), counts)
    if isinstance(counts, int):
        return (first[:, None] + np.arange(counts)).reshape(-1), which
    return first[which] + np.arange(len(which)) - np.repeat(counts.cumsum() - counts, counts), which


class Layer:
    """The last accesses of one kind: rows of the agent (from 1), 1 for an atomic update, the agent's clock, the pc."""

    def __init__(self, size: int, *, summed_up: bool) -> None:
        """Begin with memory of so many bytes that nothing has touched; `summed_up`: much of it is looked up at once."""
        self._size = size
        self._summed_up = summed_up
        self.granule = WIDEST
        self.table = Table(-(-size // WIDEST))
        self.summary: Table | None = None  # of the widest granules: their parts' last access, if one agent's

    def fit(self, offsets: Offsets, size: int) -> None:
        """Split all granules until none is wider than such a piece."""
        granule = fitting(self.granule, offsets, size)
        factor, self.granule = self.granule // granule, granule
        if factor > 1:
            if self.summary is None and self._summed_up:
                self.summary = Table(-(-self._size // WIDEST))
                at, rows = self.table.entries()
                if len(at):
                    self.summary.put(at, rows)
            self.table.split(factor)

    def enter(self, offsets: Offsets, size: int, owners: Offsets, rows: NDArray[np.int32]) -> None:
        """Enter pieces of operations, each of which has a row."""
        self.fit(offsets, size)
        at, pieces = granules_of(offsets, size, self.granule)
        self.table.fill(at, rows, owners[pieces])
        if self.summary is not None:
            at, pieces = granules_of(offsets, size, WIDEST)
            new = np.ones(len(at), np.bool_)
            new[1:] = at[1:] != at[:-1]
            self._sum_up(self.summary, at[new], rows[owners[pieces[new]]])

    def _sum_up(self, summary: Table, at: NDArray[np.int64], rows: NDArray[np.int32]) -> None:
        """Enter rows in the summary; where agents meet, one has to look closer from now on."""
        before = summary.get(at)
        summary.put(at, rows)
        met = (before[:, WARP] != NOBODY) & (before[:, WARP] != rows[:, WARP]) | (before[:, TIME] == _ALWAYS)
        met |= summary.get(at)[:, WARP] != rows[:, WARP]
        if met.any():
            rows[met, TIME] = _ALWAYS
            summary.put(at[met], rows[met])

    def may_hold(self, entries: Entries) -> bool:
        """Tell at a glance whether anything here may concern entries."""
        if entries.size < _COARSER * self.granule or self.summary is None or entries.atomic:
            return True
        return bool(late(self.summary, entries, entries.granules(WIDEST)).any())


def late(table: Table, entries: Entries, granules: Granules) -> NDArray[np.bool_]:
    """Tell which granules of entries were last touched, as a table says, by what these do not know to be over."""
    last, owners = table.get(granules.at), entries.owners[granules.pieces]
    # What nobody has touched has the time 0, which is known of anybody.
    found: NDArray[np.bool_] = entries.known[entries.rows[owners], last[:, WARP] - 1] < last[:, TIME]
    return found


class Marks:
    """The last write, and the last reads of some agents, of each granule of a memory."""

    def __init__(self, size: int) -> None:
        """Begin with memory of so many bytes that nothing has touched."""
        self._size = size
        self.write = Layer(size, summed_up=False)
        self.reads: list[Layer] = []
        self._readers: dict[int, int] = {}  # by block, how many agents have read
        self._numbers: NDArray[np.int64] = np.zeros((0, 0), np.int64)  # by block and agent, from 1

    def _numbers_of(self, blocks: NDArray[np.int64], agents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the layers in which reads of agents of blocks are kept."""
        missing = int(blocks.max()) + 1 - len(self._numbers), int(agents.max()) + 1 - self._numbers.shape[1]
        if max(missing) > 0:
            self._numbers = np.pad(self._numbers, [(0, max(more, 0)) for more in missing])
        for each in np.flatnonzero(self._numbers[blocks, agents] == 0).tolist():
            block, agent = int(blocks[each]), int(agents[each])
            if not self._numbers[block, agent]:
                count = self._readers[block] = self._readers.get(block, 0) + 1
                self._numbers[block, agent] = (count - 1) % READERS + 1
        numbers: NDArray[np.int64] = self._numbers[blocks, agents] - 1
        self.reads += [Layer(self._size, summed_up=True) for _ in range(int(numbers.max()) + 1 - len(self.reads))]
        return numbers

    def enter(self, touch: Touch, rows: NDArray[np.int32], blocks: NDArray[np.int64]) -> None:
        """Enter what operations of blocks touch, each with its row."""
        offsets, size, owners = touch.offsets, touch.size, touch.owners
        if touch.writes:
            self.write.enter(offsets, size, owners, rows)
            return
        numbers = self._numbers_of(blocks, rows[:, WARP].astype(np.int64))
        if (numbers == numbers[0]).all():
            self.reads[int(numbers[0])].enter(offsets, size, owners, rows)
            return
        by_piece = numbers.astype(np.uint8)[owners]
        order = by_piece.argsort(kind="stable")
        ends = np.bincount(by_piece).cumsum().tolist()
        for number, (start, end) in enumerate(pairwise((0, *ends))):
            if start < end:
                some = order[start:end]
                self.reads[number].enter(offsets[some], size, owners[some], rows)
