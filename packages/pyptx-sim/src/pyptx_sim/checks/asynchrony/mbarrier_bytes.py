"""The bytes of valid mbarriers, which only instructions of mbarriers may touch.

Manual: "mbarrier.inval": the memory of an mbarrier serves no other purpose before it is invalidated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.checks.race.pages import Pages
from pyptx_sim.checks.race.shadow import pieces
from pyptx_sim.checks.race.tables import WIDEST_ACCESS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.checks.asynchrony.async_races import Report
    from pyptx_sim.observer import AccessKind, AsyncAccess, AsyncOperations, Offsets, RunView

_BYTES = 8  # of an mbarrier, which lies at a multiple of them


class MbarrierBytes:
    """Where valid mbarriers lie in shared memory, and who reads or writes there as if it were data."""

    def __init__(self, view: RunView, report: Report) -> None:
        """Watch the run behind `view`."""
        self._view = view
        self._report = report
        self._made: dict[int, int] = {}  # by place: the pc
        self._pages = Pages(view.arena_size("shared"))  # where there are any
        self._valid: NDArray[np.bool_] | None = None  # by place, in mbarriers
        self._near: NDArray[np.bool_] = np.zeros(0, np.bool_)  # by place, in the widest accesses: whether any began

    def next_wave(self) -> None:
        """Forget the mbarriers of the warps before."""
        self._made.clear()
        self._pages.clear()
        self._valid = None

    def made(self, place: int, pc: int) -> None:
        """Note that an mbarrier begins."""
        if self._valid is None:
            self._valid = np.zeros(-(-self._view.arena_size("shared") // _BYTES), np.bool_)
            self._near = np.zeros(-(-self._view.arena_size("shared") // WIDEST_ACCESS), np.bool_)
        self._made[place] = pc
        self._pages.mark(np.array([place]), 1)
        self._near[place // WIDEST_ACCESS] = True
        self._valid[place // _BYTES] = True

    def ended(self, place: int) -> None:
        """Note that an mbarrier ends."""
        if self._valid is not None and self._made.pop(place, None) is not None:
            self._valid[place // _BYTES] = False

    def accessed(self, kind: AccessKind, offsets: Offsets, size: int, warps: Offsets, pc: int) -> None:
        """Judge accesses of shared memory."""
        does = "read of" if kind in {"read", "strong-read"} else "write to"
        self._judge(does, offsets, size, warps, pc)

    def issued(self, work: AsyncOperations, touch: AsyncAccess) -> None:
        """Judge what asynchronous work reads or writes in shared memory."""
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
