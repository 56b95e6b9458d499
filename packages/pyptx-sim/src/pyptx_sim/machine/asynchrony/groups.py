"""Async-groups; each thread has its own groups. Manual: "Async-group mechanism"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pyptx_sim.extension.group import GroupKind
from pyptx_sim.machine.lanes import WARP

if TYPE_CHECKING:
    from pyptx_sim.machine.barriers.mbarrier_object import Mbarrier
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.operation import Mask


COPY: Final = GroupKind(
    name="copy",
    operations="cp.async copies",
    unfinished="unfinished-copy",
    tells="lanes",
    wait="cp.async.wait_group, then bar.sync (__syncthreads) for the other readers",
)

_ENOUGH: Final = 64  # minimum number of recorded mbarrier arrivals before `_settle` is called


class Arrival(NamedTuple):
    """Arrival of threads at an mbarrier, triggered when their operations up to number `behind` had completed.

    A thread that observes completion of the phase can rely on completion of these operations. `Groups.noted` numbers
    the operations.
    """

    mbarrier: Mbarrier
    phase: int
    warps: IntArray
    lanes: IntArray
    behind: int


class Groups:
    """Async-groups of one kind, for every thread of a wave, `[warps, 32]`.

    `open`: number of the thread's open group, to which its next operations belong. The thread has waited for the groups
    with numbers below `done`, and for the source reads of the groups below `read`. All its operations belong to groups
    below `issued`; `issued_at` is the pc of its last operation. `count`: number of the last issue, over all threads.
    `noted`: `count` at the thread's last operation. `_seen`: like `noted`, for the last operation whose completion a
    wait at an mbarrier observed. `_arrivals`: mbarrier arrivals whose phases no wait has yet observed as complete.
    """

    __slots__ = ("_arrivals", "_enough", "_seen", "count", "done", "issued", "issued_at", "noted", "open", "read")

    def __init__(self, height: int) -> None:
        """Start with empty async-groups for the threads of `height` warps."""
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
        """Record one operation of each thread (`warps`, `lanes`); return the number of each thread's open group."""
        places = warps * WARP + lanes
        numbers: IntArray = self.open.take(places)
        self.count += 1
        for field, value in ((self.issued, numbers + 1), (self.issued_at, pc), (self.noted, self.count)):
            field.reshape(-1)[places] = value
        return numbers

    def note_arrival(self, arrival: Arrival) -> None:
        """Record an mbarrier arrival triggered by completed operations."""
        self._arrivals.append(arrival)
        if len(self._arrivals) > self._enough:
            self._settle()
            self._enough = max(_ENOUGH, 2 * len(self._arrivals))

    def unseen(self, *, reads: bool) -> Mask:
        """Return which threads have operations whose completion no wait, for async-groups or at an mbarrier, observed.

        With `reads`, a wait for the source reads of an async-group suffices.
        """
        self._settle()
        return (self.issued > (self.read if reads else self.done)) & (self.noted > self._seen)

    def _settle(self) -> None:
        """Drop mbarrier arrivals whose phase a wait has observed as complete; record their operations in `_seen`."""
        kept = []
        for arrival in self._arrivals:
            mbarrier, phase, warps, lanes, behind = arrival
            if mbarrier.seen < phase:
                kept.append(arrival)
            else:
                self._seen[warps, lanes] = np.maximum(self._seen[warps, lanes], behind)
        self._arrivals = kept

    def commit(self, warps: IntArray, masks: Mask) -> None:
        """Commit the open async-group of each thread in `masks`, which has a row for each of `warps`."""
        self.open[warps] += masks

    def wait(self, warps: IntArray, masks: Mask, latest: int, *, reads: bool) -> None:
        """Mark committed groups of the threads, except the `latest` most recent ones, as waited for.

        With `reads`, mark only their source reads.
        """
        known = self.read if reads else self.done
        known[warps] = np.where(masks, np.maximum(known[warps], self.open[warps] - latest), known[warps])
        if not reads:
            np.maximum(self.read, self.done, out=self.read)
