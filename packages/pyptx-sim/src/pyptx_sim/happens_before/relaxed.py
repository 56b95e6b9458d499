"""Fences with `.relaxed` arrivals and waits, which order nothing by themselves.

A relaxed arrival is a strong write, and a relaxed wait is a strong read of it. So a fence before the arrival releases
the accesses of its thread, and a fence after the wait acquires them, each with its own scope (manual: "Memory
Consistency Model", "Release and Acquire Patterns"). `fence.mbarrier_init` releases mbarrier initializations only.

A fence of some kinds of asynchronous operations does not order memory accesses. Operations of those kinds that were
issued, or waited for, before such a fence and a later arrival precede operations that are issued after the wait and
such a fence. A wait that acquires needs no such fence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_sim.happens_before.lane_masks import LANES
from pyptx_sim.happens_before.release_clocks import level_of
from pyptx_sim.happens_before.snapshots import Snapshots, known_alike

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from pyptx_sim.events import Racer
    from pyptx_sim.extension.group import GroupKind
    from pyptx_sim.happens_before.async_clocks import AsyncClocks
    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.happens_before.columns import Clock
    from pyptx_sim.happens_before.phases import Phases, Sides
    from pyptx_sim.happens_before.release_clocks import ReleaseClocks
    from pyptx_sim.happens_before.seen_phases import SeenPhases
    from pyptx_sim.observer import Masks, Offsets

__all__ = ["Relaxed"]

_CLUSTER: Final = level_of("cluster")


@dataclass(frozen=True, slots=True)
class _Wait:
    """Relaxed wait: release clocks of its phase by key, the level of its scope, and its pc."""

    left: Sides
    level: int
    pc: int


_Heard: TypeAlias = "dict[tuple[int, int], _Wait]"
"""Relaxed waits of a thread, by mbarrier offset and phase, that no fence of at least their scope has followed."""


class Relaxed:
    """Order of accesses by fences around the relaxed arrivals and waits of a wave of CTAs."""

    def __init__(
        self, clocks: WarpClocks, messages: ReleaseClocks, phases: Phases, agents: AsyncClocks, seen: SeenPhases
    ) -> None:
        """Start without fences, arrivals and waits."""
        self._clocks = clocks
        self._messages = messages
        self._phases = phases
        self._agents = agents
        self._seen = seen
        # relaxed mbarrier waits of each thread since its last fence, by warp and lane
        self._heard: dict[tuple[int, int], _Heard] = {}
        # By kinds of asynchronous operations, then by warp: vector clocks at its last fence that orders only these
        # kinds.
        self._before: dict[tuple[GroupKind, ...], dict[int, Snapshots]] = {}
        # time and pc of the last relaxed arrival of each warp at each mbarrier (offset)
        self._arrived: dict[int, dict[int, tuple[int, int]]] = {}

    def next_wave(self) -> None:
        """Forget the warps of the last wave of CTAs."""
        self._heard.clear()
        self._before.clear()
        self._arrived.clear()

    # --- arrivals and waits ---------------------------------------------------------------------

    def arrive(self, place: int, phase: int, warps: Offsets, masks: Masks, scope: str, pc: int) -> None:
        """Release to a phase the clocks of earlier fences of the lanes that arrive with `.relaxed`."""
        level = level_of(scope)
        for warp, mask in zip(warps.tolist(), masks, strict=True):
            self._arrived.setdefault(warp, {})[place] = int(self._clocks.now[warp]), pc
            for fenced, known in self._messages.fenced(warp, mask):
                self._phases.leave(place, phase, warp, known, reaches=min(fenced, level) >= _CLUSTER)
            for kinds, fences in self._before.items():
                if warp in fences:
                    known = fences[warp].told(self._clocks, warp, mask)
                    self._phases.tell(place, phase, self._of_work(kinds, known))

    def wait(self, place: int, phase: int, warps: Offsets, masks: Masks, scope: str, pc: int) -> None:
        """Record that lanes have observed, with a relaxed wait, that a phase is complete, without acquiring it."""
        wait = _Wait(self._phases.left(place, phase), level_of(scope), pc)
        for thread in _threads(warps, masks) if wait.left else ():
            heard = self._heard.setdefault(thread, {})
            heard.pop((place, phase - 1), None)  # a wait for `phase` makes one for `phase - 1` redundant
            heard[place, phase] = wait

    # --- fences ---------------------------------------------------------------------------------

    def fence(self, warps: Offsets, masks: Masks, scope: str) -> None:
        """Acquire, by a fence of lanes, the phases that they have observed with relaxed waits."""
        level = level_of(scope)
        for thread in _threads(warps, masks) if self._heard else ():
            heard = self._heard.get(thread, {})
            for key, wait in tuple(heard.items()):
                self._phases.learn(wait.left, *_alone(thread), reaches=min(level, wait.level) >= _CLUSTER)
                if level >= wait.level:
                    del heard[key]

    def before(self, kinds: tuple[GroupKind, ...], warps: Offsets, masks: Masks) -> None:
        """Record the clocks of lanes at a fence of operations of `kinds`; later relaxed arrivals release them."""
        kept = self._before.setdefault(kinds, {})
        for warp, mask, known in known_alike(self._clocks, warps, masks):
            kept.setdefault(warp, Snapshots()).take(mask, known, int(self._clocks.now[warp]))
        self._clocks.now[warps] += 1

    def after(self, kinds: tuple[GroupKind, ...], warps: Offsets, masks: Masks) -> None:
        """Order lanes after operations of `kinds` that were released to phases of their earlier relaxed waits."""
        for thread in _threads(warps, masks) if self._heard else ():
            for wait in self._heard.get(thread, {}).values():
                for told in wait.left.values():
                    self._clocks.learn(*_alone(thread), self._of_work(kinds, told))

    # --- reasons --------------------------------------------------------------------------------

    def why(self, me: Racer, other: Racer, place: Callable[[int], object]) -> str:
        """Return why a relaxed arrive or wait does not order two threads; empty if this is not the reason."""
        for (warp, lane), heard in self._heard.items():
            for wait in heard.values() if warp == me.warp and me.has(lane) else ():
                if any(self._tells(told, other) for told in wait.left.values()):
                    return f"the wait ({place(wait.pc)}) is .relaxed and no fence of its scope follows it"
        for at, (time, pc) in self._arrived.get(other.warp, {}).items():
            if time >= other.time and self._seen.any(at, me.warp):
                return f"the arrive ({place(pc)}) is .relaxed and no fence of its scope precedes it"
        return ""

    def _tells(self, told: Clock, other: Racer) -> bool:
        whole = np.zeros((1, self._clocks.known.shape[1]), np.int32)
        whole[0, : len(told)] = told
        entry = (np.array([each]) for each in (0, other.warp, other.mask, other.time))
        return bool(self._clocks.own.hold(whole, *entry)[0])

    def _of_work(self, kinds: Iterable[GroupKind], told: Clock) -> Clock:
        """Return the part of a release clock that orders operations of `kinds`: the completed and the issued ones."""
        issued = self._agents.issued_columns()
        to, own = issued.all(self._clocks.own), self._clocks.own.all(self._clocks.own)
        whole = np.zeros(self._clocks.known.shape[1], np.int32)
        whole[: len(told)] = told
        work = np.zeros_like(whole)
        work[to] = np.maximum(whole[own], whole[to])
        agents = self._agents.columns_of(kinds)
        work[agents] = whole[agents]
        return work


def _threads(warps: Offsets, masks: Masks) -> Iterator[tuple[int, int]]:
    positions, lanes = np.nonzero(masks)
    return zip(warps[positions].tolist(), lanes.tolist(), strict=True)


def _alone(thread: tuple[int, int]) -> tuple[Offsets, NDArray[np.bool_]]:
    """Return a thread as an array of its warp and a mask of its lane."""
    warp, lane = thread
    return np.array([warp]), np.arange(LANES)[None] == lane
