"""Phases of mbarriers that warps have seen complete, for the reason of a finding: a wait may return at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyptx_sim.checks.race.lane_masks import masks_of

if TYPE_CHECKING:
    from pyptx_sim.observer import Masks, Offsets

# So many waits are gathered before they are entered by thread: most launches end before that.
_FRESH: Final = 1 << 12


@dataclass(frozen=True, slots=True)
class Seen:
    """A phase of an mbarrier that a wait of some lanes of a warp saw complete; `old`: each of them had seen it."""

    phase: int
    pc: int
    old: bool
    lanes: int


class SeenPhases:
    """The last phases that the threads of a wave have seen."""

    def __init__(self) -> None:
        """Begin without any."""
        self._seen: dict[tuple[int, int], list[Seen]] = {}  # by place of an mbarrier and warp, of different lanes each
        self._latest: dict[int, list[Seen]] = {}  # by warp
        self._fresh: list[tuple[int, int, list[int], list[int], int]] = []  # waits, not yet there

    def next_wave(self) -> None:
        """Forget the warps before."""
        self._fresh.clear()
        self._seen.clear()
        self._latest.clear()

    def acquired(self, place: int, phase: int, warps: Offsets, masks: Masks, pc: int) -> None:
        """Record a phase of an mbarrier that lanes of warps have seen."""
        self._fresh.append((place, phase, warps.tolist(), masks_of(masks).tolist(), pc))
        if len(self._fresh) > _FRESH:
            self._enter()

    def _enter(self) -> None:
        """Enter fresh waits."""
        for place, phase, warps, masks, pc in self._fresh:
            for warp, lanes in zip(warps, masks, strict=True):
                before = self._seen.get((place, warp), [])
                new = lanes
                for each in before:
                    new &= ~each.lanes if each.phase == phase else -1
                seen = Seen(phase, pc, phase < 0 or not new, lanes)
                self._seen[place, warp] = _with(seen, before)
                self._latest[warp] = _with(seen, self._latest.get(warp, []))
        self._fresh.clear()

    def any(self, place: int, warp: int) -> bool:
        """Return whether any lane of a warp has seen a phase of the mbarrier at a place."""
        self._enter()
        return (place, warp) in self._seen

    def at(self, place: int | None, warp: int, lane: int) -> Seen | None:
        """Return what a thread last saw at the mbarrier at a place, or else another lane of its warp."""
        self._enter()
        return None if place is None else _of(lane, self._seen.get((place, warp), []))

    def latest(self, warp: int, lane: int) -> Seen | None:
        """Return what a thread last saw at any mbarrier, or else another lane of its warp."""
        self._enter()
        return _of(lane, self._latest.get(warp, []))


def _with(seen: Seen, before: list[Seen]) -> list[Seen]:
    """Return what lanes of a warp have seen last."""
    if all(each.lanes == seen.lanes for each in before):
        return [seen]
    others = [replace(each, lanes=each.lanes & ~seen.lanes) for each in before if each.lanes & ~seen.lanes]
    return [*others, seen]


def _of(lane: int, seen: list[Seen]) -> Seen | None:
    return next((each for each in seen if each.lanes >> lane & 1), seen[-1] if seen else None)
