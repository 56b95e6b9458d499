"""Race checks and records of the accesses of warps to shared memory, global memory and memories of extensions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.events import COLUMNS, MASK, NOBODY, TIME, WARP, AccessEvent, reach_of
from pyptx_sim.happens_before.lane_masks import bits_of
from pyptx_sim.happens_before.release_clocks import CROWD
from pyptx_sim.rules.comparison import Comparison
from pyptx_sim.shadow.divisions import Division, SomeStores
from pyptx_sim.shadow.entries import entries_of, last_of_each, rises
from pyptx_sim.shadow.lines import WholeLines
from pyptx_sim.shadow.matrix_rows import MatrixRows
from pyptx_sim.shadow.readers import Readers
from pyptx_sim.shadow.reads import Reads
from pyptx_sim.shadow.shadow import Shadow
from pyptx_sim.shadow.tables import WIDEST_ACCESS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.events import Reach
    from pyptx_sim.happens_before.causality import Causality
    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.happens_before.phases import Phases
    from pyptx_sim.happens_before.release_clocks import ReleaseClocks
    from pyptx_sim.observer import AccessKind, AsyncAccess, AsyncOperations, Offsets, RunView, Space, Stores
    from pyptx_sim.rules.reports import Reports


class Accesses:
    """Checks the accesses of warps for data races and records them, in shadow memory for each shared address space."""

    def __init__(
        self,
        view: RunView,
        clocks: WarpClocks,
        messages: ReleaseClocks,
        phases: Phases,
        causality: Causality,
        reports: Reports,
    ) -> None:
        """Check the accesses of the run that `view` describes."""
        self._view, self._clocks, self._messages, self._phases, self._reports = view, clocks, messages, phases, reports
        self._causality = causality
        self.matrix_rows = MatrixRows()
        self._comparison = Comparison(view, causality, self.matrix_rows, reports)
        self._reads = Reads(causality)
        self._shadows: dict[Space, Shadow] = {}
        self._divisions: dict[Space, Division] = {}
        self._lines: WholeLines | None = WholeLines(clocks, causality, view.arena_size("global"))
        self._group = view.warps_per_cta * view.cluster_size  # number of warps that can access the same shared memory
        self.stores: Stores | None = None
        """Values that the next accesses store, None if unknown."""
        self.noncoherent = False
        """Whether the next accesses are `ld.global.nc`, which requires memory that the launch does not write."""

    def next_wave(self) -> None:
        """Forget accesses to the shared memory of exited CTAs; recorded accesses to global memory stay."""
        for space, shadow in self._shadows.items():
            if space != "global":
                shadow.clear()
        for space, division in self._divisions.items():
            if space != "global":
                division.clear()

    def parts_of(self, touch: AsyncAccess) -> Iterator[tuple[Shadow, AsyncAccess]]:
        """Yield each `Shadow` of the memory that `touch` accesses, with the part of `touch` in that shadow's pages."""
        if touch.space == "global":
            self._give_lines_up()
        if touch.space in self._shadows:
            yield self._shadows[touch.space], touch
        elif touch.space in self._divisions:
            yield from self._divisions[touch.space].parts_of(touch)

    def untouched(self, touch: AsyncAccess) -> bool:
        """Return True if no 1 KiB page that `touch` overlaps has a conflicting access of a warp; False: unknown."""
        memories = (self._shadows.get(touch.space), self._divisions.get(touch.space))
        lines = self._lines if touch.space == "global" else None
        return all(memory is None or memory.untouched(touch) for memory in (*memories, lines))

    def access(
        self, space: Space, kind: AccessKind, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """Check the accesses of one instruction for races with recorded accesses, then record them."""
        if space == "global" and self._in_lines(kind, offsets, size, warps, lanes, pc):
            return
        if space == "global" and self._lines is not None and not self._lines.leave(offsets, size):
            self._give_lines_up()
        past = self._causality.past
        if kind == "write" and past is not None:
            past.keep(space, offsets, size)
            self._messages.overwritten(space, past.last(offsets))
        elif kind == "write":
            self._messages.overwritten(space, offsets)
        if past is None:
            self._access_parts(space, kind, offsets, size, warps, lanes, pc)
        else:
            shadow = self._shadow(space)
            step = self._step(shadow.granules(offsets, size), space, kind, warps, lanes, pc)
            self._judge_and_enter(shadow, step)
            if kind not in {"read", "strong-read"}:
                entries = step.entries[:: step.granules]
                past.written(space, offsets, entries, self.stores, updates=self._causality.updates(pc))
            past.done()
        self.stores = self.matrix_rows.next = None

    def _access_parts(
        self, space: Space, kind: AccessKind, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """Check and record accesses; each page of the memory belongs to a `Shadow` of one shadow granule width."""
        stores, reach = self.stores, reach_of(offsets)
        for shadow, some in self._division(space).parts(offsets, size, reach):
            if some is None:
                at, there = shadow.fitted(offsets, size), shadow.reach(reach, size)
                step = self._step(at, space, kind, warps, lanes, pc, there)
            else:
                self.stores = None if stores is None else SomeStores(stores, some)
                at = shadow.fitted(offsets[some], size)
                step = self._step(at, space, kind, warps[some], lanes[some], pc)
            self._judge_and_enter(shadow, step)

    def _in_lines(self, kind: AccessKind, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int) -> bool:
        """Check and record global accesses as whole 128-byte lines; return whether `WholeLines` could do that."""
        if self._lines is None or self.noncoherent or self._causality.past is not None:
            return False
        if not self._lines.enter(kind, offsets, size, warps, lanes, pc):
            return False
        if kind == "write":
            self._messages.overwritten("global", offsets)
        self.stores = None
        return True

    def _judge_and_enter(self, shadow: Shadow, step: AccessEvent) -> None:
        kind = step.kind
        if self.noncoherent or kind in {"write", "atomic"}:
            self._judge_noncoherent(shadow, step)
        self._comparison.judge(shadow, step, "write")
        self._comparison.judge(shadow, step, "covered")
        self._comparison.judge_more(shadow, step, "covered", shadow.more_writes)
        if kind == "strong-read":
            # a strong read orders the thread's later accesses, not the read itself, after the write
            last = shadow.write.touched(step.at, step.reach)
            if last is not None:
                self._causality.observe(step, last, shadow.atomic[step.at], shadow.granule)
            self._reads.enter(shadow.poll, shadow.first_poll, shadow.more_polls, step)
            return
        if kind == "read" and shadow.readers is not None:
            shadow.readers.enter(step, shadow.more_reads)
            return
        if kind == "read":
            self._reads.enter(shadow.read, shadow.first, shadow.more_reads, step)
            return
        self._judge_reads(shadow, step)
        if kind == "write" or self._causality.mixed:
            self._comparison.judge(shadow, step, "poll")
            self._comparison.judge(shadow, step, "first_poll")
            self._comparison.judge_more(shadow, step, "poll", shadow.more_polls)
        if kind == "atomic":
            self._keep_covered(shadow, step)
        else:
            for more in (shadow.more_reads, shadow.more_polls, shadow.more_writes):
                more.drop(step.at)
        shadow.put_write(step.at, step.entries, step.reach)
        shadow.mark_atomic(step.at, atomic=kind == "atomic")
        if not rises(step.at) and (kind == "write" or self._causality.mixed or not self._causality.updates(step.pc)):
            self._comparison.judge_within(shadow, step)

    def _judge_noncoherent(self, shadow: Shadow, step: AccessEvent) -> None:
        """Report `ld.global.nc` reads of locations that this launch has written, and writes after such reads."""
        last = (shadow.write if self.noncoherent else shadow.cached).touched(step.at, step.reach)
        if last is not None:
            bad = np.flatnonzero(last[:, WARP] != NOBODY)
            self._reports.noncoherent(step, bad, last[bad], shadow.granule)
        if self.noncoherent:
            shadow.cached.put(step.at, step.entries, step.reach)
            self.noncoherent = False

    def _keep_covered(self, shadow: Shadow, step: AccessEvent) -> None:
        """Keep a write that a strong write replaces in shadow memory, if later accesses may still race with it.

        A morally strong atomic orders the write that it reads before later accesses; a strong store does not.
        """
        last = shadow.write.touched(step.at, step.reach)
        if last is None:
            return
        causality, touched = self._causality, last[:, WARP] != NOBODY
        mutual = touched & shadow.atomic[step.at] & causality.mutual(step.pc, step.warps, last)
        kept = touched & ~mutual
        if not causality.updates(step.pc):
            kept[mutual] = ~causality.precede(step, np.flatnonzero(mutual), last[mutual])
        if causality.mixed and len(step.at) <= CROWD * step.granules:
            # The write replaced in shadow memory may race with a later access of another scope or size.
            kept = touched
        if causality.mixed and causality.updates(step.pc):
            readers = np.flatnonzero(mutual)
            if kept is not touched:  # only the last update of each location is recorded
                readers = np.intersect1d(last_of_each(step.at), readers)
            causality.update(step, readers, last[readers], shadow.granule)
        if kept.any():
            before = shadow.covered.touched(step.at[kept])
            if before is not None:
                others = before[:, WARP] != NOBODY
                shadow.more_writes.add(step.at[kept][others], before[others])
            shadow.covered.put(step.at[kept], last[kept])

    def _step(
        self,
        granules: NDArray[np.int64],
        space: Space,
        kind: AccessKind,
        warps: Offsets,
        lanes: Offsets,
        pc: int,
        reach: Reach | None = None,
    ) -> AccessEvent:
        """Return accesses of one instruction as an `AccessEvent`, with one shadow entry per shadow granule."""
        count = granules.shape[1]
        entries = entries_of(warps, lanes, self._causality.first_warp, self._clocks.now, pc, count)
        self.matrix_rows.enter(entries, lanes, count, pc)
        rows = self._clocks.rows(warps, lanes)
        if count > 1:
            rows = np.repeat(rows, count)
            warps, lanes = np.repeat(warps, count), np.repeat(lanes, count)
        at = granules.ravel()
        reach, first = reach or reach_of(at), self._causality.first_warp
        return AccessEvent(space, kind, at, reach, count, warps, lanes, rows, entries, pc, first, self.stores)

    # --- comparison -----------------------------------------------------------------------------

    def _shadow(self, space: Space) -> Shadow:
        shadow = self._shadows.get(space)
        if shadow is None:
            shadow = self._shadows[space] = self._fresh(space, WIDEST_ACCESS)
        return shadow

    def _division(self, space: Space) -> Division:
        division = self._divisions.get(space)
        if division is None:
            size, make = self._view.arena_size(space), partial(self._fresh, space)
            division = self._divisions[space] = Division(size, make)
        return division

    def _fresh(self, space: Space, granule: int) -> Shadow:
        size = self._view.arena_size(space)
        parts = self._clocks, self._phases, self.matrix_rows, size, self._group
        readers = None if space == "global" else Readers(*parts, keeps=self._view.fences_reads, granule=granule)
        return Shadow(size, readers, granule)

    def _give_lines_up(self) -> None:
        """Stop checking global memory by 128-byte lines: move their shadow entries to shadows with entries per lane."""
        if self._lines is not None and self._lines.used:
            self._lines.move(self._division("global"))
            self._lines = None

    def judge_issuers(self, work: AsyncOperations, touch: AsyncAccess, shadow: Shadow) -> None:
        """Report races of an asynchronous access with writes by other lanes of the warp that issues the operation."""
        granules = shadow.granules(touch.offsets, touch.size)
        at = granules.reshape(-1)
        last = shadow.write.touched(at)
        if last is None:
            return
        warps, masks, owners = work.warps, bits_of(work.lanes), touch.owners[:, None]
        by_piece = last.reshape(*granules.shape, COLUMNS)
        mine = by_piece[..., WARP] == (warps + self._causality.first_warp)[owners]
        own = np.flatnonzero(mine & (by_piece[..., MASK] != masks[owners]))
        by, there = touch.owners[own // granules.shape[1]], last[own]
        rows = self._clocks.rows(warps, work.lanes)[by]
        late = ~self._clocks.orders_within(rows, warps[by], masks[by], there[:, MASK], there[:, TIME])
        if late.any():
            kind: AccessKind = "write" if touch.writes else "read"
            own, by = own[late], by[late]
            step = self._step(at[own, None], touch.space, kind, warps[by], work.lanes[by], work.pc)
            self._comparison.judge_last(shadow, step, "write", np.arange(len(own)), last[own])

    def _judge_reads(self, shadow: Shadow, step: AccessEvent) -> None:
        """Report races of the writes of `step` with previous reads."""
        self._comparison.judge_more(shadow, step, "read", shadow.more_reads)
        if shadow.readers is None:
            self._comparison.judge(shadow, step, "read")
            self._comparison.judge(shadow, step, "first")
            return
        late = shadow.readers.unordered(step.at, step.warps, step.rows, step.entries[:, MASK])
        if late is not None:
            self._comparison.report("read", step, late.entries, late.last, shadow.granule)
