"""Who has read a strong write: what comes behind such a read comes behind the write, and nothing else does.

A write precedes in causality order what its reader does next, and what that precedes, though the write may not have
been released nor the read have acquired. Manual: "Observation Order", "Causality Order".
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
"""A space, a byte in it, and the warp, lanes, time and instruction that wrote it."""


class Observations:
    """The reads of strong writes that nothing else orders behind these."""

    def __init__(self, clocks: WarpClocks) -> None:
        """Begin with none."""
        self._clocks = clocks
        self._readers: dict[_Write, dict[tuple[int, int], int]] = {}  # by warp and lane the time of their first read
        self._sources: dict[_Write, _Write] = {}  # what updates have read

    def next_wave(self) -> None:
        """Forget warps that are gone."""
        self._readers.clear()
        self._sources.clear()

    def read(self, step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], granule: int) -> None:
        """Note that entries `at` of a step of strong reads read the writes `last`."""
        warps, lanes = step.warps[at].tolist(), step.lanes[at].tolist()
        times = step.entries[at, TIME].tolist()
        for number, write in enumerate(_writes(step, at, last, granule)):
            reader = warps[number], lanes[number]
            source: _Write | None = write
            while source is not None:  # who reads what an update writes observes what that has read, too
                readers = self._readers.setdefault(source, {})
                if reader in readers:  # and knows the sources of that: updates of one time may be each other's
                    break
                readers[reader] = times[number]
                source = self._sources.get(source)

    def update(self, step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], granule: int) -> None:
        """Note that entries `at` of a step update what the writes `last` have left."""
        self.read(step, at, last, granule)
        updates = _writes(step, at, step.entries[at], granule)
        self._sources.update(zip(updates, _writes(step, at, last, granule), strict=True))

    def order(
        self, step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], granule: int
    ) -> NDArray[np.bool_]:
        """Tell for each of the entries `at` whether it comes behind a read of the write in `last`."""
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
