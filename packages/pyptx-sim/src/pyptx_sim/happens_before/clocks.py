"""Vector clocks of warps, and of lanes that synchronize separately from their warp.

`now[w]` is the time of warp `w`, a counter that synchronization advances. Each row of `known` is a vector clock:
component `w` is the time up to which the accesses of warp `w` happen before the next access of the row's lanes. Row `w`
is the vector clock of all lanes of warp `w` while their clocks are equal. A lane that acquires without the others (only
it waits at an mbarrier) gets a row of its own, until all lanes of the warp synchronize.

Component `w` covers all lanes of warp `w`. A release by some lanes of the warp sets components of these lanes only, in
columns that are added at first use; accesses of the other lanes are released only if they happen before the release.
Lanes synchronize by `bar.warp.sync` and barriers only, not by reconvergence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_sim.happens_before.columns import Clock, Columns
from pyptx_sim.happens_before.lane_masks import LANES, of_all_warps
from pyptx_sim.happens_before.retired_clocks import Retired

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.happens_before.waits import Waits
    from pyptx_sim.observer import Masks, Offsets

# `_largest` joins this many vector clocks per group for all groups at once, and further ones group by group
_FEW: Final = 8


class WarpClocks:
    """Vector clocks of the warps of one wave of CTAs; `threads`, bool `[warps, 32]`, marks the lanes that exist.

    Each `group` consecutive warps share memory that other warps cannot access. All accesses by warps of the group up to
    time `settled[row]` happen before the next access of the row's lanes. `settled` is a lower bound that suffices for
    most comparisons.
    """

    def __init__(self, threads: Masks, group: int = 1) -> None:
        """Start with unordered warps, all at time 1."""
        warps = len(threads)
        self.now: NDArray[np.int32] = np.ones(warps, np.int32)
        self.known: Clock = np.zeros((warps, warps), np.int32)
        # per row of `known`: time up to which all accesses by the warps of the row's group happen before the next
        # access of the row's lanes
        self.settled: NDArray[np.int32] = np.zeros(warps, np.int32)
        self._group = group
        self._absent = ~threads
        self._columns = self._agents = 0
        self.of_agents: list[int] = []  # clock columns of the queues of asynchronous operations
        self.waits: list[Waits] = []
        """Waits of lanes for their own asynchronous operations, one `Waits` per kind of async-group."""
        self.waited: NDArray[np.bool_] = np.zeros(warps, np.bool_)
        """Warps with lanes that have waited for an async-group since all lanes of the warp last synchronized."""
        self.own = Columns(self)
        self.retired = Retired(self)
        self.first_warp = 1 - warps
        """Number of the first warp of this wave of CTAs; warps are numbered through all waves, from 1."""
        # index in `known` of each thread's vector clock
        self._row: NDArray[np.int64] = np.repeat(np.arange(warps), LANES)
        self._parted: NDArray[np.bool_] = np.zeros(warps, np.bool_)
        self._apart = False  # whether any lane has had a vector clock apart from its warp's in this wave of CTAs
        self._rows = warps
        self._free: list[int] = []

    def columns(self, count: int, *, agents: bool = False) -> int:
        """Add `count` columns to vector clocks; return the first. `agents`: for queues of asynchronous operations."""
        first, self._columns = self._columns, self._columns + count
        if agents:
            self.of_agents.extend(range(first, self._columns))
        if self._columns > self.known.shape[1]:
            self._make_room(len(self.known), max(self._columns, 2 * self.known.shape[1]))
        return first

    def _make_room(self, rows: int, columns: int) -> None:
        """Enlarge `known` to these numbers of rows and columns; the new zeros use no memory until they are written."""
        larger = np.zeros((rows, columns), np.int32)
        larger[: self.known.shape[0], : self.known.shape[1]] = self.known
        self.known = larger

    def next_wave(self) -> None:
        """Reset the clocks for the warps of the next wave of CTAs."""
        self.known[:] = self.settled[:] = 0
        self.now[:] = 1
        self.first_warp += len(self.now)
        self._row = np.repeat(np.arange(len(self.now)), LANES)
        self._parted[:] = self._apart = self.waited[:] = False
        self._rows = len(self.now)
        self._free.clear()

    def kept(self, known: Clock) -> Clock:
        """Return a vector clock of the wave of CTAs that has ended, converted to the columns that later waves use."""
        for waits in self.waits:
            known = waits.settled(known, self.own)
        return self.retired.kept(known, self.first_warp - len(self.now), self.own)

    # --- rows -----------------------------------------------------------------------------------

    def rows(self, warps: Offsets, lanes: Offsets) -> Offsets:
        """Return, per lane `lanes[i]` of `warps[i]`, the row of `known` that is its vector clock."""
        return self._row[warps * LANES + lanes] if self._apart else warps

    def unsettled(self, times: NDArray[np.int32], rows: Offsets) -> NDArray[np.bool_]:
        """Return, per access, whether `times[i]` is after `settled[rows[i]]`: then vector clocks must be compared."""
        if of_all_warps(rows):
            late: NDArray[np.bool_] = times.reshape(-1, LANES) > self.settled[: len(rows) // LANES, None]
            return late.reshape(-1)
        return times > self.settled.take(rows)

    def alike(self, warps: Offsets) -> bool:
        """Return whether in each of `warps` all lanes have the same vector clock."""
        return not (self._apart and self._parted[warps].any())

    def parted(self, warps: Offsets) -> NDArray[np.bool_]:
        """Return, per warp, whether its lanes may have different vector clocks."""
        return self._parted[warps]

    def rows_of_warps(self, first: int, count: int) -> Offsets:
        """Return the rows of `known` of all lanes of `count` warps from warp `first` on."""
        return np.unique(self._row[first * LANES : (first + count) * LANES])

    def known_of(self, groups: Offsets, size: int) -> Clock:
        """Return, per group of `size` warps, the elementwise maximum of the vector clocks of its lanes."""
        if not self._apart:
            return np.asarray(self.known[groups[:, None] * size + np.arange(size)].max(axis=1))
        rows = [self.rows_of_warps(group * size, size) for group in groups.tolist()]
        return np.array([self.known[each].max(axis=0) for each in rows])

    def _rows_of(self, warps: Offsets) -> Offsets:
        """Return the rows of `known` of all lanes of `warps`."""
        return np.unique(self._row.reshape(-1, LANES)[warps]) if self._parted[warps].any() else warps

    def whole(self, warps: Offsets, masks: Masks) -> NDArray[np.bool_]:
        """Return, per warp, whether its mask contains all lanes that exist."""
        named: NDArray[np.bool_] = masks | self._absent[warps]
        return np.asarray(named.all(axis=1))

    def _alone(self, warp: int, mask: NDArray[np.bool_]) -> Iterator[int]:
        """Yield the rows of lanes `mask` of a warp, to be changed; rows that other lanes use as well are copied."""
        here = self._row[warp * LANES : (warp + 1) * LANES]  # `here` is a NumPy view: changing it changes `_row`
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
        """Replace the vector clocks of the lanes of each warp by their elementwise maximum, in one row per warp."""
        for warp in warps[self._parted[warps]].tolist():
            here = self._row[warp * LANES : (warp + 1) * LANES]
            rows = np.unique(here)
            np.maximum(self.known[warp], self.known[rows].max(axis=0), out=self.known[warp])
            self._free.extend(row for row in rows.tolist() if row != warp)
            here[:] = warp
            self._parted[warp] = False

    # --- release and acquire --------------------------------------------------------------------

    def told(self, warps: Offsets, masks: Masks) -> Clock:
        """Return the release clock of lanes `masks` of `warps`, and advance the time of these warps.

        A release clock is the elementwise maximum of the lanes' vector clocks and own times. It excludes later
        accesses.
        """
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
        """Add to row `rows[i]` of `told` the asynchronous operations that lanes of `warps[i]` have waited for.

        Operations are added only if lanes `masks[i]` are all lanes of the warp that have issued operations.
        """
        for waits in self.waits:
            covered = waits.covered(warps, masks)
            at = rows[covered], waits.agents.first + warps[covered]
            np.maximum.at(told, at, waits.complete[warps[covered]])

    def _take_waits(self, warps: Offsets) -> None:
        """Add to the clocks of `warps`, whose lanes synchronize, asynchronous operations that all lanes waited for."""
        if self.waited[warps].any():
            for waits in self.waits:
                at = warps, waits.agents.first + warps
                self.known[at] = np.maximum(self.known[at], waits.complete[warps])
            self.waited[warps] = False

    def _told_apart(self, warps: Offsets, masks: Masks, whole: NDArray[np.bool_]) -> Clock:
        positions, lanes = np.nonzero(masks)
        if len(lanes) == 1 and not whole[positions[0]]:
            warp, lane = int(warps[positions[0]]), int(lanes[0])
            # `of_lane` may add a column to the vector clocks `known`, which are read next
            only = self.own.of_lane(warp, lane)
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
        """Return the distinct numbers in `groups`, which ascend, and the release clock of the lanes of each group.

        Advances the time of `warps`, so that later accesses are not in the release clocks. No thread is in two groups.
        """
        whole = self.whole(warps, masks)
        alike = np.flatnonzero(whole & ~self._parted[warps])
        asked = masks.copy()
        asked[alike] = False
        # the lanes of each warp in `alike` have equal clocks: one lane represents all
        asked[alike, masks[alike].argmax(axis=1)] = True
        at, lanes = np.nonzero(asked)
        alone = ~whole[at]
        threads, of = warps[at], groups[at]
        # `of_threads` may add columns to the vector clocks `known`
        own = self.own.of_threads(threads[alone], lanes[alone])
        starts = np.concatenate([[0], np.flatnonzero(of[1:] != of[:-1]) + 1])
        told, found = self._largest(self._row[threads * LANES + lanes], starts), of[starts]
        told[np.searchsorted(found, of[alone]), own] = self.now[threads[alone]]
        told[np.searchsorted(found, groups[whole]), warps[whole]] = self.now[warps[whole]]
        if self.waited[warps].any():
            self._add_waits(warps, masks, told, np.searchsorted(found, groups))
        self.now[warps] += 1
        return found, told

    def _largest(self, rows: Offsets, starts: Offsets) -> Clock:
        """Return, per group of `rows` that begins at `starts[i]`, the elementwise maximum of these rows of `known`.

        `maximum.reduceat` takes 30 times as long.
        """
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
        """Return, per warp, the elementwise maximum of the vector clocks of lanes `masks[i]`, `[n, columns]`."""
        known: Clock = self.known[warps]
        if self._parted[warps].any():
            for number in np.flatnonzero(self._parted[warps]).tolist():
                warp = int(warps[number])
                rows = self._row[warp * LANES : (warp + 1) * LANES][masks[number]]
                known[number] = self.known[rows].max(axis=0)
        return known

    def learn(self, warps: Offsets, masks: Masks, told: Clock) -> None:
        """Acquire: join the release clock `told` into the vector clocks of lanes of `warps`.

        `told` may have fewer columns than `known`, if columns were added after the release.
        """
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
        """Raise component `columns[i]` of the clocks of lanes `masks[i]` of `warps[i]` to at least `times[i]`."""
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
        """Return the rows of `known` of lanes `mask` of a warp, with repetitions."""
        return self._row[warp * LANES : (warp + 1) * LANES][mask] if self._parted[warp] else warp

    def meet(self, warps: Offsets, masks: Masks, generations: Offsets) -> None:
        """Synchronize lanes at barriers: lanes of `warps` with equal numbers in `generations` get one joint clock.

        The joint clock is the elementwise maximum of the lanes' vector clocks and own times.
        """
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
            # `groups` is a NumPy view: writing to it changes `known`
            groups = self.known[low : low + len(warps)].reshape(len(first), size, -1)
            groups[:] = groups.max(axis=1, keepdims=True)
        else:
            self.known[warps] = np.repeat(np.maximum.reduceat(self.known[warps], first, axis=0), sizes, axis=0)
        self.now[warps] += 1
        members = (warps // self._group * self._group)[:, None] + np.arange(self._group)
        self.settled[warps] = self.known[warps[:, None], members].min(axis=1)

    def meet_lanes(self, warps: Offsets, masks: Masks) -> None:
        """Synchronize lanes `masks[i]` of `warps[i]`, in each warp alone: join vector clocks, own times included."""
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
        """Copy the release clocks of lanes `masks` of `warps` into the components `columns` (of a proxy, for example).

        The new components are in the vector clocks of these lanes, so later releases of the lanes pass them on.
        """
        plain = self.whole(warps, masks) & ~self._parted[warps]
        for warp, mask in zip(warps[~plain], masks[~plain], strict=True):
            one = np.array([warp])
            told = self.told(one, mask[None])
            seen = columns.all(self.own)  # `columns.all` may add columns to the vector clocks `known`
            shown = np.zeros(self.known.shape[1], np.int32)
            shown[seen] = told[self.own.all(self.own)]
            self.learn(one, mask[None], shown)
        full = warps[plain]
        seen = columns.all(self.own)  # `columns.all` may add columns to the vector clocks `known`
        known = self.known[full[:, None], self.own.all(self.own)]
        known[np.arange(len(full)), full] = self.now[full]
        self.known[full[:, None], seen] = known
        self.now[full] += 1

    # --- order ----------------------------------------------------------------------------------

    def orders(self, rows: Offsets, others: Offsets, masks: NDArray[Any], times: NDArray[Any]) -> NDArray[np.bool_]:
        """Return, per entry, whether clock `rows[i]` contains accesses of lanes `masks[i]` of `others[i]`.

        `times[i]` is the time of the accesses.
        """
        return self.own.hold(self.known, rows, others, masks, times)

    def orders_within(
        self, rows: Offsets, warps: Offsets, masks: NDArray[Any], others: NDArray[Any], times: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Return, per entry, whether accesses of lanes `others` of a warp happen before the next access of `masks`.

        Entry i is about accesses at `times[i]`; vector clock `rows[i]` is that of lanes `masks[i]`. Program order
        orders the lanes in both masks.
        """
        further = others & ~masks
        ordered: NDArray[np.bool_] = self.own.hold(self.known, rows, warps, further, times)
        ordered |= further == 0
        return ordered
