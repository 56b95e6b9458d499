"""Named barriers: whether each arrival is ordered after the completion of the barrier's previous phase.

Only the threads that waited know that a phase is complete. An arrival that no synchronization orders after one of these
waits could as well have counted for that phase: two uses of one barrier clash, or an arrival laps a wait.
Manual: "bar, barrier".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.machine.lanes import distinct

if TYPE_CHECKING:
    from pyptx_sim.checks.race.clocks import WarpClocks
    from pyptx_sim.checks.race.columns import Known
    from pyptx_sim.observer import Masks, Offsets, RunView

_PER_CTA: Final = 16  # named barriers
_HINT: Final = (
    "let these threads wait for the previous phase first (bar.sync), or be ordered after a thread that did; "
    "give concurrent groups of threads barriers of their own"
)


@dataclass(frozen=True, slots=True)
class _Phase:
    """A complete phase: lanes `masks[i]` of `warps[i]` waited for it, and were at `times[i]` after that."""

    warps: Offsets
    masks: Masks
    times: Known
    pc: int


class BarrierPhases:
    """The last complete phase of each named barrier of a wave, but of those at which the whole CTA waited."""

    def __init__(self, view: RunView, clocks: WarpClocks) -> None:
        """Begin before the first phase of all barriers."""
        self._view = view
        self._clocks = clocks
        self._last: dict[int, _Phase] = {}

    def next_wave(self) -> None:
        """Begin with the barriers of other CTAs."""
        self._last.clear()

    def completed(self, warps: Offsets, masks: Masks, keys: Offsets, pc: int) -> None:
        """Record the threads that waited for the phases that are complete, by barrier; clocks have joined them."""
        if len(warps) == len(self._clocks.now) and not self._last:
            return  # all threads of all CTAs
        whole = self._clocks.whole(warps, masks)
        for key in distinct(keys).tolist():
            here = keys == key
            if np.count_nonzero(here & whole) == self._view.warps_per_cta:
                self._last.pop(key, None)
                continue
            there = warps[here]
            self._last[key] = _Phase(there, masks[here].copy(), self._clocks.now[there].copy(), pc)

    def arrived(self, warps: Offsets, masks: Masks, keys: Offsets, pc: int) -> None:
        """Check the lanes that arrive, waiting or not; before clocks take in what the barrier orders."""
        if not self._last:
            return
        for warp, mask, key in zip(warps.tolist(), masks, keys.tolist(), strict=True):
            last = self._last.get(key)
            if last is not None and not self._follows(warp, mask, last):
                self._report(warp, key, pc, last)

    def _follows(self, warp: int, mask: Masks, last: _Phase) -> bool:
        """Return whether all lanes of `mask` waited for a phase, or are ordered after a thread that did."""
        others = mask & ~last.masks[last.warps == warp].any(axis=0)
        lanes = np.flatnonzero(others)
        rows = distinct(self._clocks.rows(np.full(len(lanes), warp), lanes))
        return all(self._clocks.own.reach(self._clocks.known[row], last.warps, last.times) for row in rows.tolist())

    def _report(self, warp: int, key: int, pc: int, last: _Phase) -> None:
        size = self._view.warps_per_cta
        self._view.report(
            "barrier-phase",
            f"warp {warp % size} (block slot {warp // size}) arrives at barrier {key % _PER_CTA}, and is not ordered "
            "after the completion of its previous phase",
            pc,
            other_pc=last.pc,
            hint=_HINT,
        )
