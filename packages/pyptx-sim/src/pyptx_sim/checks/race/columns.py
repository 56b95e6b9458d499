"""Columns of vector clocks: one for each warp, and one for each diverged lane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pyptx_sim.checks.race.lane_masks import LANES, booleans_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.checks.race.clocks import WarpClocks
    from pyptx_sim.observer import Offsets

Clock: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]


class Columns:
    """The columns that say up to where the work of each warp, and of lanes by themselves, has come to be known.

    The first such columns are those of the clocks; others tell of who else has been shown it: a proxy, for one.
    """

    def __init__(self, clocks: WarpClocks, *, agents: bool = False) -> None:
        """Take fresh columns of `clocks` for its warps; `agents`: of asynchronous operations that these issue."""
        self._clocks = clocks
        self._agents = agents
        self.warps = len(clocks.now)
        self.first = clocks.columns(self.warps, agents=agents)
        self._of_lanes: NDArray[np.int64] = np.full((self.warps, LANES), -1, np.int64)
        self._threads: list[tuple[int, int]] = []
        self._lanes: list[int] = []
        self._all: NDArray[np.int64] = np.zeros(0, np.int64)
        self._parted: NDArray[np.bool_] = np.zeros(self.warps, np.bool_)  # warps of which a lane has a column

    def of_lane(self, warp: int, lane: int) -> int:
        """Return the column of a lane; from now on it has one."""
        column = int(self._of_lanes[warp, lane])
        if column < 0:
            column = self._of_lanes[warp, lane] = self._clocks.columns(1, agents=self._agents)
            self._threads.append((warp, lane))
            self._lanes.append(column)
            self._parted[warp] = True
        return column

    def of_threads(self, warps: Offsets, lanes: Offsets) -> NDArray[np.int64]:
        """Return the columns of some lanes; from now on they have them."""
        for new in np.flatnonzero(self._of_lanes[warps, lanes] < 0).tolist():
            self.of_lane(int(warps[new]), int(lanes[new]))
        return self._of_lanes[warps, lanes]

    def of_lanes(self) -> Iterator[tuple[int, int, int]]:
        """Yield the columns of lanes by themselves: the warp, the lane, and which it is."""
        return ((*thread, at) for thread, at in zip(self._threads, self._lanes, strict=True))

    def present(self) -> NDArray[np.int64]:
        """Return all columns."""
        return np.concatenate([np.arange(self.first, self.first + self.warps), np.array(self._lanes, np.int64)])

    def all(self, of: Columns) -> NDArray[np.int64]:
        """Return all columns, in the order of those that `of` has."""
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
        """Tell for each entry whether a row knows what all lanes in `masks` of `warps` did at `times`."""
        held: NDArray[np.bool_] = known[rows, self.first + warps] >= times
        if not self._lanes or held.all():
            return held
        at = np.flatnonzero(~held & self._parted[warps])
        if len(at):
            rows, columns, times = rows[at, None], self._of_lanes[warps[at]], times[at, None]
            seen = (columns >= 0) & (known[rows, columns] >= times)
            held[at] = (seen | ~booleans_of(masks[at])).all(axis=1)
        return held

    def times(self, known: Clock, warp: int, lanes: Offsets) -> Clock:
        """Return up to where `known`, which may have fewer columns, has what lanes of a warp did."""
        columns = self._of_lanes[warp, lanes]
        there = (columns >= 0) & (columns < len(known))
        times: Clock = np.maximum(known[self.first + warp], np.where(there, known[np.where(there, columns, 0)], 0))
        return times

    def reach(self, known: Clock, warps: Offsets, times: NDArray[Any]) -> bool:
        """Return whether the row `known` is ordered after any lane of `warps` at `times` or later."""
        if (known[self.first + warps] >= times).any():
            return True
        columns = self._of_lanes[warps]
        return bool(((columns >= 0) & (known[columns] >= times[:, None])).any())
