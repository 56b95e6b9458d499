"""Tables of shadow memory: per granule (aligned piece of memory), its last access of one kind."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.events import COLUMNS, NOBODY, TIME, WARP, Reach, reach_of
from pyptx_sim.shadow.sparse import zeros

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDEST_ACCESS = 16  # bytes of the widest shadow granule; wider accesses cover several granules

# If splitting shadow granules would copy more entries than this, none are copied at once: most are never read again.
_SPLIT_AT_ONCE: Final = 1 << 16
# Up to this number of shadow entries, `clear` writes zeros; above, a new array of zeros is faster.
_CLEARED: Final = 1 << 15


class Table:
    """Shadow entry of the last access of one kind to each shadow granule: `COLUMNS` numbers per granule.

    An entry is stored as one 16-byte value, of type `complex128` for its size only: NumPy gathers and scatters such
    values several times faster than matrix rows. After a split, the entry of a narrow granule without accesses of its
    own is that of the wider granule, in the table `_wider`; no entry is copied.
    """

    __slots__ = ("_granules", "_high", "_low", "_made", "_wider", "latest")

    def __init__(self, granules: int) -> None:
        """Start with `granules` shadow granules without accesses."""
        self._granules = granules
        # shadow entries; allocated at first use: many tables stay empty
        self._made: NDArray[np.complex128] | None = None
        self._low, self._high = granules, -1
        # after a split of the granules: number of parts of each old granule, and the table of the old granules
        self._wider: tuple[int, Table] | None = None
        self.latest = 0  # greatest value in column `TIME` of all shadow entries stored so far

    def clear(self) -> None:
        """Forget all accesses."""
        if self._made is not None and self._wider is None and self._high - self._low < _CLEARED:
            self._made[self._low : self._high + 1] = 0  # zeroing a short range is faster than a new array of zeros
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
        """Return True if no shadow granule from `low` to `high` has been accessed; False: unknown."""
        return high < self._low or low > self._high

    def fill(
        self,
        at: NDArray[np.int64],
        entries: NDArray[np.int32],
        owners: NDArray[np.int64],
        reach: Reach | None = None,
    ) -> None:
        """Set the entry of shadow granule `at[i]` to `entries[owners[i]]`; `reach` are bounds of `at`."""
        rows = entries.view(np.complex128)[:, 0]
        self._rows[at] = rows[0] if len(rows) == 1 else rows.take(owners)
        self._extend(reach or reach_of(at))
        self.latest = max(self.latest, int(entries[:, TIME].max(initial=0)))

    def _extend(self, reach: Reach) -> None:
        self._low, self._high = min(self._low, reach[0]), max(self._high, reach[1])

    def get(self, at: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the entries of the shadow granules `at`, `[n, COLUMNS]`."""
        if self._wider is not None:
            return self._overlaid(at, *self._wider)
        return self._rows.take(at).view(np.int32).reshape(-1, COLUMNS)

    def _overlaid(self, at: NDArray[np.int64], factor: int, wider: Table) -> NDArray[np.int32]:
        """Return the entries of shadow granules, each a part of a granule of the table `wider`, after a split."""
        if self._made is None:
            return wider.get(at // factor)
        rows = self._rows.take(at).view(np.int32).reshape(-1, COLUMNS)
        untouched = np.flatnonzero(rows[:, WARP] == NOBODY)
        if len(untouched):
            rows[untouched] = wider.get(at[untouched] // factor)
        return rows

    def touched(self, at: NDArray[np.int64], reach: Reach | None = None) -> NDArray[np.int32] | None:
        """Return the entries of shadow granules `at`, None if none has been accessed; `reach` are bounds of `at`."""
        if self._high < 0 or self.misses(*(reach or reach_of(at))):
            return None
        rows = self.get(at)
        return rows if rows[:, WARP].any() else None

    def put(self, at: NDArray[np.int64], entries: NDArray[np.int32], reach: Reach | None = None) -> None:
        """Set the entries of shadow granules `at` (bounds: `reach`); a repeated granule gets its last entry."""
        self._rows[at] = entries.view(np.complex128)[:, 0]
        self._extend(reach or reach_of(at))
        self.latest = max(self.latest, int(entries[:, TIME].max(initial=0)))

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the numbers of all shadow granules that have been accessed, and their entries."""
        if self._high < 0:
            return np.zeros(0, np.int64), np.zeros((0, COLUMNS), np.int32)
        if self._wider is None:
            rows = self._rows[self._low : self._high + 1].view(np.int32).reshape(-1, COLUMNS)
        else:
            rows = self.get(np.arange(self._low, self._high + 1))
        touched = np.flatnonzero(rows[:, WARP])
        return touched + self._low, rows[touched]

    def split(self, factor: int) -> None:
        """Split each shadow granule into `factor` granules, each with the entry of the split granule."""
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
        """Move the entries of the shadow granules `at` to table `other`, where each granule is `factor` granules."""
        rows = self.touched(at)
        if rows is not None:
            touched = np.flatnonzero(rows[:, WARP])
            other.put(*parts_of(at[touched], rows[touched], factor))
            self.put(at[touched], np.zeros((len(touched), COLUMNS), np.int32))


def parts_of(
    at: NDArray[np.int64], entries: NDArray[np.int32], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the shadow granules into which `at` have been split, `count` each, and for each its entry."""
    return parts_at(at, count), entries.repeat(count, axis=0)


def parts_at(at: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the numbers of the shadow granules into which granules `at` have been split, `count` each."""
    return (at[:, None] * count + np.arange(count)).reshape(-1)
