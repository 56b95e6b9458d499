"""What asynchronous work did last to a memory: who wrote each granule, and which agents have read it.

Granules of a layer are as wide as the narrowest piece of work in it, from 1024 bytes down to 4, which no work goes
below. So who touches a part of a granule always touches what work has touched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.checks.asynchrony.summaries import SEVERAL, Summary, by_last_read, by_last_write
from pyptx_sim.checks.race.lane_masks import LANES
from pyptx_sim.checks.race.overflow import Overflow
from pyptx_sim.checks.race.shadow import fitting
from pyptx_sim.checks.race.tables import COLUMNS, NOBODY, PC, TIME, WARP, Table, reach_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pyptx_sim.checks.race.columns import Clock
    from pyptx_sim.checks.race.tables import Reach
    from pyptx_sim.observer import AsyncAccess, AsyncOperations, Offsets, Space

WIDEST: Final = 1024
ISSUER: Final = 1  # the column of an agent's row that has the lane that issued the operation
ATOMIC: Final = LANES  # is added there for an atomic update
# Reads of so many agents of a block are kept for each granule.
READERS: Final = 16
_COARSER: Final = 8  # granules of which a piece has more are looked up in a summary first


def agent_rows(agents: Offsets, lanes: Offsets, clocks: NDArray[np.int64], pc: int) -> NDArray[np.int32]:
    """Return the rows of operations: of agents by their columns, which count from 0."""
    rows = np.empty((len(agents), COLUMNS), np.int32)
    rows[:, WARP], rows[:, ISSUER], rows[:, TIME], rows[:, PC] = agents + 1, lanes, clocks, pc
    return rows


def lanes_of(rows: NDArray[np.int32]) -> Offsets:
    """Return the lanes that issued the operations of some rows."""
    lanes: Offsets = rows[:, ISSUER].astype(np.int64) % LANES
    return lanes


@dataclass(frozen=True, slots=True)
class Granules:
    """Granules that accesses touch: number i belongs to their piece `pieces[i]`."""

    at: NDArray[np.int64]
    pieces: NDArray[np.int64]


@dataclass(slots=True)
class Entries:
    """Accesses of `size` bytes at each of `offsets`; piece i is a part of access, or of operation, `owners[i]`.

    That is by warp `warps[owners[i]]` (of asynchronous work: the one that issued it), of which row `rows[owners[i]]` of
    `known` says what it knows. Atomic ones may meet each other. `work` is None of accesses of warps themselves; of work
    that several warps issue together each has to know what it meets, and their rows follow each other. `lanes[i]` is
    the lane of `warps[i]`.
    """

    space: Space
    offsets: Offsets
    size: int
    owners: Offsets
    warps: NDArray[np.int64]
    known: Clock
    rows: NDArray[np.int64]
    pc: int
    atomic: bool
    lanes: Offsets
    work: AsyncOperations | None = None
    _known: dict[int, Granules] = field(default_factory=dict)
    _reach: Reach | None = None

    def reach(self, granule: int) -> Reach:
        """Return between which granules of a width they lie."""
        if self._reach is None:
            low, high = reach_of(self.offsets)
            self._reach = low, high + self.size - 1
        return self._reach[0] // granule, self._reach[1] // granule

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
            found = self._known[granule] = Granules(at, pieces)
        return found

    def rows_of(self, granules: Granules) -> NDArray[np.int64]:
        """Return the row of `known` of each granule."""
        if self.work is None and len(granules.at) == len(self.rows):
            return self.rows  # one granule of each access
        return self.rows.take(self.owners.take(granules.pieces))


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
    """The last accesses of one kind: rows of the agent (from 1), the issuing lane, the agent's clock, the pc."""

    def __init__(self, size: int, granule: int, *, writes: bool = False) -> None:
        """Begin with memory of so many bytes that nothing has touched."""
        self.granule = granule
        self.table = Table(-(-size // granule))
        self.writes = writes
        self._fresh = False  # whether work of this wave has been entered
        self._summary = Summary(-(-size // WIDEST), by_last_write if writes else by_last_read)

    def narrow(self, granule: int) -> None:
        """Split all granules until they are no wider."""
        factor, self.granule = self.granule // granule, granule
        if factor > 1:
            self.table.split(factor)

    def enter(self, at: NDArray[np.int64], owners: Offsets, rows: NDArray[np.int32]) -> None:
        """Enter accesses to the granules `at`, each by an operation, which has a row."""
        self._fresh = True
        self.table.fill(at, rows, owners)
        self._summary.enter(at, WIDEST // self.granule, owners, rows)

    def of_other_lanes(
        self, at: NDArray[np.int64], owners: Offsets, rows: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return which accesses to the granules `at` meet one of another lane of their agent, and the rows of these."""
        last = self.table.get(at)
        differ = last.view(np.int64)[:, 0] ^ rows.view(np.int64)[:, 0].take(owners)  # agent and lane, side by side
        agents = differ.view(np.int32)[::2]
        which = np.zeros(0, np.int64) if agents.all() else np.flatnonzero((agents == 0) & (differ != 0))
        return which, last[which]

    def rename(self, renamed: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> None:
        """Give the agents of this wave other columns, those of earlier ones keep theirs; forget what is -1 then."""
        self._summary.close()
        if not self._fresh:
            return
        self._fresh = False
        at, rows = self.table.entries()
        self.table.put(at, _renamed(rows, renamed))

    def at_a_glance(self, entries: Entries) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
        """Return what the summary says of entries: rows of what they do not know to be over, and whose entries.

        None: it says nothing, for it is not kept, or a row in it stands for several operations.
        """
        if entries.size < _COARSER * self.granule or entries.atomic:
            return None
        summary = self._summary.table()
        if summary is None:
            return None
        wide = entries.granules(WIDEST)
        found = np.flatnonzero(late(summary, entries, wide))
        rows = summary.get(wide.at[found])
        if len(found) and (not self.writes or (rows[:, TIME] == SEVERAL).any()):
            return None
        return rows, entries.owners[wide.pieces[found]]


def _renamed(rows: NDArray[np.int32], renamed: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> NDArray[np.int32]:
    """Return rows with other columns of their agents; rows without one are empty."""
    rows = rows.copy()
    rows[:, WARP] = renamed(rows[:, WARP].astype(np.int64) - 1) + 1
    rows[rows[:, WARP] == NOBODY] = 0
    return rows


def late(table: Table, entries: Entries, granules: Granules) -> NDArray[np.bool_]:
    """Tell which granules of entries were last touched, as a table says, by what these do not know to be over."""
    last = table.get(granules.at)
    columns = entries.known.shape[1]
    # What nobody has touched has the time 0, which is known of anybody, whatever stands in front of the row.
    at = entries.rows_of(granules) * columns - 1 + last[:, WARP]
    known, times = entries.known.reshape(-1), last[:, TIME]
    found: NDArray[np.bool_] = known.take(at) < times
    for further in range(1, 1 if entries.work is None else entries.work.together):
        found |= known.take(at + further * columns) < times
    return found


class Marks:
    """The last write, and the last reads of some agents, of each granule of a memory."""

    def __init__(self, size: int) -> None:
        """Begin with memory of so many bytes that nothing has touched."""
        self._size = size
        self.write = Layer(size, WIDEST, writes=True)
        self.reads: list[Layer] = []
        self.granule = WIDEST
        """Bytes of a granule of `reads` and `more_reads`."""
        self.more_reads = Overflow(-(-size // WIDEST))
        """Reads of other lanes of an agent than the last one, whose waits do not order each other."""
        self._readers: dict[int, int] = {}  # by block, how many agents have read
        self._numbers: NDArray[np.int64] = np.zeros((0, 0), np.int64)  # by block and agent, from 1

    def _numbers_of(self, blocks: NDArray[np.int64], agents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the layers in which reads of agents of blocks are kept."""
        missing = int(blocks.max()) + 1 - len(self._numbers), int(agents.max()) + 1 - self._numbers.shape[1]
        if max(missing) > 0:
            self._numbers = np.pad(self._numbers, [(0, max(each, 0)) for each in missing])
        numbers: NDArray[np.int64] = self._numbers.take(blocks * self._numbers.shape[1] + agents)
        fresh = np.flatnonzero(numbers == 0).tolist()
        for each in fresh:
            block, agent = int(blocks[each]), int(agents[each])
            if not self._numbers[block, agent]:
                count = self._readers[block] = self._readers.get(block, 0) + 1
                self._numbers[block, agent] = (count - 1) % READERS + 1
        numbers = (self._numbers[blocks, agents] if fresh else numbers) - 1
        more = int(numbers.max()) + 1 - len(self.reads)
        self.reads += [Layer(self._size, self.granule) for _ in range(more)]
        return numbers

    def next_wave(self, renamed: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> None:
        """Keep what the work of the wave that has ended did, whose agents have other columns from now on."""
        self._numbers = np.zeros((0, 0), np.int64)
        for layer in (self.write, *self.reads):
            layer.rename(renamed)
        at, rows = self.more_reads.entries()
        self.more_reads = Overflow(-(-self._size // self.granule))
        if len(at):
            self.more_reads.add(at, _renamed(rows, renamed))

    def enter(
        self,
        touch: AsyncAccess,
        rows: NDArray[np.int32],
        blocks: NDArray[np.int64],
        is_over: Callable[[NDArray[np.int32], Offsets], NDArray[np.bool_]] | None,
    ) -> None:
        """Enter a touch by operations, each of which has a row and a block.

        `is_over`, of operations of several lanes of an agent: returns which earlier ones are over for some of these.
        """
        owners = touch.owners
        granule = fitting(self.write.granule if touch.writes else self.granule, touch.offsets, touch.size)
        at, count = touch.offsets // granule, touch.size // granule
        if count > 1:
            at, owners = (at[:, None] + np.arange(count)).reshape(-1), owners.repeat(count)
        if touch.writes:
            self.write.narrow(granule)
            self.write.enter(at, owners, rows)
            return
        self._narrow(granule)
        if is_over is not None:
            self._keep_others(at, owners, rows)
        numbers = self._numbers_of(blocks, rows[:, WARP].astype(np.int64))
        if (numbers == numbers[0]).all():
            self._enter_read(int(numbers[0]), at, owners, rows, is_over)
            return
        by_entry = numbers.astype(np.uint8)[owners]
        order = by_entry.argsort(kind="stable")
        at, owners, ends = at[order], owners[order], np.bincount(by_entry).cumsum().tolist()
        for number, (start, end) in enumerate(pairwise((0, *ends))):
            if start < end:
                self._enter_read(number, at[start:end], owners[start:end], rows, is_over)

    def _narrow(self, granule: int) -> None:
        """Split all granules that are read until they are no wider."""
        if granule < self.granule:
            self.more_reads.split(self.granule // granule)
            self.granule = granule
            for layer in self.reads:
                layer.narrow(granule)

    def _enter_read(
        self,
        number: int,
        at: NDArray[np.int64],
        owners: Offsets,
        rows: NDArray[np.int32],
        is_over: Callable[[NDArray[np.int32], Offsets], NDArray[np.bool_]] | None,
    ) -> None:
        """Enter reads in a layer, and keep those of other lanes that they replace."""
        layer = self.reads[number]
        if is_over is None:
            layer.enter(at, owners, rows)
            return
        which, last = layer.of_other_lanes(at, owners, rows)
        if len(which):
            stays = ~is_over(last, owners[which])
            self.more_reads.add(at[which[stays]], last[stays])
        layer.enter(at, owners, rows)

    def _keep_others(self, at: NDArray[np.int64], owners: Offsets, rows: NDArray[np.int32]) -> None:
        """Keep reads of lanes that another lane of their agent replaces in the same step."""
        agents = rows[:, WARP].take(owners)
        if ((agents[1:] > agents[:-1]) | (agents[1:] == agents[:-1]) & (at[1:] > at[:-1])).all():
            return
        order = np.lexsort((at, agents))
        some, others = order[:-1], order[1:]
        lost = some[(at[some] == at[others]) & (agents[some] == agents[others])]
        self.more_reads.add(at[lost], rows[owners[lost]])
