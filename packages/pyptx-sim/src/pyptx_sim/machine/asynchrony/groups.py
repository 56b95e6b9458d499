"""Groups of asynchronous operations, which each thread counts for itself. Manual: "Async-group mechanism"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pyptx_sim.extension import GroupKind
from pyptx_sim.machine.lanes import WARP

if TYPE_CHECKING:
    from pyptx_sim.machine.barriers.mbarrier_object import Mbarrier
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.operation import Mask


COPY: Final = GroupKind(
    name="copy",
    operations="copies (cp.async)",
    unfinished="unfinished-copy",
    tells="lanes",
    wait="cp.async.wait_group, and then a barrier of those who share what was copied",
)

_ENOUGH: Final = 64  # arrivals that are kept before it is worth asking which of them have been seen


class Arrival(NamedTuple):
    """An arrival of some threads at an mbarrier in a phase, which came when their first `behind` operations were over.

    Who sees the phase end knows that they are over. Operations are counted as `Groups.noted` counts them.
    """

    mbarrier: Mbarrier
    phase: int
    warps: IntArray
    lanes: IntArray
    behind: int


class Groups:
    """The groups of one kind of every thread of a wave, `[warps, 32]`.

    A thread's operations go to its group number `open`; all groups below `done` are waited for, and all below `read`
    are waited for as far as their sources go. All operations belong to groups below `issued`; the last one stands at pc
    `issued_at`. `count` counts what all threads issued; a thread's last one was number `noted`. A wait at an mbarrier
    has seen the end of those up to number `_seen`; `_arrivals` are the arrivals that may still be seen.
    """

    __slots__ = ("_arrivals", "_enough", "_seen", "count", "done", "issued", "issued_at", "noted", "open", "read")

    def __init__(self, height: int) -> None:
        """Begin with empty groups."""
        self.open: IntArray = np.zeros((height, WARP), np.int64)
        self.done: IntArray = np.zeros((height, WARP), np.int64)
        self.read: IntArray = np.zeros((height, WARP), np.int64)

        self.issued: IntArray = np.zeros((height, WARP), np.int64)
        self.issued_at: IntArray = np.zeros((height, WARP), np.int64)
        self.count = 0
        self.noted: IntArray = np.zeros((height, WARP), np.int64)
        self._seen: IntArray = np.zeros((height, WARP), np.int64)
        self._arrivals: list[Arrival] = []
        self._enough = _ENOUGH

    def note(self, warps: IntArray, lanes: IntArray, pc: int) -> IntArray:
        """Note an operation of each of some threads; return the numbers of their open groups."""
        places = warps * WARP + lanes
        numbers: IntArray = self.open.take(places)
        self.count += 1
        for field, value in ((self.issued, numbers + 1), (self.issued_at, pc), (self.noted, self.count)):
            field.reshape(-1)[places] = value
        return numbers

    def note_arrival(self, arrival: Arrival) -> None:
        """Note that an mbarrier has heard of operations that are over."""
        self._arrivals.append(arrival)
        if len(self._arrivals) > self._enough:
            self._settle()
            self._enough = max(_ENOUGH, 2 * len(self._arrivals))

    def unseen(self, *, reads: bool) -> Mask:
        """Return the threads with operations that no wait, for groups or at an mbarrier, has seen the end of."""
        self._settle()
        return (self.issued > (self.read if reads else self.done)) & (self.noted > self._seen)

    def _settle(self) -> None:
        """Keep of the arrivals those whose phase no wait has seen end yet."""
        kept = []
        for arrival in self._arrivals:
            mbarrier, phase, warps, lanes, behind = arrival
            if mbarrier.seen < phase:
                kept.append(arrival)
            else:
                self._seen[warps, lanes] = np.maximum(self._seen[warps, lanes], behind)
        self._arrivals = kept

    def commit(self, warps: IntArray, masks: Mask) -> None:
        """Close the current group of each thread in `masks`, a row for each of `warps`."""
        self.open[warps] += masks

    def wait(self, warps: IntArray, masks: Mask, latest: int, *, reads: bool) -> None:
        """Wait for all groups of the threads but the `latest` ones."""
        known = self.read if reads else self.done
        known[warps] = np.where(masks, np.maximum(known[warps], self.open[warps] - latest), known[warps])
        if not reads:
            np.maximum(self.read, self.done, out=self.read)
