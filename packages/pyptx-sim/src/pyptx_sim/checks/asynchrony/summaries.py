"""Summaries of what asynchronous work did last: one row for each of the widest granules of a memory.

Large pieces of work are looked up here first, for most meet nothing that they have to know of, or one operation that
used all of what they use. A row may stand for several operations: then one has to look closer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from pyptx_sim.checks.race.tables import NOBODY, TIME, WARP, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["SEVERAL", "Summary", "by_last_read", "by_last_write"]

SEVERAL: Final = np.iinfo(np.int32).max
"""The time in a row that stands for several operations: one that nobody knows."""
_UNASKED: Final = 64

_Integers: TypeAlias = "NDArray[np.integer[Any]]"
_SumsUp: TypeAlias = "Callable[[Table, NDArray[np.int64], int, _Integers, NDArray[np.int32]], None]"
"""Enters in a table accesses to granules, so many of which make a wide one, each by an operation, which has a row."""


class Summary:
    """A summary, made when somebody asks for it, and no more once many accesses have been entered without that."""

    def __init__(self, granules: int, sums_up: _SumsUp) -> None:
        """Begin with so many wide granules that nothing has touched."""
        self._table: Table | None = Table(granules)
        self._sums_up = sums_up
        self._fresh: list[tuple[NDArray[np.int64], int, _Integers, NDArray[np.int32]]] = []

    def enter(self, at: NDArray[np.int64], parts: int, owners: _Integers, rows: NDArray[np.int32]) -> None:
        """Enter accesses to the granules `at`, `parts` of which make a wide one, each by an operation with a row."""
        if self._table is not None:
            self._fresh.append((at, parts, owners, rows))
            if len(self._fresh) > _UNASKED:
                self.close()

    def close(self) -> None:
        """Keep it no longer."""
        self._table = None
        self._fresh.clear()

    def table(self) -> Table | None:
        """Return the rows by wide granule; None if they are no longer kept."""
        if self._table is not None:
            for fresh in self._fresh:
                self._sums_up(self._table, *fresh)
            self._fresh.clear()
        return self._table


def by_last_read(table: Table, at: NDArray[np.int64], parts: int, owners: _Integers, rows: NDArray[np.int32]) -> None:
    """Let the last read of any part of a wide granule stand for all of one agent's: who knows of it knows of these."""
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
    """Let a write stand for a wide granule all of which it has written; else several may have."""
    wide = at // parts
    first = np.ones(len(at), np.bool_)
    first[1:] = (at[1:] != at[:-1] + 1) | (wide[1:] != wide[:-1]) | (owners[1:] != owners[:-1])
    runs = np.flatnonzero(first)
    last = rows[owners[runs]]
    last[np.diff(runs, append=len(at)) != parts, TIME] = SEVERAL
    table.put(wide[runs], last)
