"""Tables of accesses, a row for each granule of a memory: who touched it, when, and with which instruction."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_sim.checks.race.sparse import zeros

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOBODY = 0  # so that a fresh table is zeros, whose pages cost nothing until they are touched
WIDEST_ACCESS = 16  # bytes; a wider access covers several granules

# The columns of an entry.
WARP: Final = 0  # numbered through all waves from 1, or NOBODY
MASK: Final = 1  # of the warp's lanes: bit i for lane i
TIME: Final = 2  # of the warp's clock
PC: Final = 3
COLUMNS: Final = 4

# Rows of more granules than these are not copied when granules are split: most are not looked at again.
_SPLIT_AT_ONCE: Final = 1 << 16
# So many rows are set to zero; beyond, fresh pages that stay zero are cheaper.
_CLEARED: Final = 1 << 15


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

    __slots__ = ("_granules", "_high", "_low", "_made", "_wider", "latest")

    def __init__(self, granules: int) -> None:
        """Start with granules that nobody has touched."""
        self._granules = granules
        self._made: NDArray[np.complex128] | None = None  # many tables stay empty, and memory costs even as zeros
        self._low, self._high = granules, -1
        self._wider: tuple[int, Table] | None = None  # how many granules one of it became
        self.latest = 0  # no entry is of a later time

    def clear(self) -> None:
        """Forget who has touched what."""
        if self._made is not None and self._wider is None and self._high - self._low < _CLEARED:
            self._made[self._low : self._high + 1] = 0  # faster than fresh pages
        else:
            self._made = None
        self._wider = None
        self._low, self._high = self._granules, -1
        self.latest = 0

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
        self.latest = max(self.latest, int(entries[:, TIME].max(initial=0)))

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
        self.latest = max(self.latest, int(entries[:, TIME].max(initial=0)))

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
            self.put(*parts_of(at, rows, factor))

    def move(self, at: NDArray[np.int64], other: Table, factor: int) -> None:
        """Move the rows of the granules `at` to a table, where each of them is so many."""
        rows = self.touched(at)
        if rows is not None:
            touched = np.flatnonzero(rows[:, WARP])
            other.put(*parts_of(at[touched], rows[touched], factor))
            self.put(at[touched], np.zeros((len(touched), COLUMNS), np.int32))


def parts_of(
    at: NDArray[np.int64], entries: NDArray[np.int32], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the parts into which granules have been split, `count` for each, all with its entries."""
    return parts_at(at, count), entries.repeat(count, axis=0)


def parts_at(at: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the parts of granules, `count` of each."""
    return (at[:, None] * count + np.arange(count)).reshape(-1)
