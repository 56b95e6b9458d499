"""st.async and red.async: stores and updates in distributed shared memory, with complete-tx on an mbarrier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.extension import AsyncIssue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_sim.extension import Array, IntArray, Origin, Update


@dataclass(slots=True, kw_only=True)
class RemoteStores(AsyncIssue):
    """Outstanding st.async or red.async of some threads: `values` are the elements of each thread's vector.

    If `update` is None, the elements are stored. Otherwise `update` combines each thread's single element with memory;
    bits of memory that become undefined get the `Origin` in `origin`.
    """

    targets: IntArray
    barriers: IntArray
    values: Array
    update: Update | None
    origin: Origin | None

    def signals(self) -> Iterable[int]:
        """Return the mbarriers that the stores signal."""
        return map(int, np.unique(self.barriers))

    def move(self) -> None:
        """Store the values or combine them with memory, then perform complete-tx on the mbarriers."""
        arena = self.wave.memory("shared").arena
        size = self.values.itemsize * self.values.shape[1]
        if self.update is None:
            arena.scatter(self.targets, list(self.values.T))
            arena.mark(self.targets, size)
        else:
            arena.update(self.targets // size, self.update, self.values[:, 0], self.origin)
        for barrier in self.barriers.tolist():
            self.count_bytes(barrier, size)
