"""Asynchronous operations of warps that no wait has covered yet, in the order of their issue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_sim.machine.lanes import WARP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.observer import Masks, Offsets

_NONE: Final = -1  # in place of a lane's group index: the lane has issued no operation of the piece (see `Outstanding`)


class Outstanding:
    """Pieces of asynchronous operations: clock column and clock of their operation queue, and group index per lane.

    A piece is the operations of one warp with one item id. `_last` is its highest group index.
    """

    def __init__(self) -> None:
        """Start without outstanding operations."""
        self._columns: NDArray[np.int64] = np.zeros(0, np.int64)
        self._clocks: NDArray[np.int32] = np.zeros(0, np.int32)
        self._groups: NDArray[np.int64] = np.zeros((0, WARP), np.int64)
        self._last: NDArray[np.int64] = np.zeros(0, np.int64)
        self._fresh: list[tuple[NDArray[Any], ...]] = []  # newly issued operations, not yet in `_columns` to `_last`

    def add(
        self,
        columns: NDArray[np.int64],
        clocks: NDArray[np.int32],
        pieces: NDArray[np.int64],
        lanes: Offsets,
        groups: NDArray[np.int64],
    ) -> None:
        """Add pieces (operations of one warp and item); lane `lanes[i]` issued one of `pieces[i]`, in `groups[i]`."""
        fresh = np.full((len(columns), WARP), _NONE)
        fresh[pieces, lanes] = groups
        self._fresh.append((columns, clocks, fresh, fresh.max(axis=1)))

    def _gather(self) -> None:
        """Append the operations in `_fresh`, issued since the last call, to the arrays of outstanding operations."""
        if self._fresh:
            tables = zip((self._columns, self._clocks, self._groups, self._last), *self._fresh, strict=True)
            self._columns, self._clocks, self._groups, self._last = (np.concatenate(each) for each in tables)
            self._fresh.clear()

    def judged(self, columns: Offsets, below: NDArray[np.int64]) -> Waited:
        """Return the pieces in the operation queues `columns`, all distinct, and which of them waits complete.

        Wait i is on queue `columns[i]`, and completes the groups of lane j below index `below[i, j]`. A piece is the
        operations of one warp and item id.
        """
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
        """Return the clock in its operation queue of each piece (operations of one warp and item id)."""
        return self._clocks[pieces]

    def outstanding(self, pieces: NDArray[np.int64], below: NDArray[np.int64]) -> Masks:
        """Return, per piece (operations of one warp and item id) and lane, whether a wait leaves its group outstanding.

        The wait completes groups with an index less than `below[i, j]`, for piece i and lane j.
        """
        later: Masks = self._groups[pieces] >= below
        return later

    def drop(self, pieces: NDArray[np.int64] | NDArray[np.bool_]) -> None:
        """Remove pieces (operations of one warp and item id), given by indices or as a mask."""
        stays = np.ones(len(self._columns), np.bool_)
        stays[pieces] = False
        self._columns, self._clocks = self._columns[stays], self._clocks[stays]
        self._groups, self._last = self._groups[stays], self._last[stays]

    def drop_known(self, first: int, known: NDArray[np.int32]) -> None:
        """Remove the operations up to clock `known[i]` in the operation queue with clock column `first + i`."""
        self._gather()
        self.drop(self._clocks <= known[self._columns - first])


class Waited:
    """Result of waits: operations `pieces[i]` are in the queue of wait `where[i]`; `over[i]`: they are complete."""

    def __init__(
        self, work: Outstanding, pieces: NDArray[np.int64], where: NDArray[np.int64], over: NDArray[np.bool_]
    ) -> None:
        """Store the result of waits for the operations `work`."""
        self._work, self._pieces, self._where, self._over = work, pieces, where, over

    def clocks(self, now: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return, per wait, the clock up to which its operation queue is complete; `now` are the last clocks."""
        clocks, left = now.copy(), np.flatnonzero(~self._over)[::-1]
        # `left` descends, so the last assignment to a queue's clock, which remains, is that for its first incomplete
        # piece.
        clocks[self._where[left]] = self._work.clocks(self._pieces[left]) - 1
        return clocks

    def clocks_of_lanes(self, now: NDArray[np.int32], below: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return, per wait and lane, the clock up to which the lane's own operations are complete, `[waits, 32]`.

        `now` are the last clocks of the operation queues. Wait i completes the groups of lane j below `below[i, j]`.
        """
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
        """Remove the pieces (operations of one warp and item id) that the waits have completed."""
        self._work.drop(self._pieces[self._over])
