"""The memory of a checker: for each granule of an arena, who touched it last, when, and with which instruction.

A granule is as wide as the narrowest access seen so far; the first narrower one splits all granules. So a kernel that
moves 16-byte vectors pays for one entry per vector, and one that stores bytes is still judged byte by byte. `divisions`
gives each page of a memory to a shadow whose granules are as narrow as that page needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.checks.race.overflow import Overflow
from pyptx_sim.checks.race.pages import PAGE, Pages
from pyptx_sim.checks.race.sparse import zeros
from pyptx_sim.checks.race.tables import WARP, WIDEST_ACCESS, Table, parts_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from pyptx_sim.checks.race.readers import Readers
    from pyptx_sim.checks.race.tables import Reach
    from pyptx_sim.observer import AsyncAccess, Offsets


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

    def untouched(self, touch: AsyncAccess) -> bool:
        """Tell at a glance that warps have done nothing that `touch` may meet; False says nothing."""
        if not self._written.misses(touch.offsets, touch.size):
            return False
        return not touch.writes or (self.readers is not None and self._unread(self.readers, touch))

    def _unread(self, readers: Readers, touch: AsyncAccess) -> bool:
        return not self.more_reads and readers.misses(touch.offsets, touch.size)

    def mark_atomic(self, at: NDArray[np.int64], *, atomic: bool | NDArray[np.bool_]) -> None:
        """Say of the last writes of granules whether they were strong; where none ever was, nothing is to be said."""
        self._atomics |= bool(np.any(atomic))
        if self._atomics:
            self.atomic[at] = atomic

    def granules(self, offsets: Offsets, size: int) -> NDArray[np.int64]:
        """Return the granules of each access, `[n, granules]`, splitting all of them first if they are too wide."""
        self.narrow(fitting(self.granule, offsets, size))
        return self.fitted(offsets, size)

    def fitted(self, offsets: Offsets, size: int) -> NDArray[np.int64]:
        """Return the same, of accesses that fill whole granules."""
        first = offsets >> self.granule.bit_length() - 1
        count = size // self.granule
        return first[:, None] if count == 1 else first[:, None] + np.arange(count)

    def reach(self, offsets: Reach, size: int) -> Reach:
        """Return between which granules accesses lie that begin between two offsets."""
        return offsets[0] // self.granule, (offsets[1] + size - 1) // self.granule

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
    yield from more.find_in_parts(at)


def fitting(granule: int, offsets: Offsets, size: int) -> int:
    """Return the widest granule, at most as wide as `granule`, that accesses of `size` bytes fill."""
    low_bits = int(np.bitwise_or.reduce(offsets, axis=None)) | size
    return min(granule, low_bits & -low_bits)


def pieces(offsets: Offsets, size: int, width: int) -> Offsets:
    """Return which pieces of a width the accesses touch, which are aligned to their size or to the width."""
    first: Offsets = offsets // width
    return first if size <= width else first[:, None] + np.arange(-(-size // width))
