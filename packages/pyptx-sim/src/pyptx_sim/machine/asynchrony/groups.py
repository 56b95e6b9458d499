"""Async-groups; each thread has its own groups. Manual: "Async-group mechanism"."""

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
    operations="cp.async copies",
    unfinished="unfinished-copy",
    tells="lanes",
    wait="cp.async.wait_group, then bar.sync (__syncthreads) for the other readers",
)

_ENOUGH: Final = 64  # least number of recorded arrivals above which `_settle` is called


class Arrival(NamedTuple):
    """Arrival of threads at an mbarrier, triggered when their first `behind` operations had completed.

    If a thread observes completion of the phase, these operations are known to be complete. `Groups.noted` numbers the
    operations.
    """

    mbarrier: Mbarrier
    phase: int
    warps: IntArray
    lanes: IntArray
    behind: int


class Groups:
    """Async-groups of one kind, for every thread of a wave, `[warps, 32]`.

    `open`: number of the thread's current group, which receives its operations. Groups below `done` have been waited
    for; groups below `read` have been waited for as far as reading their sources. All operations belong to groups below
    `issued`; `issued_at` is the pc of the last one. `count`: number of operations issued by all threads. `noted`:
    number of the thread's last operation. `_seen`: number of the last operation whose completion a wait at an mbarrier
    observed. `_arrivals`: arrivals that waits may still observe.
    """

    __slots__ = ("_arrivals", "_enough", "_seen", "count", "done", "issued", "issued_at", "noted", "open", "read")

    def __init__(self, height: int) -> None:
        """Start with empty groups for `height` warps."""
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
        """Record one operation of each given thread; return the number of each thread's open group."""
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
        """Return the threads with operations whose completion no wait, for groups or at an mbarrier, has observed."""
        self._settle()
        return (self.issued > (self.read if reads else self.done)) & (self.noted > self._seen)

    def _settle(self) -> None:
        """Drop the arrivals whose phase completion a wait has observed; record their operations in `_seen`."""
        kept = []
        for arrival in self._arrivals:
            mbarrier, phase, warps, lanes, behind = arrival
            if mbarrier.seen < phase:
                kept.append(arrival)
            else:
                self._seen[warps, lanes] = np.maximum(self._seen[warps, lanes], behind)
        self._arrivals = kept

    def commit(self, warps: IntArray, masks: Mask) -> None:
        """Close the current group of each thread in `masks`, which has a row for each of `warps`."""
        self.open[warps] += masks

    def wait(self, warps: IntArray, masks: Mask, latest: int, *, reads: bool) -> None:
        """Mark all groups of the threads, except the `latest` most recent ones, as waited for."""
        known = self.read if reads else self.done
        known[warps] = np.where(masks, np.maximum(known[warps], self.open[warps] - latest), known[warps])
        if not reads:
            np.maximum(self.read, self.done, out=self.read)
