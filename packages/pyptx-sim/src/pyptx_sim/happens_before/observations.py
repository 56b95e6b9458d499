"""Strong reads of strong writes: accesses after such a read happen after the write ("Observation Order").

This holds even if the write is not a release and the read is not an acquire. It orders only this write, not earlier
accesses of the writing thread. Manual: "Observation Order", "Causality Order".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_sim.events import MASK, PC, TIME, WARP
from pyptx_sim.happens_before.lane_masks import LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.events import AccessEvent
    from pyptx_sim.happens_before.clocks import WarpClocks

_Write: TypeAlias = "tuple[str, int, int, int, int, int]"
"""Key of a write: state space, byte offset, and warp, lane mask, time and pc of the writing instruction."""


class Observations:
    """Threads that have read each strong write, for reads that no other order puts after the write."""

    def __init__(self, clocks: WarpClocks) -> None:
        """Start without reads."""
        self._clocks = clocks
        # by write, then by number of a thread that has read its value: time of the thread's first read
        self._readers: dict[_Write, dict[int, int]] = {}
        self._sources: dict[_Write, _Write] = {}  # by read-modify-write: the write whose value it has read

    def __len__(self) -> int:
        """Return the number of strong writes that a thread has read."""
        return len(self._readers)

    def next_wave(self) -> None:
        """Forget the reads by warps of the last wave of CTAs."""
        self._readers.clear()
        self._sources.clear()

    def read(self, step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], granule: int) -> None:
        """Record that entries `at` of `step`, which are strong reads, have read the writes `last`."""
        threads, times = _threads(step, at).tolist(), step.entries[at, TIME].tolist()
        for reader, time, write in zip(threads, times, _writes(step, at, last, granule), strict=True):
            source: _Write | None = write
            while source is not None:  # reading an atomic's value also observes the write that the atomic read
                readers = self._readers.setdefault(source, {})
                # The reader is also recorded for the writes that the atomics read in turn. The test ends cycles as
                # well: atomics of one instruction at one time of a warp have equal keys.
                if reader in readers:
                    break
                readers[reader] = time
                source = self._sources.get(source)

    def update(self, step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], granule: int) -> None:
        """Record that entries `at` of `step` are read-modify-writes that have read the writes `last`."""
        updates = _writes(step, at, step.entries[at], granule)
        self._sources.update(zip(updates, _writes(step, at, last, granule), strict=True))
        self.read(step, at, last, granule)

    def order(
        self, step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], granule: int
    ) -> NDArray[np.bool_]:
        """Return, per entry `at[i]` of `step`, whether a strong read of the write `last[i]` happens before it."""
        known = np.zeros(len(at), np.bool_)
        if not self._readers:
            return known
        keys = np.ascontiguousarray(np.column_stack((step.at[at], last)))
        _, first, which = np.unique(keys.view(f"V{keys[0].nbytes}"), return_index=True, return_inverse=True)
        members = which.reshape(-1).argsort(kind="stable")
        ends = np.cumsum(np.bincount(which.reshape(-1)))
        writes = _writes(step, at[first], last[first], granule)
        for write, some in zip(writes, np.split(members, ends[:-1]), strict=True):
            readers = self._readers.get(write)
            if readers:
                known[some] = self._are_behind(step, at[some], readers)
        return known

    def _are_behind(self, step: AccessEvent, at: NDArray[np.int64], readers: dict[int, int]) -> NDArray[np.bool_]:
        """Return, per entry `at[i]` of `step`, whether its thread is a reader, or a reader's read happens before it."""
        rows, which = np.unique(step.rows[at], return_inverse=True)
        threads = np.fromiter(readers, np.int64, len(readers))
        times = np.fromiter(readers.values(), np.int32, len(readers))
        seen = self._clocks.own.seen(self._clocks.known, rows, threads // LANES, threads % LANES)
        behind: NDArray[np.bool_] = np.logical_or.reduce(seen >= times, axis=1)[which.reshape(-1)]
        late = np.flatnonzero(~behind)
        behind[late] = [thread in readers for thread in _threads(step, at[late]).tolist()]
        return behind


def _threads(step: AccessEvent, at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, per entry `at[i]` of `step`, the number of its thread among those of the wave of CTAs."""
    return np.asarray(step.warps[at] * LANES + step.lanes[at])


def _writes(step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], granule: int) -> list[_Write]:
    places = (step.at[at] * granule).tolist()
    columns = last[:, [WARP, MASK, TIME, PC]].tolist()
    return [(step.space, place, *columns[number]) for number, place in enumerate(places)]
