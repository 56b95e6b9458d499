"""The last read of each granule by every warp that can read it: of shared memory, whose possible readers are few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.checks.race.shadow import LANE, TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.checks.asynchrony.phases import Phases
    from pyptx_sim.checks.race.clocks import WarpClocks
    from pyptx_sim.observer import Offsets

# The lane, from 0 for several and 1 for lane 0, stands in the low bits of what is kept of a read; the pc above them.
_LANE_BITS: Final = 6


@dataclass(frozen=True, slots=True)
class Late:
    """Reads that are not ordered before a step's entries: number i was by `readers[i]` at `pcs[i]`."""

    entries: NDArray[np.int64]
    readers: NDArray[np.int64]
    lanes: NDArray[np.int64]
    pcs: NDArray[np.int64]


class Readers:
    """Tables of the times at which warps have read granules, and of where; `group` warps reach the same memory."""

    def __init__(self, clocks: WarpClocks, phases: Phases, granules: int, group: int) -> None:
        """Start with granules that nobody has read."""
        self._clocks = clocks
        self._phases = phases
        self._group = group
        self.clear(granules)

    def clear(self, granules: int) -> None:
        """Forget every read; from now on there are so many granules."""
        self._time = np.zeros((granules, self._group), np.int32)
        self._what = np.zeros((granules, self._group), np.int32)

    def split(self, factor: int) -> None:
        """Make `factor` granules of each."""
        self._time = np.repeat(self._time, factor, axis=0)
        self._what = np.repeat(self._what, factor, axis=0)

    def enter(self, at: NDArray[np.int64], warps: Offsets, entries: NDArray[np.int32], pc: int) -> None:
        """Keep the reads `entries` of granules `at`, all by the instruction at `pc`."""
        place = at * self._group + warps % self._group
        self._time.reshape(-1)[place] = entries[:, TIME]
        self._what.reshape(-1)[place] = entries[:, LANE] + ((pc << _LANE_BITS) + 1)

    def unordered(
        self, at: NDArray[np.int64], warps: Offsets, rows: Offsets, lanes: Offsets | None = None
    ) -> Late | None:
        """Return the reads of granules `at` that are not over for `warps`, as far as `rows` know; None for none.

        Those of other lanes of the same warp count only where the lanes are given.
        """
        times = self._time[at]
        if not times.any():
            return None
        clocks = self._clocks
        members = (warps // self._group * self._group)[:, None] + np.arange(self._group)
        late = (times > 0) & (clocks.known[rows[:, None], members] < times)
        if lanes is None:
            late &= members != warps[:, None]
        if not late.any():
            return None
        entries, readers = np.nonzero(late)
        what = self._what[at[entries], readers]
        found = Late(entries, members[entries, readers], (what & (1 << _LANE_BITS) - 1) - 1, what >> _LANE_BITS)
        return self._confirmed(found, warps, rows, lanes, times[entries, readers])

    def _confirmed(
        self, late: Late, warps: Offsets, rows: Offsets, lanes: Offsets | None, times: NDArray[np.int32]
    ) -> Late | None:
        """Return what of `late` no lane has told of by itself, and what no scope was too narrow for."""
        clocks, over = self._clocks, self._phases.over
        rows, own = rows[late.entries], late.readers == warps[late.entries]
        held = np.zeros(len(own), np.bool_)
        for here, several in ((own, 1), (~own, 2)):
            if here.any():
                held[here] = clocks.own.hold(
                    clocks.known, rows[here], late.readers[here], late.lanes[here], times[here], several=several
                )
        if lanes is not None:
            held |= own & (late.lanes == lanes[late.entries])
        if over is not None:
            held |= over.hold(clocks.known, rows, late.readers, late.lanes, times)
        if held.all():
            return None
        bad = ~held
        return Late(late.entries[bad], late.readers[bad], late.lanes[bad], late.pcs[bad])
