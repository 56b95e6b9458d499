"""Shadow memory: for each shadow granule of an arena, the warp, lanes, time and pc of its last accesses.

A granule is as wide as the narrowest access so far; the first narrower access splits all granules. A kernel that moves
16-byte vectors has one shadow entry per vector, and a kernel that stores bytes is checked byte by byte. `divisions` has
a `Shadow` per granule width, and assigns each page of a memory to one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.events import WARP
from pyptx_sim.shadow.overflow import Overflow
from pyptx_sim.shadow.pages import PAGE, Pages
from pyptx_sim.shadow.sparse import zeros
from pyptx_sim.shadow.tables import WIDEST_ACCESS, Table, parts_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from pyptx_sim.events import Reach
    from pyptx_sim.observer import AsyncAccess, Offsets
    from pyptx_sim.shadow.readers import Readers


@dataclass(slots=True)
class Shadow:
    """Last write, last read and last poll (strong read) of each shadow granule of one arena.

    `first` is the oldest read that does not happen before the last read, and `first_poll` the oldest such poll.
    `atomic`: the last write was strong. `covered` is an earlier write that is checked as well, since an access after
    the last write may still race with it. `cached` is the last `ld.global.nc`. For shared memory, `readers` has the
    last read by each warp. `more_reads`, `more_polls` and `more_writes` are further accesses that no order makes
    redundant.
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
        """Create tables without accesses for all shadow granules of the arena."""
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
        """Forget all accesses to the arena."""
        for table in self._tables:
            table.clear()
        self._written.clear()
        count = -(-self.arena_bytes // self.granule)
        self.atomic = zeros(count, np.bool_)
        self.more_reads, self.more_polls, self.more_writes = Overflow(count), Overflow(count), Overflow(count)
        if self.readers is not None:
            self.readers.clear()

    def put_write(self, at: NDArray[np.int64], entries: NDArray[np.int32], reach: Reach) -> None:
        """Set the last writes of the shadow granules `at`, whose bounds are `reach`."""
        self.write.put(at, entries, reach)
        self._written.mark(at, self.granule)

    def untouched(self, touch: AsyncAccess) -> bool:
        """Return True if no 1 KiB page that `touch` overlaps has a conflicting access of a warp; False: unknown."""
        if not self._written.misses(touch.offsets, touch.size):
            return False
        return not touch.writes or (self.readers is not None and self._unread(self.readers, touch))

    def _unread(self, readers: Readers, touch: AsyncAccess) -> bool:
        return not self.more_reads and readers.misses(touch.offsets, touch.size)

    def mark_atomic(self, at: NDArray[np.int64], *, atomic: bool | NDArray[np.bool_]) -> None:
        """Record whether the last writes of shadow granules are strong; nothing is stored if none ever was."""
        self._atomics |= bool(np.any(atomic))
        if self._atomics:
            self.atomic[at] = atomic

    def granules(self, offsets: Offsets, size: int) -> NDArray[np.int64]:
        """Return the shadow granules of each access, `[n, granules]`; split granules wider than the accesses."""
        self.narrow(fitting(self.granule, offsets, size))
        return self.fitted(offsets, size)

    def fitted(self, offsets: Offsets, size: int) -> NDArray[np.int64]:
        """Return the shadow granules of each access, `[n, granules]`, for accesses that fill whole granules."""
        first = offsets >> self.granule.bit_length() - 1
        count = size // self.granule
        return first[:, None] if count == 1 else first[:, None] + np.arange(count)

    def reach(self, offsets: Reach, size: int) -> Reach:
        """Return bounds of the shadow granules of accesses that begin between the two `offsets`."""
        return offsets[0] // self.granule, (offsets[1] + size - 1) // self.granule

    def narrow(self, granule: int) -> None:
        """Split all shadow granules to the width `granule` in bytes, unless they are as narrow already."""
        if granule < self.granule:
            self._split(self.granule // granule)
            self.granule = granule

    def reads_of(self, at: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """Yield the reads that are not in `readers`: indices into the shadow granules `at`, and shadow entries."""
        return _entries_of(at, (self.read, self.first), self.more_reads)

    def polls_of(self, at: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """Yield polls (strong reads): indices into the shadow granules `at`, and their shadow entries."""
        return _entries_of(at, (self.poll, self.first_poll), self.more_polls)

    def move(self, pages: NDArray[np.int64], other: Shadow) -> None:
        """Move the shadow entries of `pages` to the narrower granules of `other`; the pages stay marked as written."""
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
        """Split each shadow granule into `factor` granules."""
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
    """Yield indices into the shadow granules `at`, with the entries of these granules in `tables` and in `more`."""
    for table in tables:
        last = table.touched(at)
        if last is not None:
            which = np.flatnonzero(last[:, WARP])
            yield which, last[which]
    yield from more.find_in_parts(at)


def fitting(granule: int, offsets: Offsets, size: int) -> int:
    """Return the greatest width, at most `granule`, of shadow granules that accesses of `size` bytes fill."""
    low_bits = int(np.bitwise_or.reduce(offsets, axis=None)) | size
    return min(granule, low_bits & -low_bits)


def pieces(offsets: Offsets, size: int, width: int) -> Offsets:
    """Return the aligned pieces of `width` bytes that accesses touch, by number.

    The accesses are aligned to their size or to the width.
    """
    first: Offsets = offsets // width
    return first if size <= width else first[:, None] + np.arange(-(-size // width))
