"""Summaries of recorded asynchronous operations: one row per shadow granule of the greatest width, 1024 bytes.

Large accesses are compared with a summary first: most overlap no recorded operation, or one that covers all their
bytes. A row may stand for several operations; then the granules themselves must be compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from pyptx_sim.events import NOBODY, TIME, WARP
from pyptx_sim.shadow.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["SEVERAL", "Summary", "by_last_read", "by_last_write"]

SEVERAL: Final = np.iinfo(np.int32).max
"""`TIME` of a summary entry for several operations; greater than all clocks, so that no vector clock contains it."""
_UNASKED: Final = 64

_Integers: TypeAlias = "NDArray[np.integer[Any]]"
_SumsUp: TypeAlias = "Callable[[Table, NDArray[np.int64], int, _Integers, NDArray[np.int32]], None]"
"""Function that enters accesses in a summary: table, shadow granules, granules per KiB, owners, shadow entries."""


class Summary:
    """Table with an entry per 1024 bytes of memory, computed on use; dropped after many accesses without a use."""

    def __init__(self, granules: int, sums_up: _SumsUp) -> None:
        """Start an empty table of `granules` granules of 1024 bytes; `sums_up` enters accesses in the table."""
        self._table: Table | None = Table(granules)
        self._sums_up = sums_up
        self._fresh: list[tuple[NDArray[np.int64], int, _Integers, NDArray[np.int32]]] = []

    def enter(self, at: NDArray[np.int64], parts: int, owners: _Integers, rows: NDArray[np.int32]) -> None:
        """Add accesses to granules `at` of 1024 / `parts` bytes; `rows[owners[i]]` is the shadow entry of access i."""
        if self._table is not None:
            self._fresh.append((at, parts, owners, rows))
            if len(self._fresh) > _UNASKED:
                self.close()

    def close(self) -> None:
        """Drop the table; from now on, `table` returns None."""
        self._table = None
        self._fresh.clear()

    def table(self) -> Table | None:
        """Return the table, which has a shadow entry per 1024-byte granule; None if it has been dropped (`close`)."""
        if self._table is not None:
            for fresh in self._fresh:
                self._sums_up(self._table, *fresh)
            self._fresh.clear()
        return self._table


def by_last_read(table: Table, at: NDArray[np.int64], parts: int, owners: _Integers, rows: NDArray[np.int32]) -> None:
    """Enter reads in the summary `table`; the last read of an operation queue represents its earlier reads.

    A vector clock that contains the last read contains the earlier ones. Granules with reads of several operation
    queues get the time `SEVERAL`.
    """
    wide, agents = at // parts, rows[:, WARP].take(owners)
    ends = np.ones(len(wide), np.bool_)
    ends[:-1] = (wide[1:] != wide[:-1]) | (agents[1:] != agents[:-1])
    last = np.flatnonzero(ends)
    wide, rows = wide[last], rows[owners[last]]
    before = table.get(wide)
    table.put(wide, rows)
    met = (before[:, WARP] != NOBODY) & (before[:, WARP] != rows[:, WARP]) | (before[:, TIME] == SEVERAL)
    met |= table.get(wide)[:, WARP] != rows[:, WARP]
    if met.any():
        rows[met, TIME] = SEVERAL
        table.put(wide[met], rows[met])


def by_last_write(table: Table, at: NDArray[np.int64], parts: int, owners: _Integers, rows: NDArray[np.int32]) -> None:
    """Enter writes in the summary `table`; a 1024-byte granule that a write covers in part gets the time `SEVERAL`."""
    wide = at // parts
    first = np.ones(len(at), np.bool_)
    first[1:] = (at[1:] != at[:-1] + 1) | (wide[1:] != wide[:-1]) | (owners[1:] != owners[:-1])
    runs = np.flatnonzero(first)
    last = rows[owners[runs]]
    last[np.diff(runs, append=len(at)) != parts, TIME] = SEVERAL
    table.put(wide[runs], last)
