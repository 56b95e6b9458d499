"""Columns of vector clocks: one per warp, and one per lane that releases without the rest of its warp."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pyptx_sim.happens_before.lane_masks import LANES, booleans_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.observer import Offsets

Clock: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]


class Columns:
    """Components of vector clocks for one kind of order: a column per warp, and one per lane that releases alone.

    The first `Columns` of a run are for happens-before. Others are for accesses that are visible to a proxy, for
    example.
    """

    def __init__(self, clocks: WarpClocks, *, agents: bool = False) -> None:
        """Add a column per warp to `clocks`; `agents`: the columns are for queues of asynchronous operations."""
        self._clocks = clocks
        self._agents = agents
        self.warps = len(clocks.now)
        self.first = clocks.columns(self.warps, agents=agents)
        self._of_lanes: NDArray[np.int64] = np.full((self.warps, LANES), -1, np.int64)
        self._threads: list[tuple[int, int]] = []
        self._lanes: list[int] = []
        self._all: NDArray[np.int64] = np.zeros(0, np.int64)
        # per warp: whether any lane has its own clock column
        self._parted: NDArray[np.bool_] = np.zeros(self.warps, np.bool_)

    def of_lane(self, warp: int, lane: int) -> int:
        """Return the clock column of a lane, and add it if the lane has none."""
        column = int(self._of_lanes[warp, lane])
        if column < 0:
            column = self._of_lanes[warp, lane] = self._clocks.columns(1, agents=self._agents)
            self._threads.append((warp, lane))
            self._lanes.append(column)
            self._parted[warp] = True
        return column

    def of_threads(self, warps: Offsets, lanes: Offsets) -> NDArray[np.int64]:
        """Return the clock column of each lane `lanes[i]` of `warps[i]`, and add the missing columns."""
        for new in np.flatnonzero(self._of_lanes[warps, lanes] < 0).tolist():
            self.of_lane(int(warps[new]), int(lanes[new]))
        return self._of_lanes[warps, lanes]

    def of_lanes(self) -> Iterator[tuple[int, int, int]]:
        """Yield the warp, the lane and the clock column of each lane that has a column of its own."""
        return ((*thread, at) for thread, at in zip(self._threads, self._lanes, strict=True))

    def present(self) -> NDArray[np.int64]:
        """Return the clock columns of all warps, then the columns of single lanes."""
        return np.concatenate([np.arange(self.first, self.first + self.warps), np.array(self._lanes, np.int64)])

    def all(self, of: Columns) -> NDArray[np.int64]:
        """Return the clock columns in the order of `of.present()`; first add columns for lanes that only `of` has."""
        for warp, lane in of._threads[len(self._threads) :]:
            self.of_lane(warp, lane)
        if len(self._all) < self.warps + len(self._lanes):
            self._all = self.present()
        return self._all

    def hold(
        self,
        known: Clock,
        rows: Offsets,
        warps: Offsets,
        masks: NDArray[Any],
        times: NDArray[Any],
    ) -> NDArray[np.bool_]:
        """Return, per entry, whether clock `rows[i]` contains accesses of lanes `masks[i]` of `warps[i]`.

        `times[i]` is the time of the accesses.
        """
        held: NDArray[np.bool_] = known[rows, self.first + warps] >= times
        if not self._lanes or held.all():
            return held
        at = np.flatnonzero(~held & self._parted[warps])
        if len(at):
            rows, columns, times = rows[at, None], self._of_lanes[warps[at]], times[at, None]
            seen = (columns >= 0) & (known[rows, columns] >= times)
            held[at] = (seen | ~booleans_of(masks[at])).all(axis=1)
        return held

    def seen(self, known: Clock, rows: Offsets, warps: Offsets, lanes: Offsets) -> Clock:
        """Return, per vector clock `rows[i]` and lane `lanes[j]` of `warps[j]`, the time up to which it has accesses.

        The result is a matrix `[rows, lanes]`.
        """
        rows, columns = rows[:, None], self._of_lanes[warps, lanes]
        seen = known[rows, self.first + warps]
        return np.asarray(np.where(columns >= 0, np.maximum(seen, known[rows, columns]), seen))

    def times(self, known: Clock, warp: int, lanes: Offsets) -> Clock:
        """Return, per lane of a warp, the time up to which its accesses are in the vector clock `known`.

        `known` may have fewer columns than the clocks have now.
        """
        columns = self._of_lanes[warp, lanes]
        there = (columns >= 0) & (columns < len(known))
        times: Clock = np.maximum(known[self.first + warp], np.where(there, known[np.where(there, columns, 0)], 0))
        return times

    def reach(self, known: Clock, warps: Offsets, times: NDArray[Any]) -> bool:
        """Return whether the vector clock `known` is ordered after any lane of `warps` at `times` or later."""
        if (known[self.first + warps] >= times).any():
            return True
        columns = self._of_lanes[warps]
        return bool(((columns >= 0) & (known[columns] >= times[:, None])).any())
