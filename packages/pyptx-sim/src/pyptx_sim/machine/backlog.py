"""The clusters of a grid that have not been launched: waves take them, or running ones take over their work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray


class Backlog:
    """Clusters in launch order, by their numbers: those that are left.

    `most` is how many run at once. Of a `cancellable` grid fewer do, unless the launch says how many (`said`), so that
    there is something to cancel: a quarter of all, or in a random schedule any number, each time. Such a schedule also
    refuses some requests though there is something left, as a device does when it needs the room for another grid.
    """

    def __init__(
        self, clusters: int, most: int, *, cancellable: bool, said: bool, random: np.random.Generator | None
    ) -> None:
        """Begin with all of a grid."""
        self._left = list(range(clusters))
        self._all = clusters
        self._most = most
        self._few = cancellable and not said
        self._random = random
        self._refusing = 0.0 if random is None or not cancellable else random.random() ** 2

    def __len__(self) -> int:
        """Return how many are left."""
        return len(self._left)

    def launch(self) -> IntArray:
        """Take those that begin together now."""
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
        """Take one that will not be launched; None if none is left, or a random schedule refuses."""
        random = self._random
        if not self._left or (random is not None and random.random() < self._refusing):
            return None
        return self._left.pop(0 if random is None else int(random.integers(len(self._left))))
