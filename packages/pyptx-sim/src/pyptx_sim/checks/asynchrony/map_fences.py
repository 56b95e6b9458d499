"""Tensor maps that kernels write: what the proxy that reads them has been shown of the generic one's writes.

A write of a map reaches copies that use it by a release behind the write, an order between the two threads, and an
acquire of these 128 bytes in front of the copy. Manual: "membar, fence", uni-directional proxy fences; "Tensor-map".
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
    from pyptx_sim.checks.race.clocks import WarpClocks
    from pyptx_sim.checks.race.shadow import Shadow
    from pyptx_sim.observer import Masks, Offsets, RunView, Touch, Work


class MapFences:
    """Releases to the proxy of tensor maps, and acquisitions, of the warps of a wave."""

    def __init__(self, view: RunView, clocks: WarpClocks, report: Report) -> None:
        """Watch the run behind `view`."""
        self._view = view
        self._clocks = clocks
        self._report = report
        self._released: Columns | None = None
        self._acquired: dict[tuple[int, int], NDArray[np.int32]] = {}  # by warp and place: what it knew of releases

    def next_wave(self) -> None:
        """Forget the warps before."""
        self._acquired.clear()

    def released(self, warps: Offsets, masks: Masks) -> None:
        """Let the proxy see what lanes of `warps` know of the generic one."""
        self._clocks.show(self._columns(), warps, masks)

    def acquired(self, place: int, warps: Offsets, masks: Masks) -> None:
        """Note what releases lanes of `warps` know of where they acquire the map at `place`."""
        for warp, known in zip(warps.tolist(), self._clocks.known_by(warps, masks), strict=True):
            self._acquired[warp, place] = known

    def judge(self, work: Work, touch: Touch, shadow: Shadow | None, first_warp: int) -> None:
        """Judge the use of a map against writes of it."""
        at = np.zeros(0, np.int64) if shadow is None else shadow.granules(touch.offsets, touch.size).reshape(-1)
        last = None if shadow is None else shadow.write.touched(at)
        if shadow is None or last is None:
            return
        warp = int(work.warps[0])
        known = self._acquired.get((warp, int(touch.offsets[0])))
        writers = last[:, WARP].astype(np.int64) - first_warp
        seen = last[:, WARP] == NOBODY
        if known is not None:  # what an earlier wave wrote is released, or nobody can know
            columns, first = self._columns(), np.zeros(len(last), np.int64)
            wide = np.zeros((1, self._clocks.known.shape[1]), np.int32)
            wide[0, : len(known)] = known
            seen |= (writers < 0) | columns.hold(wide, first, np.maximum(writers, 0), last[:, LANE], last[:, TIME])
        bad = np.flatnonzero(~seen)
        if len(bad):
            where = self._view.describe("global", int(at[bad[0]]) * shadow.granule)
            told = f"{name_of(self._view, warp)} uses the tensor map {where}, which a warp wrote, and its proxy may not"
            self._report("missing-tensormap-fence", f"{told} see that", work.pc, int(last[bad[0], PC]))

    def _columns(self) -> Columns:
        if self._released is None:
            self._released = Columns(self._clocks)
        return self._released
