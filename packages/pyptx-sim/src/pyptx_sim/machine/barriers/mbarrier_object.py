"""One mbarrier object, and the states that arrivals return. Manual: "Contents of the mbarrier object"."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray

# Manual: "Contents of the mbarrier object": limit of the expected and pending counts, and of |tx-count|.
LIMIT = (1 << 20) - 1
BYTES = 8
# Layout of the state that `mbarrier.arrive` returns: pending count before the arrival in the low bits, phase above.
_COUNT_BITS = 20


@dataclass(slots=True)
class Mbarrier:
    """State of one mbarrier object.

    `expected`, `pending`: expected and pending arrival count. `bytes`: tx-count. `came`: number of arrivals in the
    current phase. `seen`: the last phase whose completion a wait observed. `completed`: phase and pc of the last
    complete-tx operation. `initialized_at`, `completed_at`, `arrivals`: pcs of instructions, for messages.
    """

    expected: int
    initialized_at: int
    pending: int
    bytes: int = 0
    phase: int = 0
    came: int = 0
    seen: int = -1
    completed_at: int = -1
    completed: tuple[int, int] | None = None
    arrivals: Counter[int] = field(default_factory=Counter[int])

    @property
    def complete(self) -> bool:
        """Whether the pending count and the tx-count of the current phase are zero."""
        return self.pending == 0 and self.bytes == 0

    def take(self, count: int, pc: int, *, drops: bool) -> None:
        """Record `count` arrivals at instruction `pc`; `drops`: also reduce the expected count of later phases."""
        self.pending -= count
        self.arrivals[pc] += count
        self.came += count
        if drops:
            self.expected -= count

    def state(self) -> int:
        """Return the state that `mbarrier.arrive` would return now."""
        return self.phase << _COUNT_BITS | self.pending


def pending_of(states: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> IntArray:
    """Return the pending counts encoded in `states`, results of `mbarrier.arrive`."""
    return (states & np.uint64(LIMIT)).astype(np.int64)


def phase_of(state: int) -> int:
    """Return the phase encoded in `state`, a result of `mbarrier.arrive`."""
    return state >> _COUNT_BITS
