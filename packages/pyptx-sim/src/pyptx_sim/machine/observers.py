"""Hand the engine's events to all observers of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_sim.machine.groups import GroupKind
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

    def barriers(self, warps: IntArray, keys: IntArray, pc: int) -> None:
        """Tell of barriers, one for each distinct key, that the warps with that key have met at."""
        if not self.active:
            return
        order = np.argsort(keys, kind="stable")
        cuts = np.flatnonzero(np.diff(keys[order])) + 1
        for group in np.split(warps[order], cuts):
            met = np.unique(group)
            for observer in self._observers:
                observer.barrier(met, pc)

    def warp_sync(self, warps: IntArray, masks: Masks, pc: int) -> None:
        """Tell which lanes of each warp have synchronised."""
        for observer in self._observers:
            observer.warp_sync(warps, masks, pc)

    def fence(self, warps: IntArray, scope: str, pc: int) -> None:
        """Tell of a memory fence."""
        for observer in self._observers:
            observer.fence(warps, scope, pc)

    def signal(self, place: int, phase: int, warps: IntArray, pc: int, *, relaxed: bool = False) -> None:
        """Tell that warps arrive at an mbarrier, and release what they did."""
        for observer in self._observers:
            observer.signal(place, phase, warps, pc, relaxed=relaxed)

    def acquire(self, place: int, phase: int, warps: IntArray, pc: int) -> None:
        """Tell that warps have seen a phase of an mbarrier complete."""
        for observer in self._observers:
            observer.acquire(place, phase, warps, pc)

    def barrier_made(self, place: int, warp: int, pc: int) -> None:
        """Tell that an mbarrier is initialised."""
        for observer in self._observers:
            observer.barrier_made(place, warp, pc)

    def barrier_ended(self, place: int, warp: int, pc: int) -> None:
        """Tell that an mbarrier is invalidated."""
        for observer in self._observers:
            observer.barrier_ended(place, warp, pc)

    def barrier_used(self, place: int, warps: IntArray, pc: int) -> None:
        """Tell that warps use an mbarrier."""
        for observer in self._observers:
            observer.barrier_used(place, warps, pc)

    def init_fence(self, warps: IntArray) -> None:
        """Tell of a fence behind the initialisation of mbarriers."""
        for observer in self._observers:
            observer.init_fence(warps)

    def proxy_fence(self, warps: IntArray, spaces: tuple[Space, ...]) -> None:
        """Tell of a fence between proxies."""
        for observer in self._observers:
            observer.proxy_fence(warps, spaces)

    def map_released(self, warps: IntArray) -> None:
        """Tell of a release to the proxy of tensor maps."""
        for observer in self._observers:
            observer.map_released(warps)

    def map_acquired(self, place: int, warps: IntArray) -> None:
        """Tell of an acquisition of a tensor map."""
        for observer in self._observers:
            observer.map_acquired(place, warps)

    def issued(self, work: Work) -> None:
        """Tell that asynchronous work is issued."""
        for observer in self._observers:
            observer.issued(work)

    def follows(self, ticket: int, warps: IntArray) -> None:
        """Tell of arrivals that follow earlier copies."""
        for observer in self._observers:
            observer.follows(ticket, warps)

    def landed(self, ticket: int, place: int, phase: int) -> None:
        """Tell that work has told an mbarrier of its completion."""
        for observer in self._observers:
            observer.landed(ticket, place, phase)

    def waited(self, kind: GroupKind, warps: IntArray, done: IntArray, read: IntArray) -> None:
        """Tell that warps have waited for groups."""
        for observer in self._observers:
            observer.waited(kind, warps, done, read)

    def wave_ended(self) -> None:
        """Tell that all threads have exited."""
        for observer in self._observers:
            observer.wave_ended()
