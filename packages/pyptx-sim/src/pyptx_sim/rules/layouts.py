"""Element layouts (swizzles) on which the writer and the reader of a memory must agree.

An asynchronous access may have a layout. If it differs from the layout with which the bytes were written, the reader
gets the elements in another order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyptx_sim.extension.layout import AccessLayout
    from pyptx_sim.observer import AsyncAccess, AsyncOperations, RunView
    from pyptx_sim.rules.async_races import AsyncRaces, Report
    from pyptx_sim.shadow.shadow import Shadow


class Layouts:
    """Records the layouts with which instructions have written, and checks the layouts of asynchronous reads."""

    def __init__(
        self,
        view: RunView,
        work: AsyncRaces,
        parts_of: Callable[[AsyncAccess], Iterable[tuple[Shadow, AsyncAccess]]],
        report: Report,
    ) -> None:
        """Check the run that `view` describes; `parts_of` yields the shadows with warps' accesses to the same bytes."""
        self._view = view
        self._work = work
        self._parts_of = parts_of
        self._report = report
        # layouts of the asynchronous writes at each pc
        self._layouts_of: dict[int, dict[AccessLayout, None]] = {}

    def issued(self, work: AsyncOperations) -> None:
        """Check the layouts of asynchronous reads, and record those of asynchronous writes."""
        for touch in work.touches:
            if touch.layout is None:
                continue
            if touch.writes:
                self._layouts_of.setdefault(work.pc, {})[touch.layout] = None
            elif any(touch.layout not in known for known in self._layouts_of.values()):
                self._judge(work.pc, touch, touch.layout)

    def _judge(self, pc: int, touch: AsyncAccess, layout: AccessLayout) -> None:
        for offset, writer in self._work.last_writers(touch):
            known = self._layouts_of.get(writer)
            if not known or layout in known:
                continue
            written = next(iter(known))
            if self._written_by_warps(touch):
                return  # a warp may have rewritten the bytes after the asynchronous write
            where = self._view.describe(touch.space, offset)
            message = f"layout mismatch at {where}: written with {written}, read with {layout}"
            labels = f"read by {layout.user}", f"write by {written.user}"
            cause = "layout", pc, layout
            self._report(layout.mismatch, message, pc, writer, label=labels[0], other_label=labels[1], cause=cause)

    def _written_by_warps(self, touch: AsyncAccess) -> bool:
        """Return whether a warp has written bytes that `touch` reads."""
        return any(
            shadow.write.touched(shadow.granules(part.offsets, part.size).ravel()) is not None
            for shadow, part in self._parts_of(touch)
        )
