"""Mbarrier phases that warps have observed complete, for the note that a wait returned immediately."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyptx_sim.happens_before.lane_masks import masks_of

if TYPE_CHECKING:
    from pyptx_sim.observer import Masks, Offsets

# Number of mbarrier waits to collect before `_enter` records their phases per thread; most launches have fewer.
_FRESH: Final = 1 << 12


@dataclass(frozen=True, slots=True)
class Seen:
    """Mbarrier phase that a wait of some lanes of a warp observed; `old`: each lane had observed it before."""

    phase: int
    pc: int
    old: bool
    lanes: int


class SeenPhases:
    """Last mbarrier phases that the threads of a wave of CTAs have observed complete."""

    def __init__(self) -> None:
        """Start without phases."""
        # mbarrier phases that a warp has observed, by offset and warp
        self._seen: dict[tuple[int, int], list[Seen]] = {}
        self._latest: dict[int, list[Seen]] = {}  # phases last observed at any mbarrier, by warp
        self._fresh: list[tuple[int, int, list[int], list[int], int]] = []  # mbarrier waits not yet recorded

    def next_wave(self) -> None:
        """Forget the phases that warps of the last wave of CTAs have observed."""
        self._fresh.clear()
        self._seen.clear()
        self._latest.clear()

    def acquired(self, place: int, phase: int, warps: Offsets, masks: Masks, pc: int) -> None:
        """Record a phase of an mbarrier that lanes of warps have observed complete."""
        self._fresh.append((place, phase, warps.tolist(), masks_of(masks).tolist(), pc))
        if len(self._fresh) > _FRESH:
            self._enter()

    def _enter(self) -> None:
        """Record the mbarrier waits collected in `_fresh` as observed phases of each thread."""
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
        """Return whether any lane of a warp has observed a phase of the mbarrier at offset `place`."""
        self._enter()
        return (place, warp) in self._seen

    def at(self, place: int | None, warp: int, lane: int) -> Seen | None:
        """Return the last phase that a thread, or else a lane of its warp, has observed at the mbarrier at `place`."""
        self._enter()
        return None if place is None else _of(lane, self._seen.get((place, warp), []))

    def latest(self, warp: int, lane: int) -> Seen | None:
        """Return the last phase that a thread, or else a lane of its warp, has observed at any mbarrier."""
        self._enter()
        return _of(lane, self._latest.get(warp, []))


def _with(seen: Seen, before: list[Seen]) -> list[Seen]:
    """Return a warp's last observed phases: `seen` for the lanes of `seen`, the phases in `before` for other lanes."""
    if all(each.lanes == seen.lanes for each in before):
        return [seen]
    others = [replace(each, lanes=each.lanes & ~seen.lanes) for each in before if each.lanes & ~seen.lanes]
    return [*others, seen]


def _of(lane: int, seen: list[Seen]) -> Seen | None:
    return next((each for each in seen if each.lanes >> lane & 1), seen[-1] if seen else None)
