"""Clusters of a grid that have not been launched; new waves launch them, running clusters may cancel them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray


class Backlog:
    """Clusters that have not been launched, by their numbers in launch order.

    `most`: maximum number of clusters that are resident together. In a grid whose CTAs can cancel launches
    (`cancellable`), fewer are resident unless the launch specifies their number (`said`), so that some remain to be
    canceled: a quarter of all, or a number that a random schedule draws for each wave. A random schedule also refuses
    some cancellation requests although clusters remain, like a device that needs the space for another grid.
    """

    def __init__(
        self, clusters: int, most: int, *, cancellable: bool, said: bool, random: np.random.Generator | None
    ) -> None:
        """Start with all `clusters` of a grid; `random` is the generator of a random schedule, if there is one."""
        self._left = list(range(clusters))
        self._all = clusters
        self._most = most
        self._few = cancellable and not said
        self._random = random
        self._refusing = 0.0 if random is None or not cancellable else random.random() ** 2

    def __len__(self) -> int:
        """Return the number of clusters that have been neither launched nor canceled."""
        return len(self._left)

    def launch(self) -> IntArray:
        """Remove and return the clusters of the next wave (the CTAs that become resident together)."""
        count = self._count()
        launched, self._left = self._left[:count], self._left[count:]
        return np.array(launched, np.int64)

    def _count(self) -> int:
        if not self._few:
            return self._most
        if self._random is None:
            return min(self._most, -(-self._all // 4))
        return int(self._most ** self._random.random())

    def cancel(self) -> int | None:
        """Remove and return a cluster that will not be launched; None if none remains or a random schedule refuses."""
        random = self._random
        if not self._left or (random is not None and random.random() < self._refusing):
            return None
        return self._left.pop(0 if random is None else int(random.integers(len(self._left))))
