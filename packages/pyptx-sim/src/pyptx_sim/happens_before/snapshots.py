"""Vector clocks and times of lanes at their last fence of one kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.happens_before.lane_masks import LANES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.happens_before.columns import Clock
    from pyptx_sim.observer import Masks, Offsets

__all__ = ["Snapshots", "known_alike"]


class Snapshots:
    """Per lane of a warp, at its last fence of one kind: its vector clock (`rows`) and the warp's time (`at`)."""

    __slots__ = ("at", "rows")

    def __init__(self) -> None:
        self.at: NDArray[np.int32] = np.zeros(LANES, np.int32)
        self.rows: list[Clock | None] = [None] * LANES

    def take(self, mask: NDArray[np.bool_], known: Clock, now: int) -> None:
        """Record a fence of lanes `mask`, which have the vector clock `known`, at the time `now` of their warp."""
        self.at[mask] = now
        for lane in np.flatnonzero(mask).tolist():
            self.rows[lane] = known

    def known(self, mask: NDArray[np.bool_], columns: int) -> Clock:
        """Return the elementwise maximum of the recorded vector clocks of lanes `mask`, with this number of columns."""
        known = np.zeros(columns, np.int32)
        rows = (self.rows[lane] for lane in np.flatnonzero(mask).tolist())
        for row in {id(row): row for row in rows if row is not None}.values():
            np.maximum(known[: len(row)], row, out=known[: len(row)])
        return known

    def told(self, clocks: WarpClocks, warp: int, mask: NDArray[np.bool_]) -> Clock:
        """Return the release clock of the last fences of lanes `mask`, whose warp is number `warp` of `clocks`."""
        at, lanes = self.at[mask], np.flatnonzero(mask)
        whole = bool(clocks.whole(np.array([warp]), mask[None])[0])
        columns = [] if whole and at.min() == at.max() else [clocks.own.of_lane(warp, lane) for lane in lanes.tolist()]
        told = self.known(mask, clocks.known.shape[1])
        if columns:
            told[columns] = np.maximum(told[columns], at)
        else:
            told[warp] = at[0]
        return told


def known_alike(clocks: WarpClocks, warps: Offsets, masks: Masks) -> Iterator[tuple[int, NDArray[np.bool_], Clock]]:
    """Yield a warp, a mask and a vector clock for each set of lanes of `masks` that have one vector clock."""
    positions, lanes = np.nonzero(masks)
    rows = clocks.rows(warps[positions], lanes)
    known = clocks.known[warps]
    for position, (warp, mask) in enumerate(zip(warps.tolist(), masks, strict=True)):
        mine = rows[positions == position] if len(warps) > 1 else rows
        if not len(mine):
            continue
        if (mine == warp).all():
            yield warp, mask, known[position]
            continue
        for row in np.unique(mine).tolist():
            here = np.zeros(LANES, np.bool_)
            here[np.flatnonzero(mask)[mine == row]] = True
            yield warp, here, clocks.known[row].copy()
