"""`mbarrier-as-data`: accesses to bytes of a live mbarrier by instructions that are not mbarrier operations.

Manual: "mbarrier.inval": the memory of an mbarrier must not be used for another purpose before it is invalidated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.shadow.pages import Pages
from pyptx_sim.shadow.shadow import pieces
from pyptx_sim.shadow.tables import WIDEST_ACCESS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.observer import AccessKind, AsyncAccess, AsyncOperations, Offsets, RunView
    from pyptx_sim.rules.async_races import Report

_BYTES = 8  # size and alignment of an mbarrier in bytes


class MbarrierBytes:
    """Locations of live mbarriers in shared memory; reports reads and writes of these bytes as data."""

    def __init__(self, view: RunView, report: Report) -> None:
        """Check the run that `view` describes."""
        self._view = view
        self._report = report
        self._made: dict[int, int] = {}  # pc of the mbarrier.init of each mbarrier, by mbarrier offset
        self._pages = Pages(view.arena_size("shared"))  # 1 KiB pages of shared memory with an mbarrier
        self._valid: NDArray[np.bool_] | None = None  # per 8 bytes of shared memory: whether they are a valid mbarrier
        # per 16 bytes of shared memory (widest access): whether an mbarrier was initialized in them
        self._near: NDArray[np.bool_] = np.zeros(0, np.bool_)

    def next_wave(self) -> None:
        """Forget the mbarriers of the last wave of CTAs."""
        self._made.clear()
        self._pages.clear()
        self._valid = None

    def made(self, place: int, pc: int) -> None:
        """Record an mbarrier.init."""
        if self._valid is None:
            self._valid = np.zeros(-(-self._view.arena_size("shared") // _BYTES), np.bool_)
            self._near = np.zeros(-(-self._view.arena_size("shared") // WIDEST_ACCESS), np.bool_)
        self._made[place] = pc
        self._pages.mark(np.array([place]), 1)
        self._near[place // WIDEST_ACCESS] = True
        self._valid[place // _BYTES] = True

    def ended(self, place: int) -> None:
        """Record an mbarrier.inval."""
        if self._valid is not None and self._made.pop(place, None) is not None:
            self._valid[place // _BYTES] = False

    def accessed(self, kind: AccessKind, offsets: Offsets, size: int, warps: Offsets, pc: int) -> None:
        """Report accesses of warps to bytes of live mbarriers."""
        does = "read of" if kind in {"read", "strong-read"} else "write to"
        self._judge(does, offsets, size, warps, pc)

    def issued(self, work: AsyncOperations, touch: AsyncAccess) -> None:
        """Report asynchronous accesses to bytes of live mbarriers."""
        if self._pages.misses(touch.offsets, touch.size):
            return
        does = "asynchronous write to" if touch.writes else "asynchronous read of"
        self._judge(does, touch.offsets, touch.size, work.warps[touch.owners], work.pc)

    def _judge(self, does: str, offsets: Offsets, size: int, warps: Offsets, pc: int) -> None:
        if not self._made or self._valid is None:
            return
        if not self._near[pieces(offsets, size, WIDEST_ACCESS)].any():
            return
        words = pieces(offsets, size, _BYTES)
        touched = self._valid[words]
        if not touched.any():
            return
        at = int(words[touched][0])
        warp = int(warps[np.flatnonzero(touched.reshape(len(offsets), -1).any(axis=1))[0]])
        place = at * _BYTES
        message = f"non-mbarrier {does} live mbarrier {self._view.describe('shared', place)}"
        label = f"{does.rpartition(' ')[0]} by {self._view.warp_name(warp)}"
        self._report("mbarrier-as-data", message, pc, self._made[place], label=label)
