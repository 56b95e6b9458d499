"""st.async and red.async: stores and updates in the shared memory of a cluster, counted in bytes by an mbarrier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.extension import AsyncItem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_sim.extension import Array, IntArray, Origin, Update


@dataclass(slots=True, kw_only=True)
class RemoteStores(AsyncItem):
    """What one instruction has issued for some threads: `values` are the elements of each thread's vector.

    `update` None stores them, anything else combines the one element with what is there, of which undefined bits come
    from `origin`.
    """

    targets: IntArray
    barriers: IntArray
    values: Array
    update: Update | None
    origin: Origin | None

    def signals(self) -> Iterable[int]:
        """Return the mbarriers."""
        return map(int, np.unique(self.barriers))

    def move(self) -> None:
        """Store or combine, then count the bytes."""
        arena = self.wave.memory("shared").arena
        size = self.values.itemsize * self.values.shape[1]
        if self.update is None:
            arena.scatter(self.targets, list(self.values.T))
            arena.mark(self.targets, size)
        else:
            arena.update(self.targets // size, self.update, self.values[:, 0], self.origin)
        for barrier in self.barriers.tolist():
            self.count_bytes(barrier, size)
