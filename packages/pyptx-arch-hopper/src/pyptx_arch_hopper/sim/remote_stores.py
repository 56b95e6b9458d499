"""st.async and red.async: stores and updates in the shared memory of a cluster, counted in bytes by an mbarrier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.machine.memory.atomics import apply

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_sim.extension import GroupKind
    from pyptx_sim.machine.asynchrony.groups import Groups
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.memory.atomics import Update
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask


@dataclass(slots=True)
class RemoteStores:
    """What one instruction has issued for some threads: `values` are the elements of each thread's vector.

    `update` None stores them, anything else combines the one element with what is there.
    """

    wave: Wave
    pc: int
    warps: IntArray
    lanes: IntArray
    targets: IntArray
    barriers: IntArray
    values: list[Array]
    update: Update | None
    group: GroupKind | None = None
    item_id: int = 0

    def __len__(self) -> int:
        """Return how many stores have not completed."""
        return len(self.targets)

    def due(self, groups: Groups, *, reads: bool) -> Mask:
        """Return that none belongs to a group."""
        del groups, reads
        return np.zeros(len(self), np.bool_)

    def signals(self) -> Iterable[int]:
        """Return the mbarriers."""
        return map(int, np.unique(self.barriers))

    def read(self) -> None:
        """Do nothing: the values left the registers when the stores were issued."""

    def complete(self, which: Mask | None) -> None:
        """Store or combine, then count the bytes."""
        chosen = np.ones(len(self), np.bool_) if which is None else which
        targets, barriers = self.targets[chosen], self.barriers[chosen]
        values = [value[chosen] for value in self.values]
        size = values[0].itemsize * len(values)
        arena = self.wave.memories["shared"].arena
        if self.update is None:
            arena.scatter(targets, values)
        else:
            words = arena.data.view(values[0].dtype)
            apply(words, targets // size, self.update, values[0], values[0])
        arena.mark(targets, size)
        keep = ~chosen
        self.warps, self.lanes = self.warps[keep], self.lanes[keep]
        self.targets, self.barriers = self.targets[keep], self.barriers[keep]
        self.values = [value[keep] for value in self.values]
        for barrier in barriers.tolist():
            self.wave.mbarriers.complete(barrier, size, self.pc, self.item_id)
