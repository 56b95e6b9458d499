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
# State returned by `mbarrier.arrive`: the pending count before the arrival in the low bits, the phase above.
_COUNT_BITS = 20


@dataclass(slots=True)
class Mbarrier:
    """mbarrier object.

    `bytes`: tx-count. `came`: number of arrivals in the current phase. `seen`: the last phase whose completion a wait
    observed. `completed`: phase and pc of the last complete-tx operation. The pcs appear in messages.
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
        """Count arrivals; `drops`: also reduce the expected count of later phases by `count`."""
        self.pending -= count
        self.arrivals[pc] += count
        self.came += count
        if drops:
            self.expected -= count

    def state(self) -> int:
        """Return the state that an arrival would return now."""
        return self.phase << _COUNT_BITS | self.pending


def pending_of(states: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> IntArray:
    """Return the pending counts in states that arrivals returned."""
    return (states & np.uint64(LIMIT)).astype(np.int64)


def phase_of(state: int) -> int:
    """Return the phase in a state that an arrival returned."""
    return state >> _COUNT_BITS
