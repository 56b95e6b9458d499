"""When lanes have waited for their asynchronous operations, by groups.

A wait is one of the executing thread, for operations that it has issued itself. Another thread is ordered after these
once it is ordered after that wait: so waits have the time of their warp's clock, like accesses. Manual:
"cp.async.wait_group", "cp.async.bulk.wait_group".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.machine.lanes import WARP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.checks.race.columns import Clock, Columns
    from pyptx_sim.observer import Masks, Offsets

_LANE: Final = 32  # bits of a clock, above which a key has its lane


class Waits:
    """Waits of the lanes of a wave for their own operations of one kind, each up to a clock of the warp's agent.

    `agents` are the columns of these agents in the clocks of warps.
    """

    def __init__(self, agents: Columns) -> None:
        """Begin without operations."""
        self.agents = agents
        self.issued: Clock = np.zeros((agents.warps, WARP), np.int32)
        """By warp and lane: clock of the lane's last operation, 0 for a lane that has issued none."""
        self.complete: Clock = np.zeros(agents.warps, np.int32)
        """By warp: clock up to which every lane has waited for its operations."""
        self._reached: Clock = np.zeros((agents.warps, WARP), np.int32)  # the same of each lane
        self._fresh: list[tuple[Offsets, Clock, Clock]] = []  # warps, times, clocks by lane: of waits not in `_events`
        self._events: dict[int, tuple[Clock, Clock]] = {}  # by warp: times of waits, and then clocks, `[waits, 32]`

    def enter(self, warps: Offsets, masks: Masks, times: Clock, clocks: Clock) -> None:
        """Record waits of lanes, for their operations up to `clocks`, `[warps, 32]`."""
        before = self._reached[warps]
        reached = np.where(masks & (clocks > before), np.minimum(clocks, self.issued[warps]), before)
        some = np.flatnonzero((reached > before).any(axis=1))
        if len(some):
            warps, reached, issued = warps[some], reached[some], self.issued[warps[some]]
            self._reached[warps] = reached
            self._fresh.append((warps, times[some], reached))
            self.complete[warps] = _complete(reached, issued)

    def covered(self, warps: Offsets, masks: Masks) -> Masks:
        """Return whether lanes `masks` of each warp are all that have issued operations."""
        return ~np.asarray(((self.issued[warps] > 0) & ~masks).any(axis=1))

    def times(self, warps: Offsets, lanes: Offsets, clocks: Clock) -> Clock:
        """Return, per operation of a lane, when the lane had waited for it; 0 if it has not."""
        self._gather()
        found = np.zeros(len(warps), np.int32)
        waited = np.flatnonzero(self._reached[warps, lanes] >= clocks)
        for warp in np.unique(warps[waited]).tolist():
            at = waited[warps[waited] == warp]
            times, reached = self._events[warp]
            keys = (reached.T + (np.arange(WARP) << _LANE)[:, None]).reshape(-1)  # ascend, lane by lane
            places = keys.searchsorted((lanes[at] << _LANE) + clocks[at])
            found[at] = times[places - lanes[at] * len(times)]
        return found

    def settled(self, known: Clock, own: Columns) -> Clock:
        """Return clocks with the operations that are complete for them; `own` are the columns of warps in them."""
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
        """Sort fresh waits by warp: most are never asked for."""
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
    """Return, per warp, the clock up to which all lanes have waited for what they have issued."""
    outstanding: NDArray[np.int32] = np.where(reached < issued, reached, np.iinfo(np.int32).max)
    complete: Clock = np.minimum(outstanding.min(axis=1), issued.max(axis=1))
    return complete
