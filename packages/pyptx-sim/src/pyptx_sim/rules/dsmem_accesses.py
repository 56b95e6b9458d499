"""Last access of each lane to the shared memory of each other CTA of its cluster, checked when that CTA exits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx_sim.happens_before.lane_masks import LANES, bits_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.observer import Offsets, RunView


@dataclass(frozen=True, slots=True)
class Foreign:
    """Last accesses of lanes to the shared memory of one other CTA.

    Access i is by lane `masks[i]` (a bit) of `warps[i]`; `writes[i]` is 1 for a write.
    """

    warps: NDArray[np.int64]
    masks: NDArray[np.int32]
    times: NDArray[Any]
    offsets: NDArray[Any]
    pcs: NDArray[Any]
    writes: NDArray[Any]


class ForeignAccesses:
    """Records the last access of each lane of a wave to the shared memory of each other CTA of its cluster."""

    def __init__(self, view: RunView, clocks: WarpClocks) -> None:
        """Start without accesses."""
        self._view, self._clocks = view, clocks
        # Last access by each thread to the shared memory of each CTA (rank) of its cluster: time, offset, pc, and 1 for
        # a write.
        self._last: NDArray[np.int64] = np.zeros((0, 4), np.int64)

    def next_wave(self) -> None:
        """Forget the warps of the last wave of CTAs."""
        self._last = self._last[:0]

    def enter(self, offsets: Offsets, warps: Offsets, lanes: Offsets, pc: int, *, writes: bool) -> None:
        """Record those of the accesses that are to shared memory of other CTAs."""
        size = self._view.cluster_size
        if size == 1:
            return
        blocks = offsets // self._view.shared_stride()
        foreign = np.flatnonzero(blocks != warps // self._view.warps_per_cta)
        if not len(foreign):
            return
        if not len(self._last):
            self._last = np.zeros((len(self._clocks.now) * size * LANES, 4), np.int64)
        warps = warps[foreign]
        entries = np.empty((len(foreign), 4), np.int64)
        entries[:, 0], entries[:, 1] = self._clocks.now[warps], offsets[foreign]
        entries[:, 2], entries[:, 3] = pc, writes
        self._last[(warps * size + blocks[foreign] % size) * LANES + lanes[foreign]] = entries

    def by_block(self) -> Iterator[tuple[int, Foreign]]:
        """Yield each CTA slot whose shared memory other CTAs have accessed, with these accesses."""
        at = np.flatnonzero(self._last[:, 0])
        pairs, lanes = np.divmod(at, LANES)
        warps, last = pairs // self._view.cluster_size, self._last[at]
        blocks = last[:, 1] // self._view.shared_stride()
        for block in np.unique(blocks).tolist():
            here = blocks == block
            yield block, Foreign(warps[here], bits_of(lanes[here]), *last[here].T)
