"""The memory of a checker: for each granule of an arena, who touched it last, when, and with which instruction.

A granule is as wide as the narrowest access seen so far; the first narrower one splits all granules. So a kernel that
moves 16-byte vectors pays for one entry per vector, and one that stores bytes is still judged byte by byte.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_sim.checks.race.pages import PAGE, Pages
from pyptx_sim.checks.race.sparse import zeros

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from pyptx_sim.checks.race.readers import Readers
    from pyptx_sim.observer import Offsets, Touch

NOBODY = 0  # so that a fresh table is zeros, whose pages cost nothing until they are touched
WIDEST_ACCESS = 16  # bytes; a wider access covers several granules

# The columns of an entry.
WARP: Final = 0  # numbered through all waves from 1, or NOBODY
MASK: Final = 1  # of the warp's lanes: bit i for lane i
TIME: Final = 2  # of the warp's clock
PC: Final = 3
COLUMNS: Final = 4

# So many entries of an overflow are gathered before they are thinned to the last one of each lane by each instruction.
_GATHERED: Final = 1 << 22
# Rows of more granules than these are not copied when granules are split: most are not looked at again.
_SPLIT_AT_ONCE: Final = 1 << 16
# So many rows are set to zero; beyond, fresh pages that stay zero are cheaper.
_CLEARED: Final = 1 << 15
# Of more that differ, new ones are left out: a quarter of a gigabyte.
_MOST: Final = 1 << 23


Reach: TypeAlias = tuple[int, int]
"""The lowest and the highest of some granules, or bounds of them."""


def reach_of(at: NDArray[np.int64]) -> Reach:
    """Return the reach of some granules, of one at least."""
    return int(at.min()), int(at.max())


class Table:
    """The last access of one kind to each granule: rows of `COLUMNS` numbers.

    Rows move as one 16-byte value each, which NumPy gathers and scatters several times faster than rows of a matrix;
    `complex128` is merely its name for sixteen bytes. Where nobody has touched a granule since all were split, the row
    of the `_wider` one that it was a part of counts: rows are never taken back, and most are never looked at again.
    """

    __slots__ = ("_granules", "_high", "_low", "_made", "_wider")

    def __init__(self, granules: int) -> None:
        """Start with granules that nobody has touched."""
        self._granules = granules
        self._made: NDArray[np.complex128] | None = None  # many tables stay empty, and memory costs even as zeros
        self._low, self._high = granules, -1
        self._wider: tuple[int, Table] | None = None  # how many granules one of it became

    def clear(self) -> None:
        """Forget who has touched what."""
        if self._made is not None and self._wider is None and self._high - self._low < _CLEARED:
            self._made[self._low : self._high + 1] = 0  # faster than fresh pages
        else:
            self._made = None
        self._wider = None
        self._low, self._high = self._granules, -1

    @property
    def _rows(self) -> NDArray[np.complex128]:
        if self._made is None:
            self._made = zeros(self._granules, np.complex128)
        return self._made

    def misses(self, low: int, high: int) -> bool:
        """Tell at a glance that nobody has touched any of the granules from `low` to `high`; False says nothing."""
        return high < self._low or low > self._high

    def fill(
        self,
        at: NDArray[np.int64],
        entries: NDArray[np.int32],
        owners: NDArray[np.int64],
        reach: Reach | None = None,
    ) -> None:
        """Set the row of granule `at[i]`, all in that reach, to entry `owners[i]`."""
        rows = entries.view(np.complex128)[:, 0]
        self._rows[at] = rows[0] if len(rows) == 1 else rows.take(owners)
        self._extend(reach or reach_of(at))

    def _extend(self, reach: Reach) -> None:
        self._low, self._high = min(self._low, reach[0]), max(self._high, reach[1])

    def get(self, at: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the rows of the granules `at`, `[n, COLUMNS]`."""
        if self._wider is not None:
            return self._overlaid(at, *self._wider)
        return self._rows.take(at).view(np.int32).reshape(-1, COLUMNS)

    def _overlaid(self, at: NDArray[np.int64], factor: int, wider: Table) -> NDArray[np.int32]:
        """Return the rows of granules that are parts of wider ones."""
        if self._made is None:
            return wider.get(at // factor)
        rows = self._rows.take(at).view(np.int32).reshape(-1, COLUMNS)
        untouched = np.flatnonzero(rows[:, WARP] == NOBODY)
        if len(untouched):
            rows[untouched] = wider.get(at[untouched] // factor)
        return rows

    def touched(self, at: NDArray[np.int64], reach: Reach | None = None) -> NDArray[np.int32] | None:
        """Return the rows of the granules `at`, in that reach, or None if nobody has touched any of them."""
        if self._high < 0 or self.misses(*(reach or reach_of(at))):
            return None
        rows = self.get(at)
        return rows if rows[:, WARP].any() else None

    def put(self, at: NDArray[np.int64], entries: NDArray[np.int32], reach: Reach | None = None) -> None:
        """Set the rows of the granules `at`, in that reach; of equal granules the last wins."""
        self._rows[at] = entries.view(np.complex128)[:, 0]
        self._extend(reach or reach_of(at))

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return all granules that somebody has touched, and their rows."""
        if self._high < 0:
            return np.zeros(0, np.int64), np.zeros((0, COLUMNS), np.int32)
        if self._wider is None:
            rows = self._rows[self._low : self._high + 1].view(np.int32).reshape(-1, COLUMNS)
        else:
            rows = self.get(np.arange(self._low, self._high + 1))
        touched = np.flatnonzero(rows[:, WARP])
        return touched + self._low, rows[touched]

    def split(self, factor: int) -> None:
        """Make `factor` granules of each, all with its row."""
        at, rows = self.entries()
        wider, reach = copy(self), (self._low * factor, self._high * factor + factor - 1)
        self._granules *= factor
        self._made = self._wider = None
        self._low, self._high = self._granules, -1
        if len(at) * factor > _SPLIT_AT_ONCE:
            self._wider = factor, wider
            self._extend(reach)
        elif len(at):
            self.put(*_parts(at, rows, factor))

    def move(self, at: NDArray[np.int64], other: Table, factor: int) -> None:
        """Move the rows of the granules `at` to a table, where each of them is so many."""
        rows = self.touched(at)
        if rows is not None:
            touched = np.flatnonzero(rows[:, WARP])
            other.put(*_parts(at[touched], rows[touched], factor))
            self.put(at[touched], np.zeros((len(touched), COLUMNS), np.int32))


class Overflow:
    """Accesses of granules whose row in a table is taken: of readers that do not know of each other, the others.

    They are kept in lists, any number of each granule, and looked up only where somebody writes.
    """

    def __init__(self, granules: int) -> None:
        """Begin with none."""
        self._granules = granules
        # Granules that have entries which count, and those that have only such as do not; most memories have none.
        self._known: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._dropped: NDArray[np.bool_] = self._known
        self._at: NDArray[np.int64] = np.zeros(0, np.int64)  # sorted
        self._entries: NDArray[np.int32] = np.zeros((0, COLUMNS), np.int32)
        # In the order of execution: granules, entries, and into how many granules each has been split since.
        self._fresh: list[tuple[NDArray[np.int64], NDArray[np.int32], int]] = []
        self._count = 0
        self._thins_at = _GATHERED

    def __len__(self) -> int:
        """Return how many accesses there are."""
        return self._count

    def add(self, at: NDArray[np.int64], entries: NDArray[np.int32]) -> None:
        """Keep accesses to the granules `at`, which are rows of the shadow."""
        if not len(at) or self._count > _MOST:
            return
        if not len(self._known):
            self._known, self._dropped = zeros(self._granules, np.bool_), zeros(self._granules, np.bool_)
        if self._dropped[at].any():
            self._purge()
        self._known[at] = True
        self._fresh.append((at, entries, 1))
        self._count += len(at)
        if self._count > self._thins_at:
            self._thin()

    def find(self, at: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]] | None:
        """Return the accesses to the granules `at`: entry i is to that of number `which[i]`; None if there are none."""
        which = np.flatnonzero(self._known[at]) if self._count else ()
        if not len(which):
            return None
        self._sort()
        first = self._at.searchsorted(at[which], "left")
        counts = self._at.searchsorted(at[which], "right") - first
        inside = np.arange(counts.sum()) - np.repeat(counts.cumsum() - counts, counts)
        return np.repeat(which, counts), self._entries[np.repeat(first, counts) + inside]

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return all granules of accesses, and their rows."""
        self._sort()
        counts = np.flatnonzero(self._known[self._at]) if len(self._at) else self._at
        return self._at[counts], self._entries[counts]

    def drop(self, at: NDArray[np.int64]) -> None:
        """Forget accesses to the granules `at`."""
        if not self._count:
            return
        gone = at[self._known[at]]
        self._known[gone] = False
        self._dropped[gone] = True

    def split(self, factor: int) -> None:
        """Make `factor` granules of each, all with its accesses."""
        self._granules *= factor
        self._known, self._dropped = self._known.repeat(factor), self._dropped.repeat(factor)
        before = [(self._at, self._entries, 1), *self._fresh]
        self._fresh = [(at, entries, parts * factor) for at, entries, parts in before if len(at)]
        self._at, self._entries = self._at[:0], self._entries[:0]
        self._count *= factor

    def move(self, at: NDArray[np.int64], other: Overflow, factor: int) -> None:
        """Move accesses to the granules `at` to another one, where each of them is so many."""
        found = self.find(at)
        if found is not None:
            which, entries = found
            other.add(*_parts(at[which], entries, factor))
            self.drop(at)

    def _sort(self) -> None:
        """Put what is fresh among the rest: of one granule, in the order of execution."""
        if not self._fresh:
            return
        fresh = [(at, entries) if parts == 1 else _parts(at, entries, parts) for at, entries, parts in self._fresh]
        at = np.concatenate([self._at, *(each for each, _ in fresh)])
        entries = np.concatenate([self._entries, *(each for _, each in fresh)])
        order = at.argsort(kind="stable")
        self._at, self._entries = at[order], entries[order]
        self._fresh.clear()

    def _purge(self) -> None:
        """Let go what no longer counts."""
        self._sort()
        stays = ~self._dropped[self._at]
        self._at, self._entries = self._at[stays], self._entries[stays]
        self._dropped[:] = False
        self._count = len(self._at)

    def _thin(self) -> None:
        """Keep the last access of each lane by each instruction."""
        self._purge()
        entries = self._entries
        order = np.lexsort((entries[:, PC], entries[:, MASK], entries[:, WARP], self._at))
        at, entries = self._at[order], entries[order]
        last = np.ones(len(at), np.bool_)
        last[:-1] = (at[1:] != at[:-1]) | (entries[1:][:, [WARP, MASK, PC]] != entries[:-1][:, [WARP, MASK, PC]]).any(1)
        self._at, self._entries = at[last], entries[last]
        self._count = len(self._at)
        self._thins_at = max(_GATHERED, 2 * self._count)


def _parts(
    at: NDArray[np.int64], entries: NDArray[np.int32], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the parts into which granules have been split, `count` for each, all with its entries."""
    return parts_at(at, count), entries.repeat(count, axis=0)


def parts_at(at: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the parts of granules, `count` of each."""
    return (at[:, None] * count + np.arange(count)).reshape(-1)


@dataclass(slots=True)
class Shadow:
    """The last write, the last read and the last poll (strong read) of each granule of one arena.

    `first` is a read before the last one that nothing ordered before it: the oldest such read that is known; and
    `first_poll` such a poll. `atomic` says that the last write was a strong access; `covered` is one before it that it
    does not speak for. `cached` is the last read that is not coherent. Of the memories that blocks have `readers` keeps
    the last read of each warp. What else nothing has ordered is in `more_reads`, `more_polls` and `more_writes`.
    """

    arena_bytes: int
    readers: Readers | None = None
    granule: int = WIDEST_ACCESS
    write: Table = field(init=False)
    read: Table = field(init=False)
    first: Table = field(init=False)
    poll: Table = field(init=False)
    first_poll: Table = field(init=False)
    covered: Table = field(init=False)
    cached: Table = field(init=False)
    atomic: NDArray[np.bool_] = field(init=False)
    _atomics: bool = False
    more_reads: Overflow = field(init=False)
    more_polls: Overflow = field(init=False)
    more_writes: Overflow = field(init=False)
    _written: Pages = field(init=False)

    def __post_init__(self) -> None:
        """Make the tables."""
        count = -(-self.arena_bytes // self.granule)
        self.write, self.covered, self.cached = Table(count), Table(count), Table(count)
        self.read, self.first = Table(count), Table(count)
        self.poll, self.first_poll = Table(count), Table(count)
        self._written = Pages(self.arena_bytes)
        self.clear()

    @property
    def _tables(self) -> tuple[Table, ...]:
        return self.write, self.covered, self.cached, self.read, self.first, self.poll, self.first_poll

    def clear(self) -> None:
        """Forget every access."""
        for table in self._tables:
            table.clear()
        self._written.clear()
        count = -(-self.arena_bytes // self.granule)
        self.atomic = zeros(count, np.bool_)
        self.more_reads, self.more_polls, self.more_writes = Overflow(count), Overflow(count), Overflow(count)
        if self.readers is not None:
            self.readers.clear()

    def put_write(self, at: NDArray[np.int64], entries: NDArray[np.int32], reach: Reach) -> None:
        """Set the last writes of the granules `at`, in that reach."""
        self.write.put(at, entries, reach)
        self._written.mark(at, self.granule)

    def untouched(self, touch: Touch) -> bool:
        """Tell at a glance that warps have done nothing that `touch` may meet; False says nothing."""
        if not self._written.misses(touch.offsets, touch.size):
            return False
        return not touch.writes or (self.readers is not None and self._unread(self.readers, touch))

    def _unread(self, readers: Readers, touch: Touch) -> bool:
        return not self.more_reads and readers.misses(touch.offsets, touch.size)

    def mark_atomic(self, at: NDArray[np.int64], *, atomic: bool | NDArray[np.bool_]) -> None:
        """Say of the last writes of granules whether they were strong; where none ever was, nothing is to be said."""
        self._atomics |= bool(np.any(atomic))
        if self._atomics:
            self.atomic[at] = atomic

    def granules(self, offsets: Offsets, size: int) -> NDArray[np.int64]:
        """Return the granules of each access, `[n, granules]`, splitting all of them first if they are too wide."""
        self.narrow(fitting(self.granule, offsets, size))
        first = offsets >> self.granule.bit_length() - 1
        count = size // self.granule
        return first[:, None] if count == 1 else first[:, None] + np.arange(count)

    def narrow(self, granule: int) -> None:
        """Split all granules until they are no wider."""
        if granule < self.granule:
            self._split(self.granule // granule)
            self.granule = granule

    def reads_of(self, at: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """Yield the reads that are not in `readers`: of which of the granules `at`, and the entries."""
        return _entries_of(at, (self.read, self.first), self.more_reads)

    def polls_of(self, at: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """Yield the polls: of which of the granules `at`, and the entries."""
        return _entries_of(at, (self.poll, self.first_poll), self.more_polls)

    def move(self, pages: NDArray[np.int64], other: Shadow) -> None:
        """Move all that is known of some pages to a shadow with narrower granules; they stay marked as touched here."""
        count, factor = PAGE // self.granule, self.granule // other.granule
        at = (pages[:, None] * count + np.arange(count)).reshape(-1)
        at = at[at < len(self.atomic)]
        for table, to in zip(self._tables, other._tables, strict=True):
            table.move(at, to, factor)
        for more, further in zip(self._overflows, other._overflows, strict=True):
            more.move(at, further, factor)
        other.mark_atomic(parts_at(at, factor), atomic=self.atomic[at].repeat(factor))
        if self.readers is not None and other.readers is not None:
            self.readers.move(at, other.readers, factor)

    @property
    def _overflows(self) -> tuple[Overflow, ...]:
        return self.more_reads, self.more_polls, self.more_writes

    def _split(self, factor: int) -> None:
        """Make `factor` granules of each."""
        for table in self._tables:
            table.split(factor)
        for more in self._overflows:
            more.split(factor)
        self.atomic = np.repeat(self.atomic, factor)
        if self.readers is not None:
            self.readers.split(factor)


def _entries_of(
    at: NDArray[np.int64], tables: Iterable[Table], more: Overflow
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
    """Yield what tables, and what lies beside them, have of the granules `at`: of which of them, and the entries."""
    for table in tables:
        last = table.touched(at)
        if last is not None:
            which = np.flatnonzero(last[:, WARP])
            yield which, last[which]
    found = more.find(at)
    if found is not None:
        yield found


def fitting(granule: int, offsets: Offsets, size: int) -> int:
    """Return the widest granule, at most as wide as `granule`, that accesses of `size` bytes fill."""
    low_bits = int(np.bitwise_or.reduce(offsets, axis=None)) | size
    return min(granule, low_bits & -low_bits)


def pieces(offsets: Offsets, size: int, width: int) -> Offsets:
    """Return which pieces of a width the accesses touch, which are aligned to their size or to the width."""
    first: Offsets = offsets // width
    return first if size <= width else first[:, None] + np.arange(-(-size // width))
