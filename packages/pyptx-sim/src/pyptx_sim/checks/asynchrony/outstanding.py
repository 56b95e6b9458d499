"""Work of warps that no wait has covered, in the order in which it was issued."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_sim.machine.lanes import WARP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.observer import Masks, Offsets

_NONE: Final = -1  # the group of a lane that has not issued a piece of work


class Outstanding:
    """Pieces of work, each with its column, its clock, the groups of the lanes that issued it, and the last group."""

    def __init__(self) -> None:
        """Begin without any."""
        self._columns: NDArray[np.int64] = np.zeros(0, np.int64)
        self._clocks: NDArray[np.int32] = np.zeros(0, np.int32)
        self._groups: NDArray[np.int64] = np.zeros((0, WARP), np.int64)
        self._last: NDArray[np.int64] = np.zeros(0, np.int64)
        self._fresh: list[tuple[NDArray[Any], ...]] = []  # such columns, not yet there: most are asked for together

    def add(
        self,
        columns: NDArray[np.int64],
        clocks: NDArray[np.int32],
        pieces: NDArray[np.int64],
        lanes: Offsets,
        groups: NDArray[np.int64],
    ) -> None:
        """Add pieces; `lanes[i]` has issued a part of number `pieces[i]`, in group `groups[i]`."""
        fresh = np.full((len(columns), WARP), _NONE)
        fresh[pieces, lanes] = groups
        self._fresh.append((columns, clocks, fresh, fresh.max(axis=1)))

    def _gather(self) -> None:
        """Put what is fresh behind the rest."""
        if self._fresh:
            tables = zip((self._columns, self._clocks, self._groups, self._last), *self._fresh, strict=True)
            self._columns, self._clocks, self._groups, self._last = (np.concatenate(each) for each in tables)
            self._fresh.clear()

    def judged(self, columns: Offsets, below: NDArray[np.int64]) -> Waited:
        """Return what there is of different columns, for a wait of each: groups `below` those are over, by lane."""
        self._gather()
        places = np.full(int(max(self._columns.max(initial=0), columns.max(initial=0))) + 1, -1)
        places[columns] = np.arange(len(columns))
        where = places[self._columns]
        pieces = np.flatnonzero(where >= 0)
        where, last = where[pieces], self._last[pieces]
        over = last < below.min(axis=1)[where]
        unclear = np.flatnonzero(~over & (last < below.max(axis=1)[where]))
        over[unclear] = (self._groups[pieces[unclear]] < below[where[unclear]]).all(axis=1)
        return Waited(self, pieces, where, over)

    def clocks(self, pieces: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the clocks of pieces."""
        return self._clocks[pieces]

    def outstanding(self, pieces: NDArray[np.int64], below: NDArray[np.int64]) -> Masks:
        """Return which lanes have issued pieces in groups not `below` those of their warps."""
        later: Masks = self._groups[pieces] >= below
        return later

    def drop(self, pieces: NDArray[np.int64] | NDArray[np.bool_]) -> None:
        """Forget pieces."""
        stays = np.ones(len(self._columns), np.bool_)
        stays[pieces] = False
        self._columns, self._clocks = self._columns[stays], self._clocks[stays]
        self._groups, self._last = self._groups[stays], self._last[stays]

    def drop_known(self, first: int, known: NDArray[np.int32]) -> None:
        """Forget what is known of all columns from `first` on."""
        self._gather()
        self.drop(self._clocks <= known[self._columns - first])


class Waited:
    """What waits find: `pieces`, of the wait of number `where[i]`, and which of them are over."""

    def __init__(
        self, work: Outstanding, pieces: NDArray[np.int64], where: NDArray[np.int64], over: NDArray[np.bool_]
    ) -> None:
        """Keep it."""
        self._work, self._pieces, self._where, self._over = work, pieces, where, over

    def clocks(self, now: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return up to which clock work is over for each wait, where `now` are the last ones."""
        clocks, left = now.copy(), np.flatnonzero(~self._over)[::-1]
        clocks[self._where[left]] = self._work.clocks(self._pieces[left]) - 1  # the first, which comes last, counts
        return clocks

    def clocks_of_lanes(self, now: NDArray[np.int32], below: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the same for each lane by itself, `[waits, 32]`: groups `below` those are over."""
        clocks, left = np.repeat(self.clocks(now)[:, None], WARP, axis=1), np.flatnonzero(~self._over)
        first = left[np.unique(self._where[left], return_index=True)[1]]
        alike = self._work.outstanding(self._pieces[first], below[self._where[first]]).all(axis=1)
        if alike.all():
            return clocks
        uneven = np.zeros(len(now), np.bool_)
        uneven[self._where[first[~alike]]] = True
        clocks[uneven] = now[uneven, None]
        left = left[uneven[self._where[left]]][::-1]
        positions, lanes = np.nonzero(self._work.outstanding(self._pieces[left], below[self._where[left]]))
        some = left[positions]
        clocks[self._where[some], lanes] = self._work.clocks(self._pieces[some]) - 1
        return clocks

    def drop(self) -> None:
        """Forget what is over."""
        self._work.drop(self._pieces[self._over])
