"""Who knows of whose work: vector clocks of warps, in which lanes have their own say where they part.

Warp `w` stands at time `now[w]`. A row of `known` says up to what time somebody knows of the work of each warp: row `w`
is that of warp `w`, as long as its lanes have learnt the same. Lanes that learn by themselves (one waits at an mbarrier
for all) get a row of their own, until the warp's lanes meet.

The column of a warp tells of all its lanes. What a lane releases without the others is told in a column of that lane,
made when it is needed first; of the others it tells what it knows itself, up to where they last met. Lanes meet by
`bar.warp.sync` and at barriers; by nothing else, however converged the warp is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_sim.checks.race.columns import Clock, Columns
from pyptx_sim.checks.race.lane_masks import LANES, of_all_warps
from pyptx_sim.checks.race.retired_clocks import Retired

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.checks.asynchrony.waits import Waits
    from pyptx_sim.observer import Masks, Offsets

_FEW: Final = 8  # rows of each of many groups that are put together one by one


class WarpClocks:
    """The clocks of the warps of a wave; `threads`, bool `[warps, 32]`, says which of their lanes there are.

    Groups of so many warps share memory that others do not reach. What all warps of its group did up to the time in
    `settled` a row knows: that settles most questions at once. It may know more.
    """

    def __init__(self, threads: Masks, group: int = 1) -> None:
        """Start with warps that know nothing of each other."""
        warps = len(threads)
        self.now: NDArray[np.int32] = np.ones(warps, np.int32)
        self.known: Clock = np.zeros((warps, warps), np.int32)
        self.settled: NDArray[np.int32] = np.zeros(warps, np.int32)  # by row
        self._group = group
        self._absent = ~threads
        self._columns = self._agents = 0
        self.of_agents: list[int] = []  # the columns of what runs beside the warps
        self.waits: list[Waits] = []
        """Waits of lanes for asynchronous operations of their own, by kind."""
        self.waited: NDArray[np.bool_] = np.zeros(warps, np.bool_)
        """Warps of which lanes have waited since all of them last synchronized."""
        self.own = Columns(self)
        self.retired = Retired(self)
        self.first_warp = 1 - warps
        """The number of this wave's first warp, in the numbering through all waves, from 1 on."""
        self._row: NDArray[np.int64] = np.repeat(np.arange(warps), LANES)  # of each lane
        self._parted: NDArray[np.bool_] = np.zeros(warps, np.bool_)
        self._apart = False  # whether a warp has parted since the start
        self._rows = warps
        self._free: list[int] = []

    def columns(self, count: int, *, agents: bool = False) -> int:
        """Return the first of `count` fresh columns of `known`: of what else one knows, and tells others of."""
        first, self._columns = self._columns, self._columns + count
        if agents:
            self.of_agents.extend(range(first, self._columns))
        if self._columns > self.known.shape[1]:
            self._make_room(len(self.known), max(self._columns, 2 * self.known.shape[1]))
        return first

    def _make_room(self, rows: int, columns: int) -> None:
        """Let `known` have so many rows and columns: the new ones cost no memory until they are written."""
        larger = np.zeros((rows, columns), np.int32)
        larger[: self.known.shape[0], : self.known.shape[1]] = self.known
        self.known = larger

    def next_wave(self) -> None:
        """Start over with new warps."""
        self.known[:] = self.settled[:] = 0
        self.now[:] = 1
        self.first_warp += len(self.now)
        self._row = np.repeat(np.arange(len(self.now)), LANES)
        self._parted[:] = self._apart = self.waited[:] = False
        self._rows = len(self.now)
        self._free.clear()

    def kept(self, known: Clock) -> Clock:
        """Return what was known in the wave that has ended as it is kept for later ones."""
        for waits in self.waits:
            known = waits.settled(known, self.own)
        return self.retired.kept(known, self.first_warp - len(self.now), self.own)

    # --- rows -----------------------------------------------------------------------------------

    def rows(self, warps: Offsets, lanes: Offsets) -> Offsets:
        """Return the row of `known` of each of some lanes."""
        return self._row[warps * LANES + lanes] if self._apart else warps

    def unsettled(self, times: NDArray[np.int32], rows: Offsets) -> NDArray[np.bool_]:
        """Tell which times are later than what a row knows that all warps of its group did."""
        if of_all_warps(rows):
            late: NDArray[np.bool_] = times.reshape(-1, LANES) > self.settled[: len(rows) // LANES, None]
            return late.reshape(-1)
        return times > self.settled.take(rows)

    def alike(self, warps: Offsets) -> bool:
        """Tell whether the lanes of each of some warps know the same."""
        return not (self._apart and self._parted[warps].any())

    def parted(self, warps: Offsets) -> NDArray[np.bool_]:
        """Return, per warp, whether its lanes may know different things."""
        return self._parted[warps]

    def rows_of_warps(self, first: int, count: int) -> Offsets:
        """Return the rows of all lanes of `count` warps."""
        return np.unique(self._row[first * LANES : (first + count) * LANES])

    def known_of(self, groups: Offsets, size: int) -> Clock:
        """Return what all lanes of each of some groups of `size` warps know, together."""
        if not self._apart:
            return np.asarray(self.known[groups[:, None] * size + np.arange(size)].max(axis=1))
        rows = [self.rows_of_warps(group * size, size) for group in groups.tolist()]
        return np.array([self.known[each].max(axis=0) for each in rows])

    def _rows_of(self, warps: Offsets) -> Offsets:
        """Return the rows of all lanes of some warps."""
        return np.unique(self._row.reshape(-1, LANES)[warps]) if self._parted[warps].any() else warps

    def whole(self, warps: Offsets, masks: Masks) -> NDArray[np.bool_]:
        """Tell for each warp whether a mask names all its lanes."""
        named: NDArray[np.bool_] = masks | self._absent[warps]
        return np.asarray(named.all(axis=1))

    def _alone(self, warp: int, mask: NDArray[np.bool_]) -> Iterator[int]:
        """Yield the rows of the lanes in `mask` for a change; one that others share is copied for them."""
        here = self._row[warp * LANES : (warp + 1) * LANES]  # a view
        others = ~mask & ~self._absent[warp]
        for row in sorted(set(here[mask].tolist())):
            if (here[others] == row).any():
                fresh = self._fresh(row)
                here[mask & (here == row)] = fresh
                self._parted[warp] = self._apart = True
                yield fresh
            else:
                yield row

    def _fresh(self, like: int) -> int:
        if not self._free:
            if self._rows == len(self.known):
                more = max(self._rows, 8)
                self._make_room(self._rows + more, self.known.shape[1])
                self.settled = np.concatenate([self.settled, np.zeros(more, np.int32)])
            self._free.append(self._rows)
            self._rows += 1
        row = self._free.pop()
        self.known[row] = self.known[like]
        return row

    def _unite(self, warps: Offsets) -> None:
        """Let the lanes of each warp know what each of them knows."""
        for warp in warps[self._parted[warps]].tolist():
            here = self._row[warp * LANES : (warp + 1) * LANES]
            rows = np.unique(here)
            np.maximum(self.known[warp], self.known[rows].max(axis=0), out=self.known[warp])
            self._free.extend(row for row in rows.tolist() if row != warp)
            here[:] = warp
            self._parted[warp] = False

    # --- telling and learning -------------------------------------------------------------------

    def told(self, warps: Offsets, masks: Masks) -> Clock:
        """Return what lanes of `warps` know and have done, all together; what they do from here on is later."""
        whole = self.whole(warps, masks)
        if whole.all() and not self._parted[warps].any():
            told: Clock = self.known[warps].max(axis=0)
        else:
            told = self._told_apart(warps, masks, whole)
        told[warps[whole]] = self.now[warps[whole]]
        if self.waited[warps].any():
            self._add_waits(warps, masks, told[None], np.zeros(len(warps), np.int64))
        self.now[warps] += 1
        return told

    def _add_waits(self, warps: Offsets, masks: Masks, told: Clock, rows: Offsets) -> None:
        """Add to rows of `told`, one for each warp, the operations that its lanes `masks` have waited for alone."""
        for waits in self.waits:
            covered = waits.covered(warps, masks)
            at = rows[covered], waits.agents.first + warps[covered]
            np.maximum.at(told, at, waits.complete[warps[covered]])

    def _take_waits(self, warps: Offsets) -> None:
        """Record that all lanes of `warps`, which synchronize, know the operations that each has waited for."""
        if self.waited[warps].any():
            for waits in self.waits:
                at = warps, waits.agents.first + warps
                self.known[at] = np.maximum(self.known[at], waits.complete[warps])
            self.waited[warps] = False

    def _told_apart(self, warps: Offsets, masks: Masks, whole: NDArray[np.bool_]) -> Clock:
        positions, lanes = np.nonzero(masks)
        if len(lanes) == 1 and not whole[positions[0]]:
            warp, lane = int(warps[positions[0]]), int(lanes[0])
            only = self.own.of_lane(warp, lane)  # may make a column
            known: Clock = self.known[self._row[warp * LANES + lane]].copy()
            known[only] = self.now[warp]
            return known
        alone = np.flatnonzero(~whole[positions])
        threads = warps[positions]
        own = self.own.of_threads(threads[alone], lanes[alone])
        told: Clock = self.known[np.unique(self._row[threads * LANES + lanes])].max(axis=0)
        told[own] = self.now[threads[alone]]
        return told

    def told_by_each(self, warps: Offsets, masks: Masks, groups: Offsets) -> tuple[Offsets, Clock]:
        """Return the different `groups`, which ascend, and for each what its lanes know and have done, all together.

        What they do from here on is later. A thread is of one group.
        """
        whole = self.whole(warps, masks)
        alike = np.flatnonzero(whole & ~self._parted[warps])
        asked = masks.copy()
        asked[alike] = False
        asked[alike, masks[alike].argmax(axis=1)] = True  # one lane knows what all of the warp do
        at, lanes = np.nonzero(asked)
        alone = ~whole[at]
        threads, of = warps[at], groups[at]
        own = self.own.of_threads(threads[alone], lanes[alone])  # may make columns
        starts = np.concatenate([[0], np.flatnonzero(of[1:] != of[:-1]) + 1])
        told, found = self._largest(self._row[threads * LANES + lanes], starts), of[starts]
        told[np.searchsorted(found, of[alone]), own] = self.now[threads[alone]]
        told[np.searchsorted(found, groups[whole]), warps[whole]] = self.now[warps[whole]]
        if self.waited[warps].any():
            self._add_waits(warps, masks, told, np.searchsorted(found, groups))
        self.now[warps] += 1
        return found, told

    def _largest(self, rows: Offsets, starts: Offsets) -> Clock:
        """Return what the rows from each start on know together; `maximum.reduceat` takes thirty times as long."""
        told: Clock = self.known[rows[starts]]
        sizes = np.diff(starts, append=len(rows))
        for further in range(1, min(int(sizes.max()), _FEW)):
            more = np.flatnonzero(sizes > further)
            told[more] = np.maximum(told[more], self.known[rows[starts[more] + further]])
        for group in np.flatnonzero(sizes > _FEW).tolist():
            rest = rows[starts[group] + _FEW : starts[group] + sizes[group]]
            np.maximum(told[group], self.known[rest].max(axis=0), out=told[group])
        return told

    def known_by(self, warps: Offsets, masks: Masks) -> Clock:
        """Return what lanes of each of `warps` know, taken together, `[n, columns]`."""
        known: Clock = self.known[warps]
        if self._parted[warps].any():
            for number in np.flatnonzero(self._parted[warps]).tolist():
                warp = int(warps[number])
                rows = self._row[warp * LANES : (warp + 1) * LANES][masks[number]]
                known[number] = self.known[rows].max(axis=0)
        return known

    def learn(self, warps: Offsets, masks: Masks, told: Clock) -> None:
        """Let lanes of `warps` know what has been told, perhaps before there were all columns."""
        whole, count = self.whole(warps, masks), len(told)
        if whole.any():
            rows = self._rows_of(warps[whole])
            self.known[rows, :count] = np.maximum(self.known[rows, :count], told)
        if whole.all():
            return
        for warp, mask in zip(warps[~whole].tolist(), masks[~whole], strict=True):
            if not (self.known[self._rows_among(warp, mask), :count] >= told).all():
                for row in self._alone(warp, mask):
                    np.maximum(self.known[row, :count], told, out=self.known[row, :count])

    def learn_of(self, warps: Offsets, masks: Masks, columns: Offsets, times: NDArray[np.int32]) -> None:
        """Let lanes of each of `warps` know the work of one column up to a time."""
        whole = self.whole(warps, masks)
        full = np.repeat(warps[whole], LANES)
        at = self.rows(full, np.arange(len(full)) % LANES), np.repeat(columns[whole], LANES)
        self.known[at] = np.maximum(self.known[at], np.repeat(times[whole], LANES))
        if whole.all():
            return
        apart = warps[~whole].tolist(), masks[~whole], columns[~whole].tolist(), times[~whole].tolist()
        for warp, mask, column, time in zip(*apart, strict=True):
            if not (self.known[self._rows_among(warp, mask), column] >= time).all():
                for row in self._alone(warp, mask):
                    self.known[row, column] = max(int(self.known[row, column]), time)

    def _rows_among(self, warp: int, mask: NDArray[np.bool_]) -> Offsets | int:
        """Return the rows of some lanes of a warp, perhaps one again and again."""
        return self._row[warp * LANES : (warp + 1) * LANES][mask] if self._parted[warp] else warp

    def meet(self, warps: Offsets, masks: Masks, generations: Offsets) -> None:
        """Let lanes of `warps` with the same number in `generations` know what each of them knows and has done."""
        order = np.argsort(generations, kind="stable")
        warps, masks, generations = warps[order], masks[order], generations[order]
        first = np.flatnonzero(np.diff(generations, prepend=generations[0] - 1))
        sizes = np.diff(first, append=len(warps))
        whole = self.whole(warps, masks)
        self._unite(warps[whole])
        if not whole.all():
            for start, size in zip(first.tolist(), sizes.tolist(), strict=True):
                here = slice(start, start + size)
                self.learn(warps[here], masks[here], self.told(warps[here], masks[here]))
            return
        self.known[warps, warps] = self.now[warps]
        self._take_waits(warps)
        low, size = int(warps[0]), int(sizes[0])
        if (sizes == size).all() and (warps == np.arange(low, low + len(warps))).all():
            groups = self.known[low : low + len(warps)].reshape(len(first), size, -1)  # a view
            groups[:] = groups.max(axis=1, keepdims=True)
        else:
            self.known[warps] = np.repeat(np.maximum.reduceat(self.known[warps], first, axis=0), sizes, axis=0)
        self.now[warps] += 1
        members = (warps // self._group * self._group)[:, None] + np.arange(self._group)
        self.settled[warps] = self.known[warps[:, None], members].min(axis=1)

    def meet_lanes(self, warps: Offsets, masks: Masks) -> None:
        """Let the lanes of a mask, in each of `warps` by itself, know what each of them knows and has done."""
        whole = self.whole(warps, masks)
        full = warps[whole]
        self._unite(full)
        self.known[full, full] = self.now[full]
        self._take_waits(full)
        self.now[full] += 1
        if whole.all():
            return
        for warp, mask in zip(warps[~whole], masks[~whole], strict=True):
            one = np.array([warp])
            self.learn(one, mask[None], self.told(one, mask[None]))

    def show(self, columns: Columns, warps: Offsets, masks: Masks) -> None:
        """Let what has these columns see what lanes of `warps` know and have done, as they know from here on."""
        plain = self.whole(warps, masks) & ~self._parted[warps]
        for warp, mask in zip(warps[~plain], masks[~plain], strict=True):
            one = np.array([warp])
            told = self.told(one, mask[None])
            seen = columns.all(self.own)  # may make columns
            shown = np.zeros(self.known.shape[1], np.int32)
            shown[seen] = told[self.own.all(self.own)]
            self.learn(one, mask[None], shown)
        full = warps[plain]
        seen = columns.all(self.own)  # may make columns
        known = self.known[full[:, None], self.own.all(self.own)]
        known[np.arange(len(full)), full] = self.now[full]
        self.known[full[:, None], seen] = known
        self.now[full] += 1

    # --- order ----------------------------------------------------------------------------------

    def orders(self, rows: Offsets, others: Offsets, masks: NDArray[Any], times: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell for each entry whether the work of lanes `masks` of `others` at `times` is known in `rows`."""
        return self.own.hold(self.known, rows, others, masks, times)

    def orders_within(
        self, rows: Offsets, warps: Offsets, masks: NDArray[Any], others: NDArray[Any], times: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Tell for each entry whether what lanes `others` of a warp did at `times` comes before what `masks` do now.

        `rows` say what these know.
        """
        further = others & ~masks
        ordered: NDArray[np.bool_] = self.own.hold(self.known, rows, warps, further, times)
        ordered |= further == 0
        return ordered
