"""`barrier-phase`: arrivals at a named barrier that are not ordered after the completion of its previous phase.

The completion of a phase happens before the return of its waits. An arrival that is not ordered after one of these
waits could count for that phase. Causes are groups of threads that use the barrier concurrently, and a thread that
arrives too early for the next phase. Manual: "bar, barrier".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.machine.lanes import distinct

if TYPE_CHECKING:
    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.happens_before.columns import Clock
    from pyptx_sim.observer import Masks, Offsets, RunView

_PER_CTA: Final = 16  # number of named barriers of each CTA
_HELP: Final = (
    "wait for the previous phase (bar.sync) in these threads, or order them after a thread that did; use one barrier "
    "for each concurrent group of threads"
)


@dataclass(frozen=True, slots=True)
class _Phase:
    """Completed barrier phase; `times[i]` is the time of `warps[i]` after the wait of its lanes `masks[i]`."""

    warps: Offsets
    masks: Masks
    times: Clock
    pc: int


class BarrierPhases:
    """Last completed phase of each named barrier of a wave of CTAs, unless the whole CTA waited for the phase."""

    def __init__(self, view: RunView, clocks: WarpClocks) -> None:
        """Start before the first phase of all named barriers."""
        self._view = view
        self._clocks = clocks
        self._last: dict[int, _Phase] = {}

    def next_wave(self) -> None:
        """Discard the phases of the CTAs of the previous wave."""
        self._last.clear()

    def completed(self, warps: Offsets, masks: Masks, keys: Offsets, pc: int) -> None:
        """Record the threads that waited for each completed phase, after the barrier has joined their clocks."""
        if len(warps) == len(self._clocks.now) and not self._last:
            return  # no need to record the threads: all threads of all CTAs have waited
        whole = self._clocks.whole(warps, masks)
        for key in distinct(keys).tolist():
            here = keys == key
            if np.count_nonzero(here & whole) == self._view.warps_per_cta:
                self._last.pop(key, None)
                continue
            there = warps[here]
            self._last[key] = _Phase(there, masks[here].copy(), self._clocks.now[there].copy(), pc)

    def arrived(self, warps: Offsets, masks: Masks, keys: Offsets, pc: int) -> None:
        """Check arriving lanes, with or without a wait, before the barrier joins their clocks."""
        if not self._last:
            return
        for warp, mask, key in zip(warps.tolist(), masks, keys.tolist(), strict=True):
            last = self._last.get(key)
            if last is not None and not self._follows(warp, mask, last):
                self._report(warp, key, pc, last)

    def _follows(self, warp: int, mask: Masks, last: _Phase) -> bool:
        """Return whether each lane of `mask` waited for a phase or is ordered after a thread that did."""
        others = mask & ~last.masks[last.warps == warp].any(axis=0)
        lanes = np.flatnonzero(others)
        rows = distinct(self._clocks.rows(np.full(len(lanes), warp), lanes))
        return all(self._clocks.own.reach(self._clocks.known[row], last.warps, last.times) for row in rows.tolist())

    def _report(self, warp: int, key: int, pc: int, last: _Phase) -> None:
        self._view.report(
            "barrier-phase",
            f"arrive at barrier {key % _PER_CTA} is not ordered after the completion of its previous phase",
            pc,
            other_pc=last.pc,
            label=f"arrive by {self._view.warp_name(warp)}",
            other_label="wait for the previous phase",
            help=_HELP,
        )
