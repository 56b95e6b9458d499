"""cp.async: per-thread copies of 4, 8 or 16 bytes, and the mbarrier arrivals that their completion triggers.

Manual: "cp.async", "cp.async.mbarrier.arrive".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.extension.item import AsyncIssue
from pyptx_sim.machine.asynchrony.groups import Arrival
from pyptx_sim.types import bits_dtype

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from pyptx_sim.extension.group import GroupKind
    from pyptx_sim.machine.asynchrony.engine import Item
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.undefined import Origin
    from pyptx_sim.operation import Mask


@dataclass(slots=True, kw_only=True)
class Copies(AsyncIssue):
    """Copies issued by one `cp.async`, one entry per thread.

    `size` bytes are copied from `sources` in the global arena to `targets` in the shared arena. Only the first `used`
    bytes are read, the rest are zeros (None: all are read). `origin`: origin of undefined bits of the sources, if any.
    """

    size: int
    sources: IntArray
    targets: IntArray
    used: IntArray | None
    origin: Origin | None = None

    def undefined(self) -> NDArray[np.uint8] | None:
        """Return the undefined bits of the copied bytes, `[threads, size]`; None if there are none."""
        arena, used = self.wave.memories["global"].arena, self.used
        # A copy with 0 used bytes reads nothing: its source address may be invalid.
        sources = self.sources if used is None else np.where(used > 0, self.sources, 0)
        bits = arena.undefined_elements(sources // self.size, bits_dtype(self.size))
        if bits is None or used is None:
            return bits
        return np.where(np.arange(self.size) < used[:, None], bits, np.uint8(0))

    def move(self) -> None:
        """Copy the bytes and their undefined bits from global to shared memory; write zeros past the `used` bytes."""
        memories = self.wave.memories
        shared, global_ = memories["shared"].arena, memories["global"].arena
        if self.used is None:
            shared.copy(self.targets, global_, self.sources, self.size)
        else:
            shared.copy_part(self.targets, global_, self.sources, self.size, self.used)
        shared.mark(self.targets, self.size)
        bits = None if self.origin is None else self.undefined()
        if bits is not None and self.origin is not None:
            shared.leave_elements(self.targets // self.size, bits, self.origin)


@dataclass(slots=True, kw_only=True)
class Arrivals(AsyncIssue):
    """Arrivals at mbarriers, one per thread, triggered by completion of the thread's earlier operations.

    The operations are of kind `follows`; `behind` numbers the last one that was issued before the arrivals.
    """

    follows: GroupKind
    behind: int
    barriers: IntArray

    def signals(self) -> Iterable[int]:
        """Return the mbarriers at which the threads arrive, as offsets in the shared arena."""
        return map(int, np.unique(self.barriers))

    def move(self) -> None:
        """Complete the threads' earlier operations of kind `follows` (if pipelined, also arrivals); then arrive."""

        def theirs(item: Item) -> Mask | None:
            before = isinstance(item, Arrivals) and self.follows.pipelined and item.follows is self.follows
            if not before and item.group is not self.follows:
                return None
            return item.issued_by(self.warps, self.lanes) if isinstance(item, AsyncIssue) else None

        self.wave.engine.complete_before(self.item_id, theirs)
        mbarriers, groups = self.wave.mbarriers, self.wave.groups_of(self.follows)
        for barrier in map(int, np.unique(self.barriers)):
            here = self.barriers == barrier
            known = mbarriers.find(barrier, self.pc)
            if known is None:
                continue
            groups.note_arrival(Arrival(known, known.phase, self.warps[here], self.lanes[here], self.behind))
            mbarriers.arrive(barrier, [1] * int(here.sum()), self.pc, item_id=self.item_id)
