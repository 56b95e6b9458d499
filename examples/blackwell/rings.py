"""Rings of stages that some warps of a CTA pair fill and other warps empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx import ptx, reg, smem
from pyptx.types import u32

if TYPE_CHECKING:
    from pyptx.reg import Reg
    from pyptx.smem import MbarrierRef


class Ring:
    """Pipeline stages, each with an mbarrier `full` and an mbarrier `empty`, whose phases alternate.

    A phase of `full` completes after `fillers` arrivals and all expected bytes, a phase of `empty` after `emptiers`
    arrivals.
    """

    def __init__(self, count: int, *, fillers: int, emptiers: int) -> None:
        """Allocate the mbarriers."""
        self.full, self.empty = smem.mbarrier(count), smem.mbarrier(count)
        self.count, self.fillers, self.emptiers = count, fillers, emptiers

    def init(self) -> None:
        """Emit the mbarrier initialization, two instructions per stage, for one thread. A fence must follow."""
        for full, empty in zip(self.full, self.empty, strict=True):
            ptx.mbarrier.init(full, self.fillers)
            ptx.mbarrier.init(empty, self.emptiers)

    def filling(self):
        """Return the pipeline position of a warp that fills stages, all empty at first: two instructions."""
        return ptx.pipeline(self.count, phase=reg.scalar(u32, init=1))

    def emptying(self):
        """Return the pipeline position of a warp that empties stages: two instructions."""
        return ptx.pipeline(self.count)


def first_of_pair(barrier: MbarrierRef) -> Reg:
    """Return the address of an mbarrier in CTA 0 of the cluster: one instruction."""
    return ptx.cluster.map_shared_u32(barrier, 0)
