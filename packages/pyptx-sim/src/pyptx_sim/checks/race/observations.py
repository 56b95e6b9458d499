"""Strong reads of strong writes: accesses after such a read happen after the write ("Observation Order").

This holds even if the write is not a release and the read is not an acquire. It orders only this write, not earlier
accesses of the writing thread. Manual: "Observation Order", "Causality Order".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_sim.checks.race.lane_masks import bits_of
from pyptx_sim.checks.race.tables import MASK, PC, TIME, WARP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.checks.race.clocks import WarpClocks
    from pyptx_sim.checks.race.reports import AccessEvent

_Write: TypeAlias = "tuple[str, int, int, int, int, int]"
"""Key of a write: state space, byte offset, and warp, lane mask, time and pc of the writing instruction."""


class Observations:
    """Threads that have read each strong write, for reads that no other order puts after the write."""

    def __init__(self, clocks: WarpClocks) -> None:
        """Start without reads."""
        self._clocks = clocks
        # by write, then by warp and lane of a thread that has read its value: time of the thread's first read
        self._readers: dict[_Write, dict[tuple[int, int], int]] = {}
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
        warps, lanes = step.warps[at].tolist(), step.lanes[at].tolist()
        times = step.entries[at, TIME].tolist()
        for number, write in enumerate(_writes(step, at, last, granule)):
            reader = warps[number], lanes[number]
            source: _Write | None = write
            while source is not None:  # reading an atomic's value also observes the write that the atomic read
                readers = self._readers.setdefault(source, {})
                # The reader is also recorded for the writes that the atomics read in turn. The test ends cycles as
                # well: atomics of one instruction at one time of a warp have equal keys.
                if reader in readers:
                    break
                readers[reader] = times[number]
                source = self._sources.get(source)

    def update(self, step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], granule: int) -> None:
        """Record that entries `at` of `step` are read-modify-writes that have read the writes `last`."""
        self.read(step, at, last, granule)
        updates = _writes(step, at, step.entries[at], granule)
        self._sources.update(zip(updates, _writes(step, at, last, granule), strict=True))

    def order(
        self, step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], granule: int
    ) -> NDArray[np.bool_]:
        """Return, per entry `at[i]` of `step`, whether a strong read of the write `last[i]` happens before it."""
        known = np.zeros(len(at), np.bool_)
        if not self._readers:
            return known
        for number, write in enumerate(_writes(step, at, last, granule)):
            readers = self._readers.get(write)
            if readers:
                known[number] = self._is_behind(step, int(at[number]), readers)
        return known

    def _is_behind(self, step: AccessEvent, entry: int, readers: dict[tuple[int, int], int]) -> bool:
        if (int(step.warps[entry]), int(step.lanes[entry])) in readers:
            return True
        threads = np.array(list(readers), np.int64)
        rows = np.repeat(step.rows[entry], len(threads))
        times = np.fromiter(readers.values(), np.int32, len(readers))
        return bool(self._clocks.orders(rows, threads[:, 0], bits_of(threads[:, 1]), times).any())


def _writes(step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], granule: int) -> list[_Write]:
    places = (step.at[at] * granule).tolist()
    columns = last[:, [WARP, MASK, TIME, PC]].tolist()
    return [(step.space, place, *columns[number]) for number, place in enumerate(places)]
