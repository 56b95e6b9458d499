"""cp.async: copies of a few bytes by each of many threads, and the arrivals that follow them.

Manual: "cp.async", "cp.async.mbarrier.arrive".
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.machine.groups import COPY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_sim.extension import GroupKind
    from pyptx_sim.machine.engine import Item
    from pyptx_sim.machine.groups import Groups
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask


@dataclass(slots=True)
class Copies:
    """The copies that one `cp.async` has issued for some threads, one entry for each.

    `size` bytes go from `sources` in the global arena to `targets` in the shared one; of them `used` are read, the
    rest are zeros (None: all are read).
    """

    wave: Wave
    pc: int
    size: int
    warps: IntArray
    lanes: IntArray
    groups: IntArray
    sources: IntArray
    targets: IntArray
    used: IntArray | None
    group: GroupKind | None = COPY
    ticket: int = 0

    def __len__(self) -> int:
        """Return how many copies have not landed."""
        return len(self.warps)

    def due(self, groups: Groups, *, reads: bool) -> Mask:
        """Return which copies belong to groups that their threads have waited for."""
        del reads
        return np.asarray(self.groups < groups.done[self.warps, self.lanes])

    def signals(self) -> Iterable[int]:
        """Return no mbarrier: an arrival of its own tells one."""
        return ()

    def read(self) -> None:
        """Do nothing: nobody waits for the reads alone."""

    def land(self, which: Mask | None) -> None:
        """Copy."""
        sources, targets, used = self.sources, self.targets, self.used
        if which is not None:
            sources, targets = sources[which], targets[which]
            used = None if used is None else used[which]
        memories = self.wave.memories
        shared, global_ = memories["shared"].arena, memories["global"].arena
        if used is None:
            shared.copy(targets, global_, sources, self.size)
        else:
            shared.copy_part(targets, global_, sources, self.size, used)
        shared.mark(targets, self.size)
        self._keep(np.zeros(len(self), np.bool_) if which is None else ~which)

    def _keep(self, which: Mask) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                setattr(self, field.name, value[which])


@dataclass(slots=True)
class Arrivals:
    """Arrivals at mbarriers, one entry for each thread, that come when the thread's earlier copies have landed."""

    wave: Wave
    pc: int
    warps: IntArray
    lanes: IntArray
    barriers: IntArray
    group: GroupKind | None = None
    ticket: int = 0

    def __len__(self) -> int:
        """Return how many arrivals are to come."""
        return len(self.warps)

    def due(self, groups: Groups, *, reads: bool) -> Mask:
        """Return that none belongs to a group."""
        del groups, reads
        return np.zeros(len(self), np.bool_)

    def signals(self) -> Iterable[int]:
        """Return the mbarriers."""
        return map(int, np.unique(self.barriers))

    def read(self) -> None:
        """Do nothing: nothing is read."""

    def land(self, which: Mask | None) -> None:
        """Let the copies land that the threads issued before, then arrive."""
        chosen = np.ones(len(self), np.bool_) if which is None else which
        warps, lanes, barriers = self.warps[chosen], self.lanes[chosen], self.barriers[chosen]
        keys = warps * 32 + lanes

        def theirs(item: Item) -> Mask | None:
            return np.isin(item.warps * 32 + item.lanes, keys) if isinstance(item, Copies) else None

        self.wave.engine.land_before(self, theirs)
        keep = ~chosen
        self.warps, self.lanes, self.barriers = self.warps[keep], self.lanes[keep], self.barriers[keep]
        for barrier, count in zip(*np.unique(barriers, return_counts=True), strict=True):
            self.wave.mbarriers.arrive(int(barrier), [1] * int(count), self.pc, ticket=self.ticket)
