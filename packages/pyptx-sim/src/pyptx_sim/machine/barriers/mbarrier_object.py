"""One mbarrier object, and the states that arrivals return. Manual: "Contents of the mbarrier object"."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray

# Manual: "Contents of the mbarrier object": expected and pending arrivals, and pending bytes either way.
LIMIT = (1 << 20) - 1
BYTES = 8
# A state that `mbarrier.arrive` returns: the pending count before it in the low bits, the phase above.
_COUNT_BITS = 20


@dataclass(slots=True)
class Mbarrier:
    """One object.

    `came` counts the arrivals in the current phase. `seen` is the last phase that a wait found complete, `completed`
    the phase and the pc of the last work that counted bytes here. pcs say who did what, for messages.
    """

    expected: int
    initialised_at: int
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
        """Whether nothing is pending in the current phase."""
        return self.pending == 0 and self.bytes == 0

    def take(self, count: int, pc: int, *, drops: bool) -> None:
        """Count arrivals; `drops`: expect so many fewer from the next phase on."""
        self.pending -= count
        self.arrivals[pc] += count
        self.came += count
        if drops:
            self.expected -= count

    def state(self) -> int:
        """Return what an arrival returns if it comes now."""
        return self.phase << _COUNT_BITS | self.pending


def pending_of(states: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> IntArray:
    """Return the pending counts within states that arrivals returned."""
    return (states & np.uint64(LIMIT)).astype(np.int64)


def phase_of(state: int) -> int:
    """Return the phase within a state that an arrival returned."""
    return state >> _COUNT_BITS
