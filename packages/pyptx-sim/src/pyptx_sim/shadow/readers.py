"""Last read of each shadow granule of shared memory by each warp: few warps can access the memory of a CTA."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.events import COLUMNS, MASK, TIME, WARP
from pyptx_sim.happens_before.lane_masks import own_lanes
from pyptx_sim.shadow.entries import lanes_differ, rises, united
from pyptx_sim.shadow.pages import Pages
from pyptx_sim.shadow.sparse import zeros
from pyptx_sim.shadow.tables import WIDEST_ACCESS, Table, parts_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.events import AccessEvent
    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.happens_before.phases import Phases
    from pyptx_sim.observer import Offsets
    from pyptx_sim.shadow.matrix_rows import MatrixRows
    from pyptx_sim.shadow.overflow import Overflow

# Number of pending reads above which reads ordered before all warps are dropped, to use few memory pages.
_WAITING: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class Late:
    """Reads that do not happen before entries of an `AccessEvent`.

    Entry `entries[i]` of the `AccessEvent` is unordered with a read by warp `readers[i]`, whose shadow entry is
    `last[i]`.
    """

    entries: NDArray[np.int64]
    readers: NDArray[np.int64]
    last: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class _PendingReads:
    """Reads that are not yet in the table of `Readers`: granules, shadow entries, and the time of the last read."""

    at: NDArray[np.int64]
    entries: NDArray[np.int32]
    last: int


class Readers:
    """Last read of each shadow granule by each of the `group` warps that can access the same shared memory.

    The table has the rows of one warp after those of another: few warps read a granule, and zeros use no memory. Reads
    are pending until a write, or another read of the granule, needs them in the table; most are ordered by a barrier
    before that, and dropped. `keeps`: ordered reads are needed as well (for proxy fences).
    """

    def __init__(
        self,
        clocks: WarpClocks,
        phases: Phases,
        matrix_rows: MatrixRows,
        size: int,
        group: int,
        *,
        keeps: bool,
        granule: int = WIDEST_ACCESS,
    ) -> None:
        """Start with `size` bytes without reads, in shadow granules of `granule` bytes."""
        granules = -(-size // granule)
        self._clocks = clocks
        self._phases = phases
        self._matrix_rows = matrix_rows
        self._group = group
        self._keeps = keeps
        self._reads = Table(group * granules)
        # per shadow granule: upper bound of the times of its reads
        self._latest: NDArray[np.int32] = zeros(granules, np.int32)
        self._granule = granule
        self._pages = Pages(granules * granule)  # 1 KiB pages of memory with reads in `_reads` or `_waiting`
        self._marked = 0  # number of elements of `_waiting` whose memory pages are marked in `_pages`
        self._waiting: list[_PendingReads] = []
        self._count = 0
        self._place()

    def clear(self) -> None:
        """Forget all reads; entries of an earlier wave's warps remain in the table and are ignored."""
        self._latest = zeros(len(self._latest), np.int32)
        self._pages.clear()
        self._wait([])

    def _place(self) -> None:
        """Set, per warp, the index of its first entry in the table `_reads`."""
        self._first = np.arange(len(self._clocks.now)) % self._group * len(self._latest)

    def split(self, factor: int) -> None:
        """Split each shadow granule into `factor` granules."""
        self._enter_waiting()
        self._granule //= factor
        read = np.flatnonzero(self._latest)  # only granules with reads: warps read few granules of a large memory
        at = (np.arange(self._group)[:, None] * len(self._latest) + read).reshape(-1)
        reads = self._reads
        self._reads = Table(self._group * len(self._latest) * factor)
        rows = reads.touched(at) if len(at) else None
        if rows is not None:
            kept = np.flatnonzero(self._counts(rows))
            parts = at[kept, None] * factor + np.arange(factor)
            self._reads.put(parts.reshape(-1), rows[kept].repeat(factor, axis=0))
        self._latest = self._latest.repeat(factor)
        self._place()

    def move(self, at: NDArray[np.int64], other: Readers, factor: int) -> None:
        """Move the reads of the shadow granules `at` to `other`, where each granule is `factor` granules."""
        self._enter_waiting()
        at = at[self._latest.take(at) > 0]
        parts = parts_at(at, factor)
        for own, its in zip(self._first[: self._group].tolist(), other._first[: self._group].tolist(), strict=True):
            rows = self._reads.touched(at + own) if len(at) else None
            if rows is not None:
                kept = np.flatnonzero(self._counts(rows))
                other._reads.put(parts_at(at[kept], factor) + its, rows[kept].repeat(factor, axis=0))
        other._latest[parts] = self._latest[at].repeat(factor)
        self._latest[at] = 0

    # --- recording ------------------------------------------------------------------------------

    def enter(self, step: AccessEvent, more: Overflow) -> None:
        """Record the reads of `step`; add a warp's previous reads that are unordered with its new ones to `more`."""
        latest = self._latest.take(step.at)
        again = np.flatnonzero(self._clocks.unsettled(latest, step.rows))
        now = step.entries[:, TIME].max()
        self._latest[step.at] = np.maximum(latest, now)
        if len(again):
            self._enter_waiting()
            self._enter_again(step, again, more)
        else:
            self._put_off(_PendingReads(step.at, step.entries, int(now)))

    def _enter_again(self, step: AccessEvent, again: NDArray[np.int64], more: Overflow) -> None:
        """Record reads of `step`; its entries `again` are of shadow granules that warps have read before."""
        last = self._reads.get(self._places(step.at[again], step.entries[again]))
        some, entries = self._put(step.at, step.entries)
        if some is not None:
            numbers = np.full(len(step.at), -1)
            numbers[again] = np.arange(len(again))
            again = np.flatnonzero(numbers[some] >= 0)
            last = last[numbers[some][again]]
            at, warps, lanes, rows = step.at[some], step.warps[some], step.lanes[some], step.rows[some]
            step = replace(step, at=at, warps=warps, lanes=lanes, rows=rows, entries=entries)
        late = self._clocks.unsettled(last[:, TIME], step.rows[again])
        read = np.flatnonzero(late & self._counts(last))
        if len(read) and self._read_again(step, again[read], last[read], more):
            self._reads.put(self._places(step.at, step.entries), step.entries)

    def _counts(self, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return, per shadow entry in `rows`, whether it is a read by a warp of this wave of CTAs."""
        counts: NDArray[np.bool_] = rows[..., WARP] >= self._clocks.first_warp
        return counts

    def _places(self, at: NDArray[np.int64], entries: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the index in the table `_reads` for each shadow granule `at[i]` and the warp of entry `entries[i]`."""
        return self._first.take(self._warps(entries)) + at

    def _warps(self, entries: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the warp numbers, in this wave of CTAs, of shadow entries."""
        warps: NDArray[np.int32] = entries[:, WARP] - self._clocks.first_warp
        return warps

    def _put(
        self, at: NDArray[np.int64], entries: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64] | None, NDArray[np.int32]]:
        """Write reads to the table `_reads`, merging the lanes of a warp that read one shadow granule.

        Returns the indices of the reads that remain after merging (None: all), and their shadow entries.
        """
        places = self._places(at, entries)
        self._reads.put(places, entries)
        self._pages.mark(at, self._granule)
        if rises(places) or not lanes_differ(self._reads.get(places), entries).any():
            return None, entries
        some, entries = united(at, self._warps(entries), entries)
        self._reads.put(places[some], entries)
        return some, entries

    def _put_off(self, reads: _PendingReads) -> None:
        """Append `reads` to `_waiting`, the reads that are not yet in the table `_reads`."""
        self._waiting.append(reads)
        self._count += len(reads.at)
        if self._count > _WAITING:
            self._forget_settled()
            if self._count > _WAITING:
                self._enter_waiting()

    def _forget_settled(self) -> None:
        """Drop pending reads that are ordered before all warps that can access the memory."""
        if not self._keeps:
            groups = self._clocks.settled[: len(self._clocks.now)].reshape(-1, self._group).min(axis=1)
            everybody = int(groups.min())
            self._wait([each for each in self._waiting if each.last > everybody and self._late(each.entries, groups)])

    def _late(self, entries: NDArray[np.int32], groups: NDArray[np.int32]) -> bool:
        """Return whether a read is later than the time in `groups` up to which its group of warps is ordered."""
        return bool((entries[:, TIME] > groups.take(self._warps(entries) // self._group)).any())

    def _wait(self, reads: list[_PendingReads]) -> None:
        """Replace `_waiting`, the reads that are not yet in the table `_reads`, by `reads`."""
        self._waiting, self._count, self._marked = reads, sum(len(each.at) for each in reads), 0

    def _enter_waiting(self) -> None:
        """Move the reads in `_waiting` to the table `_reads`, except reads that are ordered before all warps."""
        if self._waiting:
            self._forget_settled()
            for each in self._waiting:
                self._put(each.at, each.entries)
            self._wait([])

    def _read_again(self, step: AccessEvent, again: NDArray[np.int64], last: NDArray[np.int32], more: Overflow) -> bool:
        """Merge lanes of `last` reads into entries `again` of `step`, if both reads are at the same time of the warp.

        Other `last` reads that are unordered with the entries are added to `more`. Returns whether entries have
        changed.
        """
        new = step.entries[again]
        gone = last[:, MASK] & ~new[:, MASK] != 0
        now = gone & (last[:, TIME] == new[:, TIME])
        step.entries[again[now], MASK] |= last[now, MASK]
        before = np.flatnonzero(gone & ~now)
        if len(before):
            at, last = again[before], last[before]
            there = step.rows[at], step.warps[at], step.entries[at, MASK], last[:, MASK], last[:, TIME]
            unordered = ~self._clocks.orders_within(*there)
            more.add(step.at[at[unordered]], last[unordered])
        return bool(now.any())

    # --- queries --------------------------------------------------------------------------------

    def misses(self, offsets: Offsets, size: int) -> bool:
        """Return True if the 1 KiB pages of `size` bytes at each of `offsets` have no recorded read; False: unknown."""
        for each in self._waiting[self._marked :]:
            self._pages.mark(each.at, self._granule)
        self._marked = len(self._waiting)
        return self._pages.misses(offsets, size)

    def of(self, at: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """Yield, per reading warp, indices into the shadow granules `at`, and the shadow entries of its last reads."""
        self._enter_waiting()
        for first in range(0, self._group * len(self._latest), len(self._latest)):
            last = self._reads.touched(at + first)
            if last is not None:
                read = np.flatnonzero(self._counts(last))
                yield read, last[read]

    def unordered(self, at: NDArray[np.int64], warps: Offsets, rows: Offsets, masks: NDArray[np.int32]) -> Late | None:
        """Return the reads of shadow granules `at` that are not ordered before lanes `masks` of `warps`, or None.

        `rows` are the vector clocks of these lanes.
        """
        unsettled = np.flatnonzero(self._clocks.unsettled(self._latest.take(at), rows))
        if not len(unsettled):
            return None
        self._enter_waiting()
        warps, rows = warps[unsettled], rows[unsettled]
        first = warps // self._group * self._group
        places = at[unsettled] + (np.arange(self._group) * len(self._latest))[:, None]
        reads = self._reads.get(places.reshape(-1)).reshape(self._group, -1, COLUMNS)
        readers, entries = np.nonzero((reads[:, :, TIME] > self._known(rows, first).T) & self._counts(reads))
        if not len(entries):
            return None
        found = Late(entries, first[entries] + readers, reads[readers, entries])
        last = self._matrix_rows.narrowed(found.last, at[unsettled][entries], self._granule)
        bad = self._confirmed(replace(found, last=last), warps, rows, masks[unsettled])
        return None if bad is None else replace(bad, entries=unsettled[bad.entries])

    def _known(self, rows: Offsets, first: Offsets) -> NDArray[np.int32]:
        """Return the clock components of the `group` warps from warp `first[i]` on, of each row, `[n, group]`."""
        # start of each run of equal `rows`: accesses are sorted by warp
        head = np.flatnonzero(np.diff(rows, prepend=-1))
        known = self._clocks.known[rows[head, None], first[head, None] + np.arange(self._group)]
        repeated: NDArray[np.int32] = known.repeat(np.diff(head, append=len(rows)), axis=0)
        return repeated

    def _confirmed(self, late: Late, warps: Offsets, rows: Offsets, masks: NDArray[np.int32]) -> Late | None:
        """Return the reads of `late` that no component of a single lane and no wait for completion (`over`) orders."""
        clocks, over, rows = self._clocks, self._phases.over, rows[late.entries]
        readers, times = late.last[:, MASK], late.last[:, TIME]
        own = np.where(late.readers == warps[late.entries], own_lanes(masks[late.entries], readers), 0)
        held = clocks.orders_within(rows, late.readers, own, readers, times)
        if over is not None:
            held |= over.hold(clocks.known, rows, late.readers, readers & ~own, times)
        if held.all():
            return None
        bad = ~held
        return Late(late.entries[bad], late.readers[bad], late.last[bad])
