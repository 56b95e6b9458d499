"""Progress of the grids of a run, for the callback `progress` and for the text of an interrupt."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from pyptx_ir.isa.modules.counting import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.terminal.progress import ProgressCallback
    from pyptx_sim.machine.machine import Machine


SPACING: Final = 0.05
"""Minimum seconds between two calls of a callback."""


class GridProgress:
    """Progress of grids: their CTAs; for a single CTA, the basic blocks that it has executed."""

    def __init__(self, machines: Sequence[Machine], callback: ProgressCallback | None) -> None:
        """Start with grids that have not run; `callback` is that of the caller of `run`, if any."""
        self._machines, self._callback = machines, callback
        self._total = sum(machine.launch.ctas for machine in machines)
        self._next = 0.0

    def report(self) -> None:
        """Call the callback, if there is one and its last call was `SPACING` ago."""
        if self._callback is None:
            return
        now = time.perf_counter()
        if now >= self._next:
            self._next = now + SPACING
            self._callback(*self._extent())

    def finish(self) -> None:
        """Call the callback, if there is one, after all grids have completed."""
        if self._callback is not None:
            self._callback(*self._extent())

    def _extent(self) -> tuple[int, int]:
        if self._total == 1:
            return self._machines[0].steps_of_wave, 0
        return sum(machine.finished_ctas for machine in self._machines), self._total

    def __str__(self) -> str:
        """Return `12 of 64 CTAs` or `4,096 steps`."""
        done, total = self._extent()
        return f"{done} of {counted(total, 'CTA')}" if total else f"{done:,} step{'s' * (done != 1)}"
