"""Waits of lanes for the async-groups that they have issued.

A wait covers operations of the waiting thread only. Another thread is ordered after these operations once it is ordered
after the wait. So a wait has a time of its warp, like an access. Manual: "cp.async.wait_group",
"cp.async.bulk.wait_group".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.machine.lanes import WARP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.happens_before.columns import Clock, Columns
    from pyptx_sim.observer import Masks, Offsets

_LANE: Final = 32  # bits of a clock in a sort key (`Waits.times`); the lane number is in the higher bits


class Waits:
    """Waits of the lanes of a wave of CTAs for their own operations of one kind of async-group.

    A wait covers operations up to a clock of the operation queue of the warp's operations. `agents` are the columns of
    these queues in vector clocks.
    """

    def __init__(self, agents: Columns) -> None:
        """Start without operations."""
        self.agents = agents
        self.issued: Clock = np.zeros((agents.warps, WARP), np.int32)
        """Clock of the last operation that each lane has issued, by warp and lane; 0 without one."""
        self.complete: Clock = np.zeros(agents.warps, np.int32)
        """Clock up to which every lane of a warp has waited for its operations, by warp."""
        # clock up to which each lane has waited for its operations, by warp and lane
        self._reached: Clock = np.zeros((agents.warps, WARP), np.int32)
        self._fresh: list[tuple[Offsets, Clock, Clock]] = []  # waits that `_gather` has not yet moved to `_events`
        # by warp: times of its waits, and the clocks of each lane's operations that the waits cover, `[waits, 32]`
        self._events: dict[int, tuple[Clock, Clock]] = {}

    def enter(self, warps: Offsets, masks: Masks, times: Clock, clocks: Clock) -> None:
        """Record waits of lanes at `times` for their operations up to `clocks`, `[warps, 32]`."""
        before = self._reached[warps]
        reached = np.where(masks & (clocks > before), np.minimum(clocks, self.issued[warps]), before)
        some = np.flatnonzero((reached > before).any(axis=1))
        if len(some):
            warps, reached, issued = warps[some], reached[some], self.issued[warps[some]]
            self._reached[warps] = reached
            self._fresh.append((warps, times[some], reached))
            self.complete[warps] = _complete(reached, issued)

    def covered(self, warps: Offsets, masks: Masks) -> Masks:
        """Return, per warp, whether `masks` includes all of its lanes that have issued operations."""
        return ~np.asarray(((self.issued[warps] > 0) & ~masks).any(axis=1))

    def times(self, warps: Offsets, lanes: Offsets, clocks: Clock) -> Clock:
        """Return, per operation of a lane, the time of the lane's wait for it; 0 without a wait."""
        self._gather()
        found = np.zeros(len(warps), np.int32)
        waited = np.flatnonzero(self._reached[warps, lanes] >= clocks)
        for warp in np.unique(warps[waited]).tolist():
            at = waited[warps[waited] == warp]
            times, reached = self._events[warp]
            keys = (reached.T + (np.arange(WARP) << _LANE)[:, None]).reshape(-1)  # sort keys: lane, then clock
            places = keys.searchsorted((lanes[at] << _LANE) + clocks[at])
            found[at] = times[places - lanes[at] * len(times)]
        return found

    def settled(self, known: Clock, own: Columns) -> Clock:
        """Return the clock `known` with the operations whose waits it contains; `own` are its columns of warps."""
        self._gather()
        for warp in np.flatnonzero(self._reached.any(axis=1)).tolist():
            lanes, (times, reached) = np.flatnonzero(self.issued[warp]), self._events[warp]
            before = times.searchsorted(own.times(known, warp, lanes), "right")
            if not before.any():
                continue
            clocks = np.where(before > 0, reached[before - 1, lanes], 0)
            complete = int(_complete(clocks[None], self.issued[warp, lanes][None])[0])
            further = np.flatnonzero(clocks > complete)
            columns = [self.agents.first + warp, *(self.agents.of_lane(warp, lane) for lane in lanes[further].tolist())]
            known = np.concatenate([known, np.zeros(max(0, max(columns) + 1 - len(known)), np.int32)])
            known[columns] = np.maximum(known[columns], [complete, *clocks[further]])
        return known

    def _gather(self) -> None:
        """Move recorded waits from `_fresh` to `_events`, by warp. It is deferred: most waits are never looked up."""
        fresh: dict[int, list[tuple[Clock, Clock]]] = {}
        for warps, times, reached in self._fresh:
            for number, warp in enumerate(warps.tolist()):
                fresh.setdefault(warp, []).append((times[number : number + 1], reached[number : number + 1]))
        for warp, waits in fresh.items():
            known = [self._events[warp]] if warp in self._events else []
            all_times, all_reached = zip(*known, *waits, strict=True)
            self._events[warp] = np.concatenate(all_times), np.concatenate(all_reached)
        self._fresh.clear()


def _complete(reached: Clock, issued: Clock) -> Clock:
    """Return, per warp, the clock up to which all lanes have waited for the operations that they have issued."""
    outstanding: NDArray[np.int32] = np.where(reached < issued, reached, np.iinfo(np.int32).max)
    complete: Clock = np.minimum(outstanding.min(axis=1), issued.max(axis=1))
    return complete
