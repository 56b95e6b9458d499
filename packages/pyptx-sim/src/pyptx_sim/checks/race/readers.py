"""The last reads of each granule by every warp that can read it: of shared memory, whose possible readers are few."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.checks.race.entries import by_warp_and_granule, lanes_differ, rises
from pyptx_sim.checks.race.shadow import COLUMNS, MASK, TIME, Table
from pyptx_sim.checks.race.sparse import zeros

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.checks.asynchrony.phases import Phases
    from pyptx_sim.checks.race.clocks import WarpClocks
    from pyptx_sim.checks.race.reports import Step
    from pyptx_sim.checks.race.shadow import Overflow
    from pyptx_sim.observer import Offsets


@dataclass(frozen=True, slots=True)
class Late:
    """Reads that are not ordered before a step's entries: number i was by `readers[i]`, as in `last[i]`."""

    entries: NDArray[np.int64]
    readers: NDArray[np.int64]
    last: NDArray[np.int32]


class Readers:
    """The last reads of granules, a row for each warp that reads them; `group` warps reach the same memory.

    Rows lie warp by warp: of most granules few warps read them, and memory that stays zero costs nothing.
    """

    def __init__(self, clocks: WarpClocks, phases: Phases, granules: int, group: int) -> None:
        """Start with granules that nobody has read."""
        self._clocks = clocks
        self._phases = phases
        self._group = group
        self._reads = Table(group * granules)
        self._latest: NDArray[np.int32] = zeros(granules, np.int32)  # no read is later
        self._place()

    def clear(self) -> None:
        """Forget every read."""
        self._reads.clear()
        self._latest[:] = 0

    def _place(self) -> None:
        """Note where the rows of each warp begin."""
        self._first = np.arange(len(self._clocks.now)) % self._group * len(self._latest)

    def split(self, factor: int) -> None:
        """Make `factor` granules of each."""
        read = np.flatnonzero(self._latest)  # of a large memory warps do not read most
        at = (np.arange(self._group)[:, None] * len(self._latest) + read).reshape(-1)
        rows = self._reads.get(at)
        kept = np.flatnonzero(rows[:, TIME])
        parts = at[kept, None] * factor + np.arange(factor)
        self._reads = Table(self._group * len(self._latest) * factor)
        if len(kept):
            self._reads.put(parts.reshape(-1), rows[kept].repeat(factor, axis=0))
        self._latest = self._latest.repeat(factor)
        self._place()

    def enter(self, step: Step, more: Overflow) -> None:
        """Keep reads; `more` takes what a warp has read before, if nothing orders that before what it reads now."""
        at = self._first.take(step.warps) + step.at
        latest = self._latest.take(step.at)
        again = np.flatnonzero(latest > self._clocks.settled.take(step.rows))
        last = self._reads.get(at[again])
        self._latest[step.at] = np.maximum(latest, step.entries[:, TIME].max())
        self._reads.put(at, step.entries)
        apart = rises(at) or rises(step.warps * len(self._latest) + step.at)
        if not apart and lanes_differ(self._reads.get(at), step.entries).any():
            step, some = by_warp_and_granule(step)
            places = np.full(len(at), -1)
            places[again] = np.arange(len(again))
            at, places = at[some], places[some]
            again = np.flatnonzero(places >= 0)
            last = last[places[again]]
            self._reads.put(at, step.entries)
        read = np.flatnonzero(last[:, TIME] > self._clocks.settled.take(step.rows[again]))
        if len(read) and self._read_again(step, again[read], last[read], more):
            self._reads.put(at, step.entries)

    def _read_again(self, step: Step, again: NDArray[np.int64], last: NDArray[np.int32], more: Overflow) -> bool:
        """Let entries stand for the `last` reads, too, where those were at the same time; else keep these in `more`.

        Tell whether entries have changed.
        """
        new = step.entries[again]
        gone = last[:, MASK] & ~new[:, MASK] != 0
        now = gone & (last[:, TIME] == new[:, TIME])
        step.entries[again[now], MASK] |= last[now, MASK]
        before = np.flatnonzero(gone & ~now)
        if len(before):
            at, last = again[before], last[before]
            there = step.rows[at], step.warps[at], step.entries[at, MASK], last[:, MASK], last[:, TIME]
            unordered = ~self._clocks.orders_within(*there)
            more.add(step.at[at[unordered]], last[unordered])
        return bool(now.any())

    def of(self, at: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """Yield which of the granules `at` a warp has read, and the entries of that, warp by warp."""
        for first in range(0, self._group * len(self._latest), len(self._latest)):
            last = self._reads.touched(at + first)
            if last is not None:
                read = np.flatnonzero(last[:, TIME])
                yield read, last[read]

    def unordered(self, at: NDArray[np.int64], warps: Offsets, rows: Offsets, masks: NDArray[np.int32]) -> Late | None:
        """Return the reads of granules `at` that are not over for lanes of `warps`, as far as `rows` know, or None."""
        unsettled = np.flatnonzero(self._latest.take(at) > self._clocks.settled.take(rows))
        if not len(unsettled):
            return None
        warps, rows = warps[unsettled], rows[unsettled]
        first = warps // self._group * self._group
        places = at[unsettled] + (np.arange(self._group) * len(self._latest))[:, None]
        reads = self._reads.get(places.reshape(-1)).reshape(self._group, -1, COLUMNS)
        readers, entries = np.nonzero(reads[:, :, TIME] > self._known(rows, first).T)
        if not len(entries):
            return None
        found = Late(entries, first[entries] + readers, reads[readers, entries])
        bad = self._confirmed(found, warps, rows, masks[unsettled])
        return None if bad is None else replace(bad, entries=unsettled[bad.entries])

    def _known(self, rows: Offsets, first: Offsets) -> NDArray[np.int32]:
        """Return what each row knows of the warps of a group, `[n, group]`; `first` is the first one of each."""
        head = np.flatnonzero(np.diff(rows, prepend=-1))  # accesses come warp by warp
        known = self._clocks.known[rows[head, None], first[head, None] + np.arange(self._group)]
        repeated: NDArray[np.int32] = known.repeat(np.diff(head, append=len(rows)), axis=0)
        return repeated

    def _confirmed(self, late: Late, warps: Offsets, rows: Offsets, masks: NDArray[np.int32]) -> Late | None:
        """Return what of `late` no lane has told of by itself, and what no scope was too narrow for."""
        clocks, over, rows = self._clocks, self._phases.over, rows[late.entries]
        own = np.where(late.readers == warps[late.entries], masks[late.entries], 0)
        readers, times = late.last[:, MASK], late.last[:, TIME]
        held = clocks.orders_within(rows, late.readers, own, readers, times)
        if over is not None:
            held |= over.hold(clocks.known, rows, late.readers, readers & ~own, times)
        if held.all():
            return None
        bad = ~held
        return Late(late.entries[bad], late.readers[bad], late.last[bad])
