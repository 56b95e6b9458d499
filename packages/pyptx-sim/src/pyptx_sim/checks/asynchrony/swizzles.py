"""Products that read a matrix by another swizzle than the one by which a tensor copy wrote it.

Both sides say how chunks of 16 bytes are exchanged: the tensor map for TMA, the descriptor for a product. Where they
differ, the product multiplies the right elements in the wrong places. Manual: "Swizzling Modes", "Canonical Layouts".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_sim.checks.asynchrony.async_races import AsyncRaces, Report
    from pyptx_sim.checks.race.shadow import Shadow
    from pyptx_sim.observer import RunView, Touch, Work

_NAMES = {0: "a swizzle that no descriptor has", 16: "no swizzle"}


class Swizzles:
    """Remembers by which swizzle each instruction has copied boxes to shared memory."""

    def __init__(self, view: RunView, work: AsyncRaces, report: Report) -> None:
        """Watch the run behind `view`."""
        self._view = view
        self._work = work
        self._report = report
        self._swizzles_of: dict[int, int | None] = {}  # by pc; None for one that has copied by several swizzles

    def issued(self, work: Work, shadow: Shadow | None) -> None:
        """Judge what products read, and remember what copies write; `shadow` is that of shared memory."""
        for touch in work.touches:
            if touch.swizzle is None:
                continue
            if touch.writes:
                known = self._swizzles_of.setdefault(work.pc, touch.swizzle)
                self._swizzles_of[work.pc] = touch.swizzle if known == touch.swizzle else None
            else:
                self._judge(work.pc, touch, touch.swizzle, shadow)

    def _judge(self, pc: int, touch: Touch, swizzle: int, shadow: Shadow | None) -> None:
        for offset, writer in self._work.last_writers(touch):
            written = self._swizzles_of.get(writer)
            if written is None or written == swizzle:
                continue
            if shadow is not None and _written(shadow, touch):
                return  # a warp may have written it anew since
            where = self._view.describe("shared", offset)
            told = f"a product reads {where} by {_named(swizzle)}, and a tensor copy wrote it by {_named(written)}"
            self._report("matrix-descriptor", told, pc, writer)


def _written(shadow: Shadow, touch: Touch) -> bool:
    """Tell whether a warp has ever written what is read."""
    return shadow.write.touched(shadow.granules(touch.offsets, touch.size).ravel()) is not None


def _named(swizzle: int) -> str:
    return _NAMES.get(swizzle) or f"a swizzle of {swizzle} bytes"
