"""Clock components of warps, and of asynchronous operations, of earlier waves of CTAs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.happens_before.lane_masks import lanes_in

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import NDArray

    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.happens_before.columns import Clock, Columns
    from pyptx_sim.observer import Offsets

# Above this number of columns, a clock only has the number of the warp below which all warps are ordered before it.
# This can hide a race but never invents one.
MOST: Final = 1 << 13


class Retired:
    """Clock columns for warps and lanes of earlier waves of CTAs, if release clocks in global memory contain them."""

    def __init__(self, clocks: WarpClocks) -> None:
        """Add two columns: the warp number below which all warps are ordered, and operations without a release."""
        self._clocks = clocks
        self._below, self._untold = clocks.columns(1), clocks.columns(1)
        self._of_agents: dict[int, int] = {}  # persistent clock column of each queue, by its column in the ended wave
        # Operation queues of the ended wave that are in release clocks but get no persistent column (limit `MOST`).
        self._forgotten: set[int] = set()
        # persistent clock column of a single lane, by persistent column of its operation queue and lane number
        self._of_lanes_of: dict[tuple[int, int], int] = {}
        # persistent clock column of each warp, numbered through all waves of CTAs; 0: no column
        self._of_warps: NDArray[np.int64] = np.zeros(0, np.int64)
        self._of_lanes: dict[tuple[int, int], int] = {}
        self._all: list[int] = [self._below]

    def keep(self, column: int) -> None:
        """Keep a column of the clocks unchanged in later waves of CTAs."""
        self._all.append(column)

    def kept(self, known: Clock, first: int, own: Columns) -> Clock:
        """Return the vector clock `known` in persistent columns, at the end of a wave of CTAs.

        `first` is the number of the wave's first warp, through all waves; `own` are the wave's columns.
        """
        agents = self._kept_agents(known)
        times = known[own.first : own.first + own.warps]
        warps = np.flatnonzero(times)
        lanes = [(first + warp, lane, at) for warp, lane, at in own.of_lanes() if at < len(known) and known[at]]
        kept = np.zeros(self._clocks.known.shape[1], np.int32)
        if len(self._all) + len(warps) + len(lanes) > MOST:
            numbers = [first + int(warps.max(initial=-1)), *(warp for warp, _, _ in lanes)]
            kept[self._below] = max(*numbers, int(known[self._below]) - 1) + 1
        else:
            at = self._columns(first + warps)
            places = [self._column(warp, lane) for warp, lane, _ in lanes]
            # `kept` is created after `_columns` and `_column`, which may add clock columns
            kept = np.zeros(self._clocks.known.shape[1], np.int32)
            kept[at] = times[warps]
            kept[places] = known[[column for _, _, column in lanes]]
        old = np.array(self._all, np.int64)
        old = old[old < len(known)]
        kept[old] = np.maximum(kept[old], known[old])
        for column, agent in agents.items():
            kept[column] = known[agent]
        return kept

    def _kept_agents(self, known: Clock) -> dict[int, int]:
        """Return the columns of the last wave's operation queues (asynchronous), by their persistent columns.

        An operation queue gets a persistent column when a release clock contains operations of it.
        """
        agents = np.array(self._clocks.of_agents, np.int64)
        agents = agents[agents < len(known)]
        for agent in agents[known[agents] > 0].tolist():
            if agent not in self._of_agents and len(self._all) >= MOST:
                self._forgotten.add(agent)
            elif agent not in self._of_agents:
                self._of_agents[agent] = self._clocks.columns(1)
                self._all.append(self._of_agents[agent])
        return {column: agent for agent, column in self._of_agents.items() if agent < len(known)}

    def keep_lanes(self, lanes: Iterable[tuple[int, int, int]]) -> None:
        """Keep columns of single lanes of the last wave's operation queues: (queue's column, lane, lane's column).

        If a lane's column cannot be kept, the whole queue loses its column.
        """
        for agent, lane, own in lanes:
            if own in self._of_agents:
                if agent not in self._of_agents:
                    self._of_agents[agent] = self._clocks.columns(1)
                self._of_lanes_of[self._of_agents[agent], lane] = self._of_agents[own]
            elif own in self._forgotten:
                self._of_agents.pop(agent, None)
                self._forgotten.add(agent)

    def over(self, rows: Offsets, agents: NDArray[np.int64], lanes: Offsets, clocks: Clock) -> NDArray[np.bool_]:
        """Return, per operation of an earlier wave, whether vector clock `rows[i]` contains it in its lane's column."""
        over = np.zeros(len(rows), np.bool_)
        for entry in np.flatnonzero(np.isin(agents, list({agent for agent, _ in self._of_lanes_of}))).tolist():
            own = self._of_lanes_of.get((int(agents[entry]), int(lanes[entry])))
            over[entry] = own is not None and self._clocks.known[rows[entry], own] >= clocks[entry]
        return over

    def rename(self, agents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return, at the end of a wave of CTAs, the clock columns by which later waves know operation queues.

        `agents` are the queues' columns during the wave. Queues of earlier waves keep their columns, all queues that no
        release clock contains share one column, and a forgotten queue has -1.
        """
        names = np.flatnonzero(np.bincount(agents))
        current = np.isin(names, self._clocks.of_agents)
        told = [self._of_agents.get(name, -1 if name in self._forgotten else self._untold) for name in names.tolist()]
        renamed: NDArray[np.int64] = np.where(current, told, names)[names.searchsorted(agents)]
        return renamed

    def forget_agents(self) -> None:
        """Forget the queues of asynchronous operations of the ended wave, whose clock columns `rename` has replaced."""
        self._of_agents.clear()
        self._forgotten.clear()

    def _columns(self, warps: Offsets) -> NDArray[np.int64]:
        """Return the clock columns of warps, given by their numbers through all waves, and add the missing columns."""
        if len(warps) and warps[-1] >= len(self._of_warps):
            more = int(warps[-1]) + 1 - len(self._of_warps)
            self._of_warps = np.concatenate([self._of_warps, np.zeros(more, np.int64)])
        fresh = warps[self._of_warps[warps] == 0]
        if len(fresh):
            start = self._clocks.columns(len(fresh))
            self._of_warps[fresh] = np.arange(start, start + len(fresh))
            self._all.extend(range(start, start + len(fresh)))
        return self._of_warps[warps]

    def _column(self, warp: int, lane: int) -> int:
        if (warp, lane) not in self._of_lanes:
            self._of_lanes[warp, lane] = self._clocks.columns(1)
            self._all.append(self._of_lanes[warp, lane])
        return self._of_lanes[warp, lane]

    def hold(self, rows: Offsets, warps: Offsets, masks: NDArray[Any], times: NDArray[Any]) -> NDArray[np.bool_]:
        """Return, per entry, whether clock `rows[i]` contains accesses of lanes `masks[i]` of an earlier wave's warp.

        `warps` are numbered through all waves of CTAs; `times[i]` is the time of the accesses.
        """
        known = self._clocks.known
        held: NDArray[np.bool_] = known[rows, self._below] > warps
        if len(self._of_warps):
            at = self._of_warps[np.minimum(warps, len(self._of_warps) - 1)]
            held |= (warps < len(self._of_warps)) & (at > 0) & (known[rows, at] >= times)
        for entry in np.flatnonzero(~held).tolist() if self._of_lanes else ():
            places = [self._of_lanes.get((int(warps[entry]), lane)) for lane in lanes_in(int(masks[entry]))]
            held[entry] = all(place is not None and known[rows[entry], place] >= times[entry] for place in places)
        return held
