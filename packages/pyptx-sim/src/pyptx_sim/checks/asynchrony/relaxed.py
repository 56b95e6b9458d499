"""What arrivals and waits order that are `.relaxed`: nothing by themselves, but with fences beside them.

A relaxed arrival is a strong write, and a relaxed wait a strong read of it. So a fence in front of the arrival releases
what the thread knew there, and a fence behind the wait acquires it, each to its own scope (manual: "Memory Consistency
Model", "Release and Acquire Patterns"). `fence.mbarrier_init` releases initialised mbarriers alone.

Fences of asynchronous work order the work of some kinds, and no memory: what was issued or waited for before one in
front of the arrival comes before what is issued behind one that stands behind the wait. A wait that acquires needs none
for what it takes in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_sim.checks.race.lane_masks import LANES
from pyptx_sim.checks.race.messages import level_of
from pyptx_sim.checks.race.snapshots import Snapshots, known_alike

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from pyptx_sim.checks.asynchrony.async_clocks import AsyncClocks
    from pyptx_sim.checks.asynchrony.phases import Phases, Sides
    from pyptx_sim.checks.race.clocks import Known, WarpClocks
    from pyptx_sim.checks.race.messages import Messages
    from pyptx_sim.extension import GroupKind
    from pyptx_sim.observer import Masks, Offsets

__all__ = ["Relaxed"]

_CLUSTER: Final = level_of("cluster")
_Heard: TypeAlias = "dict[tuple[int, int], tuple[Sides, int]]"
"""By place and phase: what was left there, and how wide the scope of the wait was."""


class Relaxed:
    """What fences order around the relaxed arrivals and waits of a wave."""

    def __init__(self, clocks: WarpClocks, messages: Messages, phases: Phases, agents: AsyncClocks) -> None:
        """Begin without any."""
        self._clocks = clocks
        self._messages = messages
        self._phases = phases
        self._agents = agents
        self._heard: dict[tuple[int, int], _Heard] = {}  # by warp and lane
        self._before: dict[tuple[GroupKind, ...], dict[int, Snapshots]] = {}  # by warp

    def next_wave(self) -> None:
        """Forget the warps before."""
        self._heard.clear()
        self._before.clear()

    # --- arrivals and waits ---------------------------------------------------------------------

    def arrive(self, place: int, phase: int, warps: Offsets, masks: Masks, scope: str) -> None:
        """Leave at a phase what lanes have released by fences in front."""
        level = level_of(scope)
        for warp, mask in zip(warps.tolist(), masks, strict=True):
            for fenced, known in self._messages.fenced(warp, mask):
                self._phases.leave(place, phase, warp, known, reaches=min(fenced, level) >= _CLUSTER)
            for kinds, fences in self._before.items():
                if warp in fences:
                    known = fences[warp].told(self._clocks, warp, mask)
                    self._phases.tell(place, phase, self._of_work(kinds, known))

    def wait(self, place: int, phase: int, warps: Offsets, masks: Masks, scope: str) -> None:
        """Note that lanes have seen a phase complete, and know nothing by that."""
        left, level = self._phases.left(place, phase), level_of(scope)
        for thread in _threads(warps, masks) if left else ():
            heard = self._heard.setdefault(thread, {})
            heard.pop((place, phase - 1), None)  # a phase tells of all before it
            heard[place, phase] = left, level

    # --- fences ---------------------------------------------------------------------------------

    def fence(self, warps: Offsets, masks: Masks, scope: str) -> None:
        """Let lanes learn what they have heard by waits in front."""
        level = level_of(scope)
        for thread in _threads(warps, masks) if self._heard else ():
            heard = self._heard.get(thread, {})
            for key, (left, waited) in tuple(heard.items()):
                self._phases.learn(left, *_alone(thread), reaches=min(level, waited) >= _CLUSTER)
                if level >= waited:
                    del heard[key]

    def before(self, kinds: tuple[GroupKind, ...], warps: Offsets, masks: Masks) -> None:
        """Let relaxed arrivals tell of the work of some kinds up to here."""
        kept = self._before.setdefault(kinds, {})
        for warp, mask, known in known_alike(self._clocks, warps, masks):
            kept.setdefault(warp, Snapshots()).take(mask, known, int(self._clocks.now[warp]))
        self._clocks.now[warps] += 1

    def after(self, kinds: tuple[GroupKind, ...], warps: Offsets, masks: Masks) -> None:
        """Let lanes learn of the work of some kinds what they have heard."""
        for thread in _threads(warps, masks) if self._heard else ():
            for left, _ in self._heard.get(thread, {}).values():
                for told in left.values():
                    self._clocks.learn(*_alone(thread), self._of_work(kinds, told))

    def _of_work(self, kinds: Iterable[GroupKind], told: Known) -> Known:
        """Return what somebody tells of work: what is over, and what has been issued."""
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
    """Return a thread as warps and masks."""
    warp, lane = thread
    return np.array([warp]), np.arange(LANES)[None] == lane
