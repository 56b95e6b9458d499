"""Asynchronous copies that write as threads do, through the generic proxy: other proxies see that behind a fence only.

Manual: "cp.async", which is performed in the generic proxy; "Async proxy".
"""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.checks.asynchrony.async_races import name_of
from pyptx_sim.checks.race.entries import entries_of
from pyptx_sim.checks.race.lane_masks import bits_of
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
        self._waits: dict[tuple[int, int], list[int]] = {}  # by warp and lane, when it has waited for copies
        self._fresh: list[tuple[Offsets, Masks, NDArray[np.int32]]] = []  # such waits, not yet there

    def next_wave(self) -> None:
        """Forget the copies of the warps before."""
        self._written.clear()
        self._waits.clear()
        self._fresh.clear()

    def waited(self, kind: GroupKind, warps: Offsets, masks: Masks) -> None:
        """Note when lanes wait for groups of a kind: a fence in front of that shows nobody what the copies write."""
        if kind in self._kinds:
            self._fresh.append((warps.copy(), masks.copy(), self._clocks.now[warps]))

    def _note(self) -> None:
        """Note fresh waits by thread: nobody asks for most of them."""
        for warps, masks, times in self._fresh:
            positions, lanes = np.nonzero(masks)
            threads = zip(warps[positions].tolist(), bits_of(lanes).tolist(), strict=True)
            for thread, time in zip(threads, times[positions].tolist(), strict=True):
                self._waits.setdefault(thread, []).append(time)
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
        shadow.write.fill(at.reshape(-1), entries, np.repeat(touch.owners, at.shape[1]))

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
        masks, times = last[here, MASK], self._done(writers, last[here, MASK], last[here, TIME])
        bad = here[self._work.unfenced(proxy, touch.space, rows, writers, masks, times)]
        if len(bad):
            first = int(bad[0])
            where = self._view.describe(touch.space, int(at[first]) * shadow.granule)
            who, does = name_of(self._view, int(work.warps[owners[first]])), "writes" if touch.writes else "reads"
            message = f"{who} issues work that {does} {where}, which a copy of a thread wrote, and no fence lets the "
            self._report(proxy.unfenced, f"{message}{proxy.name} proxy see it", work.pc, int(last[first, PC]))

    def _done(self, warps: Offsets, masks: NDArray[np.int32], times: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return when threads that have issued copies at some times have waited for them, or these times."""
        threads, which = np.unique(np.stack([warps, masks, times], axis=1), axis=0, return_inverse=True)
        self._note()
        done: list[int] = []
        for warp, mask, time in threads.tolist():
            waits = self._waits.get((warp, mask), [])
            at = bisect.bisect_left(waits, time)
            done.append(waits[at] if at < len(waits) else time)
        return np.array(done, np.int32)[which.reshape(-1)]
