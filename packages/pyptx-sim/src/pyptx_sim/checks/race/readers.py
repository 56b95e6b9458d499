"""The last read of each granule by every warp that can read it: of shared memory, whose possible readers are few."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.checks.race.shadow import LANE, TIME
from pyptx_sim.checks.race.sparse import zeros

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.checks.asynchrony.phases import Phases
    from pyptx_sim.checks.race.clocks import WarpClocks
    from pyptx_sim.observer import Offsets

# The lane, from 0 for several and 1 for lane 0, stands in the low bits of what is kept of a read; the pc above them.
_LANE_BITS: Final = 6
# Above these bits stands the time.
_TIME: Final = 32


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
        # Warp by warp: of most granules few warps read them, and memory that stays zero costs nothing.
        self._reads: NDArray[np.int64] = zeros((self._group, granules), np.int64)
        self._first = np.arange(len(self._clocks.now)) % self._group * granules  # of each warp's row
        self._latest: NDArray[np.int32] = zeros(granules, np.int32)  # no read is later

    def split(self, factor: int) -> None:
        """Make `factor` granules of each."""
        old, latest = self._reads, self._latest
        self.clear(len(latest) * factor)
        touched = np.flatnonzero(latest)  # of a large memory most granules are not read by warps
        for before, reads in zip(old, self._reads, strict=True):
            own = touched[before[touched] > 0]
            reads[(own * factor)[:, None] + np.arange(factor)] = before[own, None]
        self._latest = latest.repeat(factor)

    def enter(self, at: NDArray[np.int64], warps: Offsets, entries: NDArray[np.int32], pc: int) -> None:
        """Keep the reads `entries` of granules `at`, all by the instruction at `pc`."""
        what = (entries[:, TIME].astype(np.int64) << _TIME) + (entries[:, LANE] + ((pc << _LANE_BITS) + 1))
        self._reads.reshape(-1)[self._first.take(warps) + at] = what
        self._latest[at] = np.maximum(self._latest[at], entries[:, TIME].max())

    def unordered(
        self, at: NDArray[np.int64], warps: Offsets, rows: Offsets, lanes: Offsets | None = None
    ) -> Late | None:
        """Return the reads of granules `at` that are not over for `warps`, as far as `rows` know; None for none.

        Those of other lanes of the same warp count only where the lanes are given.
        """
        unsettled = np.flatnonzero(self._latest.take(at) > self._clocks.settled.take(rows))
        if not len(unsettled):
            return None
        at, warps, rows, lanes = (
            at[unsettled],
            warps[unsettled],
            rows[unsettled],
            None if lanes is None else lanes[unsettled],
        )
        first = warps // self._group * self._group
        reads = self._reads.take(at, axis=1).T
        times = reads >> _TIME
        late = self._known(rows, first) < times
        if lanes is None:
            late &= (warps - first)[:, None] != np.arange(self._group)
        if not late.any():
            return None
        entries, readers = np.nonzero(late)
        what = reads[entries, readers] & ((1 << _TIME) - 1)
        lane = (what & (1 << _LANE_BITS) - 1) - 1
        found = Late(entries, first[entries] + readers, lane, what >> _LANE_BITS)
        bad = self._confirmed(found, warps, rows, lanes, times[entries, readers])
        return None if bad is None else replace(bad, entries=unsettled[bad.entries])

    def _known(self, rows: Offsets, first: Offsets) -> NDArray[np.int32]:
        """Return what each row knows of the warps of a group, `[n, group]`; `first` is the first one of each."""
        head = np.flatnonzero(np.diff(rows, prepend=-1))  # accesses come warp by warp
        known = self._clocks.known[rows[head, None], first[head, None] + np.arange(self._group)]
        repeated: NDArray[np.int32] = known.repeat(np.diff(head, append=len(rows)), axis=0)
        return repeated

    def _confirmed(
        self, late: Late, warps: Offsets, rows: Offsets, lanes: Offsets | None, times: NDArray[np.int64]
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
