"""Proxies that are fenced one way: what they have been shown of what warps wrote through the generic one.

A write reaches what is read through such a proxy by a release behind the write, an order between the two threads, and
an acquire of the bytes by the thread that issues the reading. Manual: "membar, fence", uni-directional proxy fences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.checks.asynchrony.async_races import name_of
from pyptx_sim.checks.race.clocks import Columns
from pyptx_sim.checks.race.shadow import LANE, NOBODY, PC, TIME, WARP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.checks.asynchrony.async_races import Report
    from pyptx_sim.checks.race.clocks import Known, WarpClocks
    from pyptx_sim.checks.race.shadow import Shadow
    from pyptx_sim.extension import Proxy
    from pyptx_sim.observer import Masks, Offsets, RunView, Space, Touch, Work


class OneWayProxies:
    """Releases to proxies that are fenced one way, and acquisitions for them, by the warps of a wave."""

    def __init__(self, view: RunView, clocks: WarpClocks, report: Report) -> None:
        """Watch the run behind `view`."""
        self._view = view
        self._clocks = clocks
        self._report = report
        self._released: dict[Proxy, Columns] = {}
        # By warp: the first byte and the size of what it acquired, and what it knew of releases then.
        self._acquired: dict[tuple[Proxy, Space, int], dict[tuple[int, int], Known]] = {}

    def next_wave(self) -> None:
        """Forget the warps before."""
        self._acquired.clear()

    def released(self, proxy: Proxy, warps: Offsets, masks: Masks) -> None:
        """Let a proxy see what lanes of `warps` know of the generic one."""
        self._clocks.show(self._columns(proxy), warps, masks)

    def acquired(self, proxy: Proxy, space: Space, place: int, size: int, warps: Offsets, masks: Masks) -> None:
        """Note what releases lanes of `warps` know of where they acquire `size` bytes for a proxy."""
        for warp, known in zip(warps.tolist(), self._clocks.known_by(warps, masks), strict=True):
            self._acquired.setdefault((proxy, space, warp), {})[place, size] = known

    def judge(self, work: Work, touch: Touch, proxy: Proxy, shadow: Shadow, first_warp: int) -> None:
        """Judge what work reads through a proxy against writes of it."""
        granules = shadow.granules(touch.offsets, touch.size)
        at = granules.reshape(-1)
        last = shadow.write.touched(at)
        if last is None:
            return
        written = np.flatnonzero(last[:, WARP] != NOBODY)
        at, last = at[written], last[written]
        issuers = work.warps[np.repeat(touch.owners, granules.shape[1])[written]]
        for further in range(work.together):
            warps = issuers + further
            for warp in np.unique(warps).tolist():
                own = np.flatnonzero(warps == warp)
                places = at[own] * shadow.granule
                seen = self._seen(proxy, touch.space, warp, places, shadow.granule, last[own], first_warp)
                if not seen.all():
                    bad = int(own[int(seen.argmin())])
                    self._tell(work, touch, proxy, warp, int(at[bad]) * shadow.granule, int(last[bad, PC]))

    def _seen(
        self,
        proxy: Proxy,
        space: Space,
        warp: int,
        places: NDArray[np.int64],
        granule: int,
        last: NDArray[np.int32],
        first_warp: int,
    ) -> NDArray[np.bool_]:
        """Tell which of the `last` writes, of a granule at each of `places`, a warp has acquired for a proxy."""
        seen = np.zeros(len(last), np.bool_)
        for (place, size), known in self._acquired.get((proxy, space, warp), {}).items():
            here = np.flatnonzero((places >= place) & (places + granule <= place + size))
            if not len(here):
                continue
            writers = last[here, WARP].astype(np.int64) - first_warp
            columns = self._columns(proxy)
            wide = np.zeros((1, self._clocks.known.shape[1]), np.int32)
            wide[0, : len(known)] = known
            row, others = np.zeros(len(here), np.int64), np.maximum(writers, 0)
            # What an earlier wave wrote is released, or nobody can know.
            seen[here] |= (writers < 0) | columns.hold(wide, row, others, last[here, LANE], last[here, TIME])
        return seen

    def _tell(self, work: Work, touch: Touch, proxy: Proxy, warp: int, offset: int, other_pc: int) -> None:
        where = self._view.describe(touch.space, offset)
        told = f"uses {proxy.reads} {where}, which a warp wrote, and its proxy may not see that"
        self._report(proxy.unfenced, f"{name_of(self._view, warp)} {told}", work.pc, other_pc)

    def _columns(self, proxy: Proxy) -> Columns:
        if proxy not in self._released:
            self._released[proxy] = Columns(self._clocks)
        return self._released[proxy]
