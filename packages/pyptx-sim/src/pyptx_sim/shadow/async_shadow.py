"""Shadow memory of asynchronous operations: per granule, the last write, and the last read of each operation queue.

`async_clocks` defines the queues. The granules of a `Layer` are as wide as its narrowest access, between 1024 and 4
bytes; no operation accesses less. So each access to a part of a granule overlaps the operation that is recorded for the
granule.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.events import NOBODY, TIME, WARP, reach_of
from pyptx_sim.shadow.overflow import Overflow
from pyptx_sim.shadow.shadow import fitting
from pyptx_sim.shadow.summaries import SEVERAL, Summary, by_last_read, by_last_write
from pyptx_sim.shadow.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pyptx_sim.events import Reach
    from pyptx_sim.happens_before.columns import Clock
    from pyptx_sim.observer import AsyncAccess, AsyncOperations, Offsets, Space

WIDEST: Final = 1024
# Number of operation queues per CTA whose last reads of a shadow granule are kept.
READERS: Final = 16
_COARSER: Final = 8  # accesses to more shadow granules than this number are first compared with a `Summary`


@dataclass(frozen=True, slots=True)
class Granules:
    """Granules that accesses touch: granule `at[i]` is part of the access at `offsets[pieces[i]]`."""

    at: NDArray[np.int64]
    pieces: NDArray[np.int64]


@dataclass(slots=True)
class Entries:
    """Accesses of `size` bytes at each of `offsets`; `owners[i]` is the number of the accessing thread or operation.

    Number k is lane `lanes[k]` of `warps[k]`, or an asynchronous operation that it issues. Row `rows[k]` of `known` is
    its vector clock. Atomic accesses may overlap. `work` is None for accesses of warps themselves. An operation that
    several warps issue together must be ordered for each of them; their vector clocks are consecutive rows.
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
        """Return bounds of the shadow granules that the accesses touch, for granules of this width in bytes."""
        if self._reach is None:
            low, high = reach_of(self.offsets)
            self._reach = low, high + self.size - 1
        return self._reach[0] // granule, self._reach[1] // granule

    def granules(self, granule: int) -> Granules:
        """Return the shadow granules of this width that the accesses touch, without an operation's repetitions."""
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
        """Return, per shadow granule, the row of `known` that is the vector clock of the accessing thread."""
        if self.work is None and len(granules.at) == len(self.rows):
            return self.rows  # each access touches one shadow granule
        return self.rows.take(self.owners.take(granules.pieces))


def granules_of(offsets: Offsets, size: int, granule: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the shadow granules of a width that accesses touch, and the index of the access of each granule."""
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
    """Last asynchronous operation of one kind (reads or writes) on each shadow granule of a memory.

    An entry has the operation queue's clock column + 1, the issuing lane, the clock, and the pc.
    """

    def __init__(self, size: int, granule: int, *, writes: bool = False) -> None:
        """Start with `size` bytes without operations, in shadow granules of `granule` bytes."""
        self.granule = granule
        self.table = Table(-(-size // granule))
        self.writes = writes
        self._fresh = False  # whether `table` has operations that were issued in this wave of CTAs
        self._summary = Summary(-(-size // WIDEST), by_last_write if writes else by_last_read)

    def narrow(self, granule: int) -> None:
        """Split all shadow granules to the width `granule`."""
        factor, self.granule = self.granule // granule, granule
        if factor > 1:
            self.table.split(factor)

    def enter(self, at: NDArray[np.int64], owners: Offsets, rows: NDArray[np.int32]) -> None:
        """Record accesses to shadow granules; `rows[owners[i]]` is the entry of the access to granule `at[i]`."""
        self._fresh = True
        self.table.fill(at, rows, owners)
        self._summary.enter(at, WIDEST // self.granule, owners, rows)

    def of_other_lanes(
        self, at: NDArray[np.int64], owners: Offsets, rows: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the indices in `at` of granules last accessed by another lane of the queue, and the last entries."""
        last = self.table.get(at)
        # The adjacent columns of the queue and of the issuing lane are compared as one 64-bit number.
        differ = last.view(np.int64)[:, 0] ^ rows.view(np.int64)[:, 0].take(owners)
        agents = differ.view(np.int32)[::2]
        which = np.zeros(0, np.int64) if agents.all() else np.flatnonzero((agents == 0) & (differ != 0))
        return which, last[which]

    def rename(self, renamed: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> None:
        """Replace the operation queues' columns in entries of this wave; remove entries whose new column is -1."""
        self._summary.close()
        if not self._fresh:
            return
        self._fresh = False
        at, rows = self.table.entries()
        self.table.put(at, _renamed(rows, renamed))

    def at_a_glance(self, entries: Entries) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
        """Return operations that accesses `entries` may have to wait for: shadow entries, and numbers of the accessors.

        None if the summary cannot decide: it has been dropped, or an entry of it stands for several operations.
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
    """Return shadow entries with new columns of operation queues; an entry with new column -1 becomes empty."""
    rows = rows.copy()
    rows[:, WARP] = renamed(rows[:, WARP].astype(np.int64) - 1) + 1
    rows[rows[:, WARP] == NOBODY] = 0
    return rows


def late(table: Table, entries: Entries, granules: Granules) -> NDArray[np.bool_]:
    """Return, per shadow granule of `entries`, whether its last operation may be incomplete for the accessor.

    `table` has the last operations; `entries` are the accesses, by threads or by asynchronous operations.
    """
    last = table.get(granules.at)
    columns = entries.known.shape[1]
    # The entry of a granule without operations has time 0, which is in every vector clock, whichever component is
    # compared.
    at = entries.rows_of(granules) * columns - 1 + last[:, WARP]
    known, times = entries.known.reshape(-1), last[:, TIME]
    found: NDArray[np.bool_] = known.take(at) < times
    for further in range(1, 1 if entries.work is None else entries.work.together):
        found |= known.take(at + further * columns) < times
    return found


class Marks:
    """Last asynchronous write, and last reads by several operation queues, of each shadow granule of a memory."""

    def __init__(self, size: int) -> None:
        """Start with `size` bytes of memory without operations."""
        self._size = size
        self.write = Layer(size, WIDEST, writes=True)
        self.reads: list[Layer] = []
        self.granule = WIDEST
        """Size of a granule of `reads` and `more_reads` in bytes."""
        self.more_reads = Overflow(-(-size // WIDEST))
        """Reads by lanes of an operation queue before its last read; the lanes' waits do not order each other."""
        self._readers: dict[int, int] = {}  # by CTA slot: number of operation queues with layers in `reads`
        # by CTA slot and operation queue: index of its layer in `reads`, plus 1
        self._numbers: NDArray[np.int64] = np.zeros((0, 0), np.int64)

    def _numbers_of(self, blocks: NDArray[np.int64], agents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return, per read by operation queue `agents[i]` of CTA `blocks[i]`, the index in `reads` of its `Layer`."""
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
        """Keep the operations of the ended wave of CTAs, with the new columns of their operation queues in clocks."""
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
        """Record an asynchronous access by operations, each with a shadow entry in `rows` and a CTA slot.

        `is_over` is given if several lanes of an operation queue issue operations: it returns, per earlier read,
        whether the read is complete for the new operation.
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
        """Split the shadow granules of all layers of reads to at most this width in bytes."""
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
        """Record reads in `reads[number]`; keep incomplete replaced reads by other lanes of the operation queue."""
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
        """Keep reads that a read by another lane of the same operation queue replaces in the same instruction."""
        agents = rows[:, WARP].take(owners)
        if ((agents[1:] > agents[:-1]) | (agents[1:] == agents[:-1]) & (at[1:] > at[:-1])).all():
            return
        order = np.lexsort((at, agents))
        some, others = order[:-1], order[1:]
        lost = some[(at[some] == at[others]) & (agents[some] == agents[others])]
        self.more_reads.add(at[lost], rows[owners[lost]])
