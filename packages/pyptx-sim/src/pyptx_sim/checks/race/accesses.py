"""Race checks and records of the accesses of warps to shared memory, global memory and memories of extensions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx_sim.checks.race.divisions import Division, SomeStores
from pyptx_sim.checks.race.entries import entries_of, lanes_differ, rises, rules_of
from pyptx_sim.checks.race.lane_masks import bits_of
from pyptx_sim.checks.race.lines import WholeLines
from pyptx_sim.checks.race.matrix_rows import MatrixRows
from pyptx_sim.checks.race.readers import Readers
from pyptx_sim.checks.race.reads import Reads
from pyptx_sim.checks.race.release_clocks import CROWD
from pyptx_sim.checks.race.reports import AccessEvent, Earlier, Race
from pyptx_sim.checks.race.shadow import Shadow
from pyptx_sim.checks.race.tables import COLUMNS, MASK, NOBODY, PC, TIME, WARP, WIDEST_ACCESS, reach_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.checks.asynchrony.phases import Phases
    from pyptx_sim.checks.race.causality import Causality
    from pyptx_sim.checks.race.clocks import WarpClocks
    from pyptx_sim.checks.race.overflow import Overflow
    from pyptx_sim.checks.race.release_clocks import ReleaseClocks
    from pyptx_sim.checks.race.reports import Reports
    from pyptx_sim.checks.race.tables import Reach, Table
    from pyptx_sim.observer import AccessKind, AsyncAccess, AsyncOperations, Offsets, RunView, Space, Stores


_READS = frozenset({"read", "first"})
_WRITES = frozenset({"write", "covered"})
_STRONG = frozenset({"atomic", "strong-read"})


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
        self._judge(shadow, step, "write")
        self._judge(shadow, step, "covered")
        self._judge_more(shadow, step, "covered", shadow.more_writes)
        if kind == "strong-read":
            # a strong read orders the thread's later accesses, not the read itself, after the write
            self._causality.observe(shadow, step)
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
            self._judge(shadow, step, "poll")
            self._judge(shadow, step, "first_poll")
            self._judge_more(shadow, step, "poll", shadow.more_polls)
        if kind == "atomic":
            self._keep_covered(shadow, step)
        else:
            for more in (shadow.more_reads, shadow.more_polls, shadow.more_writes):
                more.drop(step.at)
        shadow.put_write(step.at, step.entries, step.reach)
        shadow.mark_atomic(step.at, atomic=kind == "atomic")
        if not rises(step.at) and (kind == "write" or self._causality.mixed or not self._causality.updates(step.pc)):
            self._judge_within(shadow, step)

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
            if causality.updates(step.pc):
                causality.update(step, np.flatnonzero(mutual), last[mutual], shadow.granule)
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
        return AccessEvent(
            space, kind, at, reach or reach_of(at), count, warps, lanes, rows, entries, pc, self._causality.first_warp
        )

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

    def _judge(self, shadow: Shadow, step: AccessEvent, earlier: Earlier) -> None:
        """Report races of `step` with previous accesses of kind `earlier` to the same bytes."""
        table: Table = getattr(shadow, earlier)
        if table.misses(*step.reach) or self._causality.settled(shadow, table.latest):
            return
        last = table.get(step.at)
        at = self._causality.unsettled(shadow, step, last)
        last = last[at]
        if step.kind in _STRONG and earlier not in _READS:
            mutual = self._causality.mutual(step.pc, step.warps[at], last)
            if earlier == "write":
                mutual &= shadow.atomic[step.at[at]]
            elif earlier == "covered":
                mutual &= self._causality.is_strong(last)
            at, last = at[~mutual], last[~mutual]
        if not len(at):
            return
        self._judge_last(shadow, step, earlier, at, last)

    def _judge_more(self, shadow: Shadow, step: AccessEvent, earlier: Earlier, more: Overflow) -> None:
        """Report races of `step` with previous accesses in the overflow `more`, for which the tables have no room."""
        for at, last in more.find_in_parts(step.at):
            mutual = np.zeros(len(at), np.bool_)
            if step.kind in _STRONG and earlier != "read":
                mutual = self._causality.mutual(step.pc, step.warps[at], last) & self._causality.is_strong(last)
            self._judge_last(shadow, step, earlier, at[~mutual], last[~mutual])

    def _judge_last(
        self, shadow: Shadow, step: AccessEvent, earlier: Earlier, at: NDArray[np.int64], last: NDArray[np.int32]
    ) -> None:
        """Report races of the entries `at` of `step` with the previous accesses `last`."""
        last = self.matrix_rows.narrowed(last, step.at[at], shadow.granule)
        ordered = self._causality.precede(step, at, last, reads=earlier not in _WRITES)
        if earlier in _WRITES and not ordered.all():
            ordered[~ordered] = self._causality.observed(step, at[~ordered], last[~ordered], shadow.granule)
            ordered[~ordered] = self._repeats(step, at[~ordered], last[~ordered], shadow.granule)
        if not ordered.all():
            self._tell(earlier, self._races(step, at[~ordered], last[~ordered], shadow.granule))

    def _races(
        self,
        step: AccessEvent,
        bad: NDArray[np.int64],
        last: NDArray[np.int32],
        granule: int,
        others: Offsets | None = None,
    ) -> Iterator[Race]:
        """Yield a `Race` per rule, of entries `bad` of `step` with `last`; `others` are entry numbers of `last`."""
        for which, rule in rules_of(step, bad, last):
            within = None if others is None else others[which]
            yield Race(step, bad[which], last[which], rule, granule, self.stores, within)

    def _tell(self, earlier: Earlier, races: Iterator[Race]) -> None:
        for race in races:
            self._reports.against(race, earlier)

    def _equal(self, races: Iterator[Race]) -> None:
        """Record races of stores of equal bytes by one instruction in threads of one CTA."""
        for race in races:
            self._reports.record_equal(replace(race, equal=True))

    def _repeats(
        self, step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], granule: int
    ) -> NDArray[np.bool_]:
        """Return, per entry `at[i]`, whether the same instruction of the same CTA stored the same bytes in `last[i]`.

        The race is benign if this holds in every run: the order of the stores does not change the result.
        """
        again: NDArray[np.bool_] = last[:, PC] == step.pc
        again &= self._in_block(step.warps[at], last[:, WARP] - step.first_warp)
        if self.stores is None or not again.any():
            return np.zeros(len(at), np.bool_)
        again[again] = self.stores.unchanged(at[again] // step.granules)
        self._equal(self._races(step, at[again], last[again], granule))
        return again

    def _in_block(self, warps: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
        """Return, per pair of warps, whether both are in one CTA."""
        size = self._view.warps_per_cta
        same: NDArray[np.bool_] = warps // size == others // size
        return same

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
            self._judge_last(shadow, step, "write", np.arange(len(own)), last[own])

    def _judge_within(self, shadow: Shadow, step: AccessEvent) -> None:
        """Report lanes of `step` that write the same bytes; shadow memory has the last of these writes.

        Threads of a CTA may store equal bytes to one location, because the order of such stores does not matter.
        """
        winner = shadow.write.get(step.at)
        lost = np.flatnonzero(lanes_differ(winner, step.entries))
        shadow.more_writes.add(step.at[lost], step.entries[lost])
        if step.kind in _STRONG:
            lost = lost[~self._causality.mutual(step.pc, step.warps[lost], winner[lost])]
        if not len(lost):
            return
        _, which = np.unique(step.at, return_inverse=True)
        others = np.zeros(len(step.at), np.int64)
        others[which.reshape(-1)] = np.arange(len(step.at))
        others = others[which.reshape(-1)[lost]]
        if self.stores is not None:
            own, other = (self.stores.bytes_of(each // step.granules) for each in (lost, others))
            alike = (own == other).all(axis=1)
            alike &= self._in_block(step.warps[lost], winner[lost, WARP] - step.first_warp)
            self._equal(self._races(step, lost[alike], winner[lost[alike]], shadow.granule, others[alike]))
            lost, others = lost[~alike], others[~alike]
        if len(lost):
            self._tell("write", self._races(step, lost, winner[lost], shadow.granule, others))

    def _judge_reads(self, shadow: Shadow, step: AccessEvent) -> None:
        """Report races of the writes of `step` with previous reads."""
        self._judge_more(shadow, step, "read", shadow.more_reads)
        if shadow.readers is None:
            self._judge(shadow, step, "read")
            self._judge(shadow, step, "first")
            return
        late = shadow.readers.unordered(step.at, step.warps, step.rows, step.entries[:, MASK])
        if late is not None:
            self._tell("read", self._races(step, late.entries, late.last, shadow.granule))
