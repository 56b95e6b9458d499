"""Hand the engine's events to all observers of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.machine.lanes import united

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_sim.extension import GroupKind, Proxy
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.observer import AccessKind, Masks, Observer, Space, Work


class Observers:
    """All observers of a run as one."""

    __slots__ = ("_observers", "active")

    def __init__(self, observers: Sequence[Observer]) -> None:
        """Serve `observers`; with none, `active` is False and callers can spare themselves the work."""
        self._observers = tuple(observers)
        self.active = bool(observers)

    def beside(self, observer: Observer) -> Observers:
        """Return these and one more."""
        return Observers([*self._observers, observer])

    def wave_started(self) -> None:
        """Tell that a wave starts."""
        for observer in self._observers:
            observer.wave_started()

    def access(
        self, space: Space, kind: AccessKind, offsets: IntArray, size: int, warps: IntArray, lanes: IntArray, pc: int
    ) -> None:
        """Tell of one access by each of some lanes."""
        for observer in self._observers:
            observer.access(space, kind, offsets, size, warps, lanes, pc)

    def barriers(self, warps: IntArray, masks: Masks, keys: IntArray, pc: int) -> None:
        """Tell of barriers, one for each distinct key, that lanes of the warps with that key have met at."""
        if not self.active:
            return
        if bool((warps[1:] > warps[:-1]).all()):
            self._meet(warps, masks, keys, pc)
            return
        for key in np.unique(keys).tolist():
            here = keys == key
            met, lanes = united(warps[here], masks[here])
            self._meet(met, lanes, keys[here][: len(met)], pc)

    def _meet(self, warps: IntArray, masks: Masks, meetings: IntArray, pc: int) -> None:
        for observer in self._observers:
            observer.barrier(warps, masks, meetings, pc)

    def warp_sync(self, warps: IntArray, masks: Masks, pc: int) -> None:
        """Tell which lanes of each warp have synchronised."""
        for observer in self._observers:
            observer.warp_sync(warps, masks, pc)

    def fence(self, warps: IntArray, masks: Masks, scope: str, pc: int) -> None:
        """Tell of a memory fence."""
        for observer in self._observers:
            observer.fence(warps, masks, scope, pc)

    def signal(self, place: int, phase: int, warps: IntArray, masks: Masks, pc: int, *, scope: str | None) -> None:
        """Tell that lanes arrive at an mbarrier, and release what they did."""
        for observer in self._observers:
            observer.signal(place, phase, warps, masks, pc, scope=scope)

    def acquire(self, place: int, phase: int, warps: IntArray, masks: Masks, pc: int, *, scope: str) -> None:
        """Tell that lanes have seen a phase of an mbarrier complete."""
        for observer in self._observers:
            observer.acquire(place, phase, warps, masks, pc, scope=scope)

    def barrier_made(self, place: int, warp: int, lane: int, pc: int) -> None:
        """Tell that an mbarrier is initialised."""
        for observer in self._observers:
            observer.barrier_made(place, warp, lane, pc)

    def barrier_ended(self, place: int, warp: int, lane: int, pc: int) -> None:
        """Tell that an mbarrier is invalidated."""
        for observer in self._observers:
            observer.barrier_ended(place, warp, lane, pc)

    def barrier_used(self, place: int, warps: IntArray, masks: Masks, pc: int) -> None:
        """Tell that lanes use an mbarrier."""
        for observer in self._observers:
            observer.barrier_used(place, warps, masks, pc)

    def init_fence(self, warps: IntArray, masks: Masks) -> None:
        """Tell of a fence behind the initialisation of mbarriers."""
        for observer in self._observers:
            observer.init_fence(warps, masks)

    def proxy_fence(self, proxy: Proxy, warps: IntArray, masks: Masks, spaces: tuple[Space, ...]) -> None:
        """Tell of a fence between proxies."""
        for observer in self._observers:
            observer.proxy_fence(proxy, warps, masks, spaces)

    def map_released(self, warps: IntArray, masks: Masks) -> None:
        """Tell of a release to the proxy of tensor maps."""
        for observer in self._observers:
            observer.map_released(warps, masks)

    def map_acquired(self, place: int, warps: IntArray, masks: Masks) -> None:
        """Tell of an acquisition of a tensor map."""
        for observer in self._observers:
            observer.map_acquired(place, warps, masks)

    def issued(self, work: Work) -> None:
        """Tell that asynchronous work is issued."""
        for observer in self._observers:
            observer.issued(work)

    def follows(self, kind: GroupKind, ticket: int, warps: IntArray, masks: Masks) -> None:
        """Tell of arrivals that follow earlier copies."""
        for observer in self._observers:
            observer.follows(kind, ticket, warps, masks)

    def landed(self, ticket: int, place: int, phase: int) -> None:
        """Tell that work has told an mbarrier of its completion."""
        for observer in self._observers:
            observer.landed(ticket, place, phase)

    def waited(self, kind: GroupKind, warps: IntArray, masks: Masks, done: IntArray, read: IntArray) -> None:
        """Tell that lanes have waited for groups."""
        for observer in self._observers:
            observer.waited(kind, warps, masks, done, read)

    def wave_ended(self) -> None:
        """Tell that all threads have exited."""
        for observer in self._observers:
            observer.wave_ended()
