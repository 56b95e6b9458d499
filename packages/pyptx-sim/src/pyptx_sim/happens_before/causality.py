"""Causality order of accesses to the same bytes, by vector clocks and observation; morally strong accesses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.events import MASK, NOBODY, PC, TIME, WARP, AccessEvent
from pyptx_sim.happens_before.lane_masks import bits_of, own_lanes
from pyptx_sim.happens_before.observations import Observations
from pyptx_sim.happens_before.release_clocks import CROWD, WIDEST, level_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.happens_before.phases import Phases
    from pyptx_sim.happens_before.read_candidates import OlderWrites
    from pyptx_sim.happens_before.release_clocks import ReleaseClocks
    from pyptx_sim.observer import Offsets, Order, Space


class Causality:
    """Decides whether an earlier access happens before a later one, and whether strong accesses are morally strong."""

    def __init__(self, clocks: WarpClocks, messages: ReleaseClocks, phases: Phases, *, mixed: bool) -> None:
        """Start without accesses; `mixed`: the program has strong accesses of `.cta` or `.cluster` scope."""
        self._clocks, self._messages, self._phases = clocks, messages, phases
        self._observed = Observations(clocks)
        # scope level and size of the strong accesses of each instruction, by pc
        self._levels: dict[int, tuple[int, int]] = {}
        self._updates: set[int] = set()  # pcs of read-modify-write instructions
        self.mixed = mixed
        """Whether two strong accesses of the run may lack moral strength: scopes below `.gpu`, or different sizes."""
        self.past: OlderWrites | None = None
        """Older writes that reads may return; None if reads return the last write only."""

    @property
    def first_warp(self) -> int:
        """Number of the first warp of this wave of CTAs; warps are numbered through all waves."""
        return self._clocks.first_warp

    def next_wave(self) -> None:
        """Forget observations by warps of the last wave of CTAs, and older values of its shared memory."""
        self._observed.next_wave()
        if self.past is not None:
            self.past.next_wave()

    def updates(self, pc: int) -> bool:
        """Return whether the instruction at `pc` is a read-modify-write."""
        return pc in self._updates

    def strong(self, order: Order, size: int, pc: int) -> None:
        """Record the scope and the size of the strong accesses of the instruction at `pc`."""
        level = level_of(order.scope)
        if pc not in self._levels:
            self._levels[pc] = level, size
            if order.reads and order.writes:
                self._updates.add(pc)
            self.mixed |= level < WIDEST or any(size != other for _, other in self._levels.values())

    def mutual(self, pc: int, warps: NDArray[np.int64], last: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return, per entry, whether two strong accesses have equal sizes and scopes that include both warps.

        Entry i compares the access of the instruction at `pc` by `warps[i]` with the shadow entry `last[i]`. Manual:
        "Memory Consistency Model", "Morally-strong operations".
        """
        if not self.mixed or not len(last):
            return np.ones(len(last), np.bool_)
        pcs, which = np.unique(last[:, PC], return_inverse=True)
        own = self._levels.get(pc, (WIDEST, 0))
        others = [self._levels.get(at, own) for at in pcs.tolist()]
        levels = np.array([min(own[0], level) for level, _ in others])[which.reshape(-1)]
        alike = np.array([size == own[1] for _, size in others])[which.reshape(-1)]
        return alike & self._messages.within(levels, warps, last[:, WARP].astype(np.int64) - self.first_warp)

    def ordered(
        self, rows: NDArray[np.int64], warps: NDArray[np.int64], last: NDArray[np.int32], *, reads: bool = False
    ) -> NDArray[np.bool_]:
        """Return, per shadow entry in `last`, whether its access happens before the next access of `warps[i]`.

        `rows` are the vector clocks of the accessing lanes. With `reads`, the entries in `last` are reads, which only
        need to be complete. Accesses by the same warp count as ordered.
        """
        others = last[:, WARP].astype(np.int64) - self.first_warp
        here = np.maximum(others, 0)
        ordered = self._clocks.orders(rows, here, last[:, MASK], last[:, TIME])
        ordered |= warps == others
        if reads and self._phases.over is not None:
            ordered |= self._phases.over.hold(self._clocks.known, rows, here, last[:, MASK], last[:, TIME])
        if others.min(initial=0) < 0:
            gone = others < 0
            ordered[gone] = self._clocks.retired.hold(
                rows[gone], last[gone, WARP].astype(np.int64), last[gone, MASK], last[gone, TIME]
            )
        return ordered

    def precede(
        self, step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], *, reads: bool = False
    ) -> NDArray[np.bool_]:
        """Return, per shadow entry in `last`, whether its access happens before entry `at[i]` of `step`.

        An access by another lane of the same warp is ordered only if the two lanes have synchronized. With `reads`, the
        entries in `last` are reads, which only need to be complete.
        """
        rows, warps, mine = step.rows[at], step.warps[at], step.entries[at]
        before = self.ordered(rows, warps, last, reads=reads)
        own = np.flatnonzero((last[:, WARP] == mine[:, WARP]) & (last[:, MASK] != mine[:, MASK]))
        if len(own):
            there = last[own]
            masks = own_lanes(mine[own, MASK], there[:, MASK])
            before[own] = self._clocks.orders_within(rows[own], warps[own], masks, there[:, MASK], there[:, TIME])
        return before

    def settled(self, time: int) -> bool:
        """Return True if `WarpClocks.settled` orders all shared memory accesses up to `time` before all warps.

        False: vector clocks must be compared.
        """
        return time <= int(self._clocks.settled.min())

    def unsettled(self, step: AccessEvent, last: NDArray[np.int32], *, shared: bool) -> NDArray[np.int64]:
        """Return the entries of `step` whose clock component for the warp of `last[i]` is below the time of `last[i]`.

        Entries whose `last` access is by a warp of an earlier wave of CTAs are always returned. `shared`: the memory is
        not global, so that `WarpClocks.settled` applies.
        """
        times = last[:, TIME]
        at = np.flatnonzero(self._clocks.unsettled(times, step.rows) if shared else times)
        if not len(at):
            return at
        others = last[at, WARP] - step.first_warp
        late = self._clocks.known[step.rows[at], np.maximum(others, 0)] < times[at]
        unsettled: NDArray[np.int64] = at[late | (others < 0)]
        return unsettled

    # --- observation ----------------------------------------------------------------------------

    def observe(self, step: AccessEvent, last: NDArray[np.int32], strong: NDArray[np.bool_], granule: int) -> None:
        """Record the strong reads of `step` that read strong writes which do not happen before them.

        Entry i reads the write `last[i]`, or an older one; `strong[i]`: the last write of its granule is strong.
        """
        if self.past is not None and len(step.at) <= CROWD * step.granules:
            self._observe_past(self.past, step, last, granule)
        else:
            mutual = (last[:, WARP] != NOBODY) & strong & self.mutual(step.pc, step.warps, last)
            self._observe(step, np.flatnonzero(mutual), last[mutual], granule)

    def _observe(self, step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], granule: int) -> None:
        fresh = ~self.precede(step, at, last)
        if fresh.any():
            self._observed.read(step, at[fresh], last[fresh], granule)

    def _observe_past(self, past: OlderWrites, step: AccessEvent, last: NDArray[np.int32], granule: int) -> None:
        """Record the strong reads of `step` in a run whose reads may return older writes than `last`."""
        reads: list[int] = []
        writes: list[NDArray[np.int32]] = []
        offsets = (step.at[:: step.granules] * granule).tolist()
        for first, offset in zip(range(0, len(step.at), step.granules), offsets, strict=True):
            source = past.source(step.space, offset)
            for entry in last[[first]] if source is None else source:
                if entry[WARP] != NOBODY and int(entry[PC]) in self._levels:
                    reads.append(first)
                    writes.append(entry)
        if reads:
            at = (np.array(reads)[:, None] + np.arange(step.granules)).reshape(-1)
            read = np.repeat(writes, step.granules, axis=0)
            strong = self.mutual(step.pc, step.warps[at], read)
            self._observe(step, at[strong], read[strong], granule)

    def update(self, step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], granule: int) -> None:
        """Record that entries `at` of `step` are read-modify-writes that read the morally strong writes `last`."""
        self._observed.update(step, at, last, granule)

    @property
    def observes(self) -> bool:
        """Whether `observed` may be true for any access."""
        return len(self._observed) > 0

    def observed(
        self, step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], granule: int
    ) -> NDArray[np.bool_]:
        """Return, per entry `at[i]` of `step`, whether a strong read of the write `last[i]` happens before it."""
        return self._observed.order(step, at, last, granule)

    def is_strong(self, last: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return, per shadow entry in `last`, whether its instruction has strong accesses."""
        return np.isin(last[:, PC], np.fromiter(self._levels, np.int32, len(self._levels)))

    def knows(self, space: Space, offset: int, warps: Offsets, lanes: Offsets, entries: NDArray[np.int32]) -> bool:
        """Return whether any of some lanes knows one of the writes `entries`, which are shadow entries.

        A lane `lanes[i]` of `warps[i]` knows a write that happens before its next access, or that it has observed.
        """
        last = np.tile(entries, (len(warps), 1))
        warps, lanes = np.repeat(warps, len(entries)), np.repeat(lanes, len(entries))
        rows = self._clocks.rows(warps, lanes)
        ordered = self.ordered(rows, warps, last)
        own = np.flatnonzero(last[:, WARP] == warps + self.first_warp)
        if len(own):
            there, mine = last[own], bits_of(lanes[own])
            ordered[own] = self._clocks.orders_within(rows[own], warps[own], mine, there[:, MASK], there[:, TIME])
        if ordered.any():
            return True
        at = np.full(len(warps), offset)
        step = AccessEvent(space, "read", at, (offset, offset), 1, warps, lanes, rows, last, 0, self.first_warp)
        return bool(self._observed.order(step, np.arange(len(at)), last, 1).any())
