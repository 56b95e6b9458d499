"""What bulk and tensor copies have in common: where they go, and how they are handed to the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from pyptx_arch_hopper.sim.tma.bulk import BulkCopy
from pyptx_arch_hopper.sim.tma.groups import BULK
from pyptx_arch_hopper.sim.tma.telling import tell_bulk

if TYPE_CHECKING:
    from pyptx_arch_hopper.sim.tma.bulk import Convert, Elements
    from pyptx_sim.extension import GroupKind
    from pyptx_sim.machine.memory.atomics import Update
    from pyptx_sim.machine.memory.spaces import SharedMemory
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask


def aims(wave: Wave, warp: int, mask: int | None) -> tuple[int, ...]:
    """Return how far from the place named each of the places lies that a copy goes to: one for each block in `mask`."""
    if mask is None:
        return (0,)
    size = wave.machine.launch.cluster_size
    stride = cast("SharedMemory", wave.memories["shared"]).stride
    own = int(wave.rank[warp])
    return tuple((rank - own) * stride for rank in range(size) if mask >> rank & 1)


@dataclass(frozen=True, slots=True)
class Bulk:
    """The thread that issues a bulk copy."""

    wave: Wave
    warp: int
    lane: int

    def issue(
        self,
        source: Elements,
        targets: tuple[Elements, ...],
        barriers: tuple[int, ...],
        size: int,
        known: Mask | None,
        fill: Array,
        update: Update | None,
        *,
        map_at: int | None = None,
        convert: Convert | None = None,
    ) -> None:
        """Check what is read, and hand the copy to the engine.

        `map_at` is where its tensor map lies in global memory, if there; `convert` changes values on their way.
        """
        if not targets:
            return  # a multicast to nobody
        wave = self.wave
        if wave.machine.checked:
            self._check_written(source if known is None else source.chosen(known))
            self._check_barrier(targets[0], barriers)
        kind: GroupKind | None = None if barriers else BULK
        copy = BulkCopy(
            wave=wave,
            pc=wave.pc,
            warp=self.warp,
            lane=self.lane,
            number=0 if barriers else self._group(),
            source=source,
            targets=targets,
            barriers=barriers,
            size=size,
            known=known,
            fill=fill,
            update=update,
            group=kind,
            convert=convert,
        )
        item_id = wave.engine.issue(copy)
        if wave.machine.observers.active:
            tell_bulk(wave, copy, item_id, map_at)

    def _group(self) -> int:
        """Return the number of the thread's group that an operation joins now."""
        groups = self.wave.groups_of(BULK)
        groups.note(np.array([self.warp]), np.array([self.lane]), self.wave.pc)
        return int(groups.open[self.warp, self.lane])

    def _check_barrier(self, target: Elements, barriers: tuple[int, ...]) -> None:
        """Report an mbarrier in another block than what it counts. Manual: "cp.async.bulk.tensor", `.cta_group`."""
        wave = self.wave
        stride = wave.machine.shared_stride
        if not barriers or int(target.offsets[0]) // stride == barriers[0] // stride:
            return
        wave.machine.log.report(
            "mbarrier-block",
            f"a bulk copy of {wave.geometry.thread_name(self.warp, self.lane)} goes to one block, and tells "
            f"{wave.mbarriers.name(barriers[0])} of another",
            wave.pc,
            hint="name an mbarrier of the block that the copy writes to",
        )

    def _check_written(self, source: Elements) -> None:
        missing = source.unwritten()
        if not len(missing):
            return
        wave = self.wave
        wave.machine.log.report(
            "uninitialised-memory",
            f"a bulk copy of {wave.geometry.thread_name(self.warp, self.lane)} reads {source.space} memory at "
            f"{wave.memories[source.space].describe_offset(int(missing[0]))}, which nothing has written",
            wave.pc,
            hint="write it first; shared memory and fresh outputs hold arbitrary bytes",
            count=len(missing),
        )
