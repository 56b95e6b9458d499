"""Phases of mbarriers that warps have seen complete, for the reason of a finding: a wait may return at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_sim.checks.race.lane_masks import masks_of

if TYPE_CHECKING:
    from pyptx_sim.observer import Masks, Offsets


@dataclass(frozen=True, slots=True)
class Seen:
    """The last phase of an mbarrier that a wait of lanes of a warp saw complete; `old`: all of them had seen it."""

    phase: int
    pc: int
    old: bool
    lanes: int


class SeenPhases:
    """The last phases that the warps of a wave have seen."""

    def __init__(self) -> None:
        """Begin without any."""
        self._seen: dict[tuple[int, int], Seen] = {}  # by place of an mbarrier and warp
        self._latest: dict[int, Seen] = {}  # by warp

    def next_wave(self) -> None:
        """Forget the warps before."""
        self._seen.clear()
        self._latest.clear()

    def acquired(self, place: int, phase: int, warps: Offsets, masks: Masks, pc: int) -> None:
        """Record a phase of an mbarrier that lanes of warps have seen."""
        for warp, lanes in zip(warps.tolist(), masks_of(masks).tolist(), strict=True):
            before = self._seen.get((place, warp))
            known = before.lanes if before is not None and before.phase == phase else 0
            old = phase < 0 or not lanes & ~known
            self._latest[warp] = self._seen[place, warp] = Seen(phase, pc, old, known | lanes)

    def at(self, place: int | None, warp: int) -> Seen | None:
        """Return what a warp last saw at the mbarrier at a place."""
        return self._seen.get((place, warp)) if place is not None else None

    def latest(self, warp: int) -> Seen | None:
        """Return what a warp last saw at any mbarrier."""
        return self._latest.get(warp)
