"""Asynchronous copies that write as threads do, through the generic proxy: other proxies see that behind a fence only.

Manual: "cp.async", which is performed in the generic proxy; "Async proxy".
"""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.checks.race.entries import entries_of
from pyptx_sim.checks.race.lane_masks import bits_of, named
from pyptx_sim.checks.race.shadow import Shadow
from pyptx_sim.checks.race.tables import MASK, NOBODY, PC, TIME, WARP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.checks.asynchrony.async_races import AsyncRaces, Report
    from pyptx_sim.checks.race.clocks import WarpClocks
    from pyptx_sim.extension import GroupKind, Proxy
    from pyptx_sim.observer import Masks, Offsets, RunView, Space, Touch, Work


class GenericCopies:
    """Remembers what such copies wrote last, and who issued them."""

    def __init__(self, view: RunView, clocks: WarpClocks, work: AsyncRaces, report: Report) -> None:
        """Watch the run behind `view`."""
        self._view = view
        self._clocks = clocks
        self._work = work
        self._report = report
        self._written: dict[Space, Shadow] = {}
        self._kinds: set[GroupKind] = set()
        # By warp and lane: times of waits with the first group not waited for; times of arrivals that follow copies.
        self._waits: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._follows: dict[tuple[int, int], list[int]] = {}
        self._latest = np.zeros(len(clocks.now), np.int32)  # time of the last wait of each warp
        self._fresh: list[tuple[Offsets, Masks, NDArray[np.int32], NDArray[np.int64]]] = []  # not yet in `_waits`

    def next_wave(self) -> None:
        """Forget the copies of the warps before."""
        self._written.clear()
        self._waits.clear()
        self._follows.clear()
        self._fresh.clear()
        self._latest[:] = 0

    def waited(self, kind: GroupKind, warps: Offsets, masks: Masks, done: Offsets) -> None:
        """Record that lanes wait for the groups below `done`; fences before the wait do not cover the copies."""
        if kind in self._kinds:
            times = self._clocks.now[warps]
            self._fresh.append((warps.copy(), masks.copy(), times, done))
            self._latest[warps] = times

    def follows(self, warps: Offsets, lanes: Offsets) -> None:
        """Record that an mbarrier's phase completes after the copies of these threads, which need no other wait."""
        threads = zip(warps.tolist(), bits_of(lanes).tolist(), strict=True)
        for thread, time in zip(threads, self._clocks.now[warps].tolist(), strict=True):
            self._follows.setdefault(thread, []).append(time)

    def _note(self) -> None:
        """Note fresh waits by thread: nobody asks for most of them."""
        for warps, masks, times, done in self._fresh:
            positions, lanes = np.nonzero(masks)
            threads = zip(warps[positions].tolist(), bits_of(lanes).tolist(), strict=True)
            waits = zip(times[positions].tolist(), done[positions, lanes].tolist(), strict=True)
            for thread, wait in zip(threads, waits, strict=True):
                self._waits.setdefault(thread, []).append(wait)
        self._fresh.clear()

    def issued(self, work: Work, touch: Touch) -> None:
        """Remember what work writes."""
        if work.kind is not None:
            self._kinds.add(work.kind)
        shadow = self._written.get(touch.space)
        if shadow is None:
            shadow = self._written[touch.space] = Shadow(self._view.arena_size(touch.space))
        at = shadow.granules(touch.offsets, touch.size)
        entries = entries_of(work.warps, work.lanes, 1, self._clocks.now, work.pc, 1)
        owners = np.repeat(touch.owners, at.shape[1])
        shadow.write.fill(at.reshape(-1), entries, owners)
        groups = entries.copy()
        groups[:, TIME] = work.groups
        shadow.covered.fill(at.reshape(-1), groups, owners)

    def judge(self, work: Work, touch: Touch, proxy: Proxy) -> None:
        """Report what another proxy reads or writes where a copy has written that no fence has shown it."""
        shadow = self._written.get(touch.space)
        if shadow is None:
            return
        granules = shadow.granules(touch.offsets, touch.size)
        owners = np.repeat(touch.owners, granules.shape[1])
        at = granules.reshape(-1)
        last = shadow.write.touched(at)
        if last is None:
            return
        here = np.flatnonzero(last[:, WARP] != NOBODY)
        rows = self._clocks.rows(work.warps, work.lanes)[owners[here]]
        writers = last[here, WARP].astype(np.int64) - 1
        masks, issued, groups = last[here, MASK], last[here, TIME], shadow.covered.get(at[here])[:, TIME]
        done = self._done(writers, masks, issued, groups)
        times = np.where(done > 0, done, issued)
        bad = here[self._work.unfenced(proxy, touch.space, rows, writers, masks, times)]
        if len(bad):
            first = int(bad[0])
            where = self._view.describe(touch.space, int(at[first]) * shadow.granule)
            who, does = self._view.warp_name(int(work.warps[owners[first]])), "writes" if touch.writes else "reads"
            message = f"{who} issues work that {does} {where}, which a copy of a thread wrote, and no fence lets the "
            self._report(proxy.unfenced, f"{message}{proxy.name} proxy see it", work.pc, int(last[first, PC]))

    def awaited(self, space: Space, warps: Offsets) -> bool:
        """Tell whether lanes of some warps may have waited for copies by themselves since those of a warp have met."""
        return space in self._written and bool((self._latest[warps] > self._clocks.settled[warps]).any())

    def accessed(
        self, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int, *, writes: bool
    ) -> None:
        """Report accesses to the destination of another thread's copy that are not ordered after that thread's wait.

        `AsyncRaces` reports accesses to copies without a wait. Manual: "cp.async.wait_group": the executing thread
        waits for its own copies.
        """
        shadow = self._written.get(space)
        if shadow is None or self._latest.max() <= int(self._clocks.settled[self._clocks.rows(warps, lanes)].min()):
            return
        granules = shadow.granules(offsets, size)
        at = granules.reshape(-1)
        last = shadow.write.touched(at)
        if last is None:
            return
        owners = np.repeat(np.arange(len(offsets)), granules.shape[1])
        there = np.flatnonzero(last[:, WARP] != NOBODY)
        own = owners[there]
        times, ordered = self._ordered(shadow, at[there], last[there], warps[own], lanes[own])
        bad = there[~ordered & (times > 0) & ~self._followed(last[there])]
        if len(bad):
            first = int(bad[0])
            self._tell(
                space, int(at[first]) * shadow.granule, int(warps[owners[first]]), last[first], pc, writes=writes
            )

    def over(
        self, space: Space, offsets: Offsets, pcs: NDArray[np.int32], warps: Offsets, lanes: Offsets
    ) -> NDArray[np.bool_]:
        """Return, per byte, whether a copy by the instruction `pcs[i]` wrote it last and is complete for a thread.

        The copy is complete if the issuing thread has waited for its group, and the wait happens before the current
        access of lane `lanes[i]` of warp `warps[i]`.
        """
        return self._last_copies(space, offsets, pcs, warps, lanes)[1]

    def decides(
        self, space: Space, offsets: Offsets, pcs: NDArray[np.int32], warps: Offsets, lanes: Offsets
    ) -> NDArray[np.bool_]:
        """Return, per byte, whether `accessed` checks it: such a copy wrote it, and its thread has waited."""
        return self._last_copies(space, offsets, pcs, warps, lanes)[0]

    def _last_copies(
        self, space: Space, offsets: Offsets, pcs: NDArray[np.int32], warps: Offsets, lanes: Offsets
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        shadow = self._written.get(space)
        if shadow is None:
            nowhere = np.zeros(len(offsets), np.bool_)
            return nowhere, nowhere
        at = offsets // shadow.granule
        last = shadow.write.get(at)
        copied = (last[:, WARP] != NOBODY) & (last[:, PC] == pcs)
        times, ordered = self._ordered(shadow, at, last, warps, lanes)
        return copied & (ordered | ((times > 0) & ~self._followed(last))), copied & ordered

    def _ordered(
        self, shadow: Shadow, at: NDArray[np.int64], last: NDArray[np.int32], warps: Offsets, lanes: Offsets
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return, per copy, the time of its thread's wait (0: none), and whether the wait happens before the access."""
        others, masks = last[:, WARP].astype(np.int64) - 1, last[:, MASK]
        times = self._done(others, masks, last[:, TIME], shadow.covered.get(at)[:, TIME])
        rows, mine, there = self._clocks.rows(warps, lanes), bits_of(lanes), np.maximum(others, 0)
        ordered = self._clocks.orders(rows, there, masks, times)
        same = np.flatnonzero(others == warps)
        ordered[same] = self._clocks.orders_within(rows[same], others[same], mine[same], masks[same], times[same])
        return times, ordered & (times > 0)

    def _followed(self, last: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return, per copy, whether an arrival at an mbarrier follows it, so that its thread need not wait."""
        if not self._follows:
            return np.zeros(len(last), np.bool_)
        copies = zip((last[:, WARP] - 1).tolist(), last[:, MASK].tolist(), last[:, TIME].tolist(), strict=True)
        known = ((self._follows.get((warp, mask), ()), time) for warp, mask, time in copies)
        return np.fromiter((any(time <= each for each in follows) for follows, time in known), np.bool_, len(last))

    def _tell(self, space: Space, offset: int, warp: int, last: NDArray[np.int32], pc: int, *, writes: bool) -> None:
        does, where = "writes" if writes else "reads", self._view.describe(space, offset)
        copier = f"{named(int(last[MASK]))} of {self._view.warp_name(int(last[WARP]) - 1)}"
        message = f"{self._view.warp_name(warp)} {does} {where}, which a copy of {copier} wrote"
        self._report(
            "read-before-wait",
            f"{message}; this access is not ordered after that thread's wait",
            pc,
            int(last[PC]),
            hint="put bar.warp.sync or bar.sync after cp.async.wait_group: a thread waits only for its own copies",
        )

    def _done(
        self, warps: Offsets, masks: NDArray[np.int32], times: NDArray[np.int32], groups: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Return the time at which the issuing thread of each copy has waited for its group, 0 if it has not."""
        if not len(times):
            return times
        copies, which = np.unique(np.stack([warps, masks, times, groups], axis=1), axis=0, return_inverse=True)
        self._note()
        done: list[int] = []
        for warp, mask, time, group in copies.tolist():
            waits = self._waits.get((warp, mask), [])
            covering = waits[bisect.bisect_left(waits, (time, 0)) :]
            done.append(next((at for at, below in covering if below > group), 0))
        return np.array(done, np.int32)[which.reshape(-1)]
