"""Rings of places that some warps of a pair of blocks fill, and others empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx import ptx, reg, smem
from pyptx.types import u32

if TYPE_CHECKING:
    from pyptx.reg import Reg
    from pyptx.smem import MbarrierRef


class Ring:
    """Places that are filled and emptied in turn, and the barriers by which each side knows of the other.

    A phase of `full` ends when all `fillers` have arrived, and the bytes that they told of; one of `empty` when all
    `emptiers` have.
    """

    def __init__(self, count: int, *, fillers: int, emptiers: int) -> None:
        """Allocate the barriers."""
        self.full, self.empty = smem.mbarrier(count), smem.mbarrier(count)
        self.count, self.fillers, self.emptiers = count, fillers, emptiers

    def init(self) -> None:
        """Emit the initialisation, two instructions a place, for one thread. A fence has to follow."""
        for full, empty in zip(self.full, self.empty, strict=True):
            ptx.mbarrier.init(full, self.fillers)
            ptx.mbarrier.init(empty, self.emptiers)

    def filling(self):
        """Return where a filler stands, for whom all places are empty at first: two instructions."""
        return ptx.pipeline(self.count, phase=reg.scalar(u32, init=1))

    def emptying(self):
        """Return where an emptier stands: two instructions."""
        return ptx.pipeline(self.count)


def first_of_pair(barrier: MbarrierRef) -> Reg:
    """Return the address of a barrier in the first block: one instruction."""
    return ptx.cluster.map_shared_u32(barrier, 0)
