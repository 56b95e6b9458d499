"""Races of asynchronous operations with accesses of warps and with each other, and missing proxy fences.

An asynchronous operation may happen at any time between its issue and a wait for its completion. So it is compared with
earlier accesses at its issue, and recorded for comparison with later ones. The time at which the simulator performs it
does not matter.

`Marks` has the recorded operations, in shadow granules as wide as their accesses, which often are kilobytes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pyptx_sim.events import ATOMIC, ISSUER, NOBODY, PC, WARP
from pyptx_sim.happens_before.async_clocks import AsyncClocks
from pyptx_sim.happens_before.columns import Columns
from pyptx_sim.happens_before.lane_masks import LANES, bits_of
from pyptx_sim.happens_before.seen_phases import SeenPhases
from pyptx_sim.rules.repeated_copies import ONE_THREAD
from pyptx_sim.shadow.async_shadow import Entries, Marks, granules_of, late

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Unpack

    from numpy.typing import NDArray

    from pyptx_sim.extension.rule import FindingDetails
    from pyptx_sim.extension.space import Proxy
    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.happens_before.phases import Phases
    from pyptx_sim.happens_before.seen_phases import Seen
    from pyptx_sim.observer import AccessKind, AsyncAccess, AsyncOperations, Masks, Offsets, RunView, Space
    from pyptx_sim.shadow.async_shadow import Granules, Layer


class Report(Protocol):
    """Function that reports findings (`Reports.report`)."""

    def __call__(
        self, rule: str, message: str, pc: int, other_pc: int | None, /, **details: Unpack[FindingDetails]
    ) -> None:
        """Report a finding about the instruction at `pc` and, unless None, the one at `other_pc`."""
        ...


class AsyncRaces:
    """Compares accesses of warps, and asynchronous operations, with recorded asynchronous operations."""

    def __init__(self, view: RunView, clocks: WarpClocks, phases: Phases, report: Report) -> None:
        """Check the run that `view` describes; `clocks` are the vector clocks of its warps."""
        self._view = view
        self._clocks = clocks
        self._report = report
        self._marks: dict[Space, Marks] = {}
        self._told = False  # whether any asynchronous read of shared memory signals its completion on an mbarrier
        # by proxy and state space: clock columns for the accesses that are visible to the proxy
        self._proxies: dict[tuple[Proxy, Space], Columns] = {}
        self.seen = SeenPhases()
        self.agents = AsyncClocks(clocks, phases, view.warps, view.warps_per_cta)

    def next_wave(self) -> None:
        """Forget the operations of the last wave of CTAs, which have completed; those on global memory stay."""
        self._marks = {space: marks for space, marks in self._marks.items() if space == "global"}
        self._clocks.retired.keep_lanes(self.agents.lanes())
        for marks in self._marks.values():
            marks.next_wave(self._clocks.retired.rename)
        self._clocks.retired.forget_agents()
        self._told = False
        self.agents.next_wave()
        self.seen.next_wave()

    # --- accesses of warps ----------------------------------------------------------------------

    def check_access(
        self, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int, kind: AccessKind
    ) -> None:
        """Check accesses of warps against asynchronous operations that may be outstanding."""
        marks = self._marks.get(space)
        if marks is not None:
            writes = kind in {"write", "atomic"}
            entries = self._entries(space, offsets, size, warps, lanes, pc, atomic=kind == "atomic")
            self._against(marks, entries, "write" if writes else "read", writes=writes)

    def check_free(
        self, rule: str, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """Report memory that lanes free while outstanding asynchronous operations may use it."""
        marks = self._marks.get(space)
        if marks is not None:
            entries = self._entries(space, offsets, size, warps, lanes, pc, atomic=False)
            freeing = f"{'.'.join(self._view.opcode(pc)[:2])} of {{}} while it is"
            self._compare(marks.write, entries, rule, f"{freeing} being written", "free")
            self._compare_reads(marks, entries, rule, f"{freeing} being read", "free")

    def _entries(
        self,
        space: Space,
        offsets: Offsets,
        size: int,
        warps: Offsets,
        lanes: Offsets,
        pc: int,
        *,
        atomic: bool,
    ) -> Entries:
        """Return accesses of lanes as `Entries`, with the vector clocks of the lanes."""
        rows, owners = self._clocks.rows(warps, lanes), np.arange(len(offsets))
        return Entries(space, offsets, size, owners, warps, self._clocks.known, rows, pc, atomic, lanes)

    def _against(self, marks: Marks, entries: Entries, does: str, *, writes: bool) -> None:
        message = f"{does} {'to' if writes else 'of'} {{}} before the asynchronous operation that"
        self._compare(marks.write, entries, "read-before-wait", f"{message} writes it completes", does)
        if writes:
            self._compare_reads(marks, entries, "early-reuse", f"{message} reads it completes", does)

    def _compare_reads(self, marks: Marks, entries: Entries, rule: str, message: str, does: str) -> None:
        for layer in marks.reads:
            self._compare(layer, entries, rule, message, does)
        if len(marks.more_reads):
            granules = entries.granules(marks.granule)
            for found in marks.more_reads.find_in_parts(granules.at):
                if self._check(entries, granules, marks.granule, *found, rule, message, does, reads=True):
                    return

    def _compare(self, layer: Layer, entries: Entries, rule: str, message: str, does: str) -> None:
        if layer.table.misses(*entries.reach(layer.granule)):
            return
        reads = not layer.writes
        summary = layer.at_a_glance(entries)
        if summary is not None and not self._accused(entries, *summary, reads=reads).any():
            return
        granules = entries.granules(layer.granule)
        bad = np.flatnonzero(late(layer.table, entries, granules))
        if len(bad):
            last = layer.table.get(granules.at[bad])
            self._check(entries, granules, layer.granule, bad, last, rule, message, does, reads=reads)

    def _check(
        self,
        entries: Entries,
        granules: Granules,
        granule: int,
        which: NDArray[np.int64],
        last: NDArray[np.int32],
        rule: str,
        message: str,
        does: str,
        *,
        reads: bool,
    ) -> bool:
        """Report the first of some shadow granules whose `last` operation is not complete for the accessing thread.

        Returns whether there is such a granule. `which` are its indices in `granules`, and `last` are shadow entries.
        """
        pieces = granules.pieces[which]
        accused = self._accused(entries, last, entries.owners[pieces], reads=reads)
        if not accused.any():
            return False
        first = int(accused.argmax())
        offset = max(int(granules.at[which[first]]) * granule, int(entries.offsets[pieces[first]]))
        self._tell(entries, offset, int(entries.owners[pieces[first]]), last[first], rule, message, does)
        return True

    def _accused(self, entries: Entries, last: NDArray[np.int32], owners: Offsets, *, reads: bool) -> NDArray[np.bool_]:
        """Return, per shadow entry in `last`, whether its operation must be complete for its accessor, and is not.

        The accessor is the thread or operation number `owners[i]` of `entries`.
        """
        stays = last[:, ISSUER] < ATOMIC if entries.atomic else np.ones(len(last), np.bool_)
        if entries.work is not None:
            stays[stays] = ~self.agents.issued_before(
                entries.work, owners[stays], entries.rows[owners[stays]], last[stays]
            )
        some = np.flatnonzero(stays)
        if not len(some):
            return stays
        owners, over = owners[some], np.ones(len(some), np.bool_)
        together = 1 if entries.work is None else entries.work.together
        # mask -1: all 32 lanes of a warp issue the operation
        masks = bits_of(entries.lanes[owners]) if together == 1 else np.full(len(some), -1, np.int32)
        for further in range(together):
            warps, rows = entries.warps[owners] + further, entries.rows[owners] + further
            over &= self.agents.over(last[some], warps, masks, rows, reads=reads)
        stays[some] = ~over
        return stays

    def _tell(
        self, entries: Entries, offset: int, owner: int, last: NDArray[np.int32], rule: str, message: str, does: str
    ) -> None:
        """Report an access or operation of a thread that is not ordered after the asynchronous operation `last`."""
        where, thread = (
            self._view.describe(entries.space, offset),
            (int(entries.warps[owner]), int(entries.lanes[owner])),
        )
        agent, other_pc = int(last[WARP]) - 1, int(last[PC])
        wait = self.agents.how_to_wait(agent)
        help = None if wait is None else f"wait first: {wait}"
        if entries.work is not None and other_pc == entries.pc and last[ISSUER] % LANES != thread[1]:
            help = ONE_THREAD
        if self.agents.waited_at(last[None])[0]:
            note = (
                f"lane {last[ISSUER] % LANES}, which issued it, has waited for it; that wait is not ordered before this"
            )
        else:
            note = self._in_vain(rule, agent, *thread)
        self._report(
            rule,
            message.format(where),
            entries.pc,
            other_pc,
            label=f"{does}{' issued' if entries.work is not None else ''} by {self._view.warp_name(thread[0])}",
            notes=(note,) if note else (),
            # findings with equal `cause` (one missing wait) are merged
            cause=(other_pc, does) if entries.work is None else None,
            help=help,
            # a copy that is accessed too early because no thread waits for it is one fault
            follow_ups=[(other_pc, "unfinished-copy")] if rule == "read-before-wait" else (),
        )

    def _in_vain(self, rule: str, column: int, warp: int, lane: int) -> str:
        """Return a note if the thread waited at the operation's mbarrier for a phase that was already complete."""
        if rule != "read-before-wait":
            return self.why_early(warp, lane)
        return self._returned(self.seen.at(self.agents.place_of(column), warp, lane))

    def why_early(self, warp: int, lane: int) -> str:
        """Return a note if the last mbarrier wait of a thread was for a phase that was already complete."""
        return self._returned(self.seen.latest(warp, lane))

    def _returned(self, seen: Seen | None) -> str:
        if seen is None or not seen.old:
            return ""
        over = "no phase has completed yet; parity 1 denotes the phase before the first one"
        if seen.phase >= 0:
            over = f"the warp had already observed phase {seen.phase} complete; flip the parity after each wait"
        return f"the wait ({self._view.place(seen.pc)}) returned immediately: {over}"

    def proxy_fence(self, proxy: Proxy, warps: Offsets, masks: Masks, spaces: tuple[Space, ...]) -> None:
        """Make generic-proxy accesses that happen before a proxy fence of lanes visible to the proxy."""
        for space in spaces:
            self._clocks.show(self._shown(proxy, space), warps, masks)

    def _shown(self, proxy: Proxy, space: Space) -> Columns:
        seen = self._proxies.get((proxy, space))
        if seen is None:
            seen = self._proxies[proxy, space] = Columns(self._clocks)
        return seen

    def unfenced(
        self, proxy: Proxy, space: Space, rows: Offsets, others: Offsets, masks: NDArray[Any], times: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Return, per access of lanes `masks[i]` of `others[i]`, whether it is not visible to the proxy.

        `rows` are the vector clocks of the threads that access the bytes through the proxy.
        """
        seen = self._shown(proxy, space)  # called first: `_shown` may add columns to the vector clocks `known`
        return ~seen.hold(self._clocks.known, rows, others, masks, times)

    def written(self, touch: AsyncAccess) -> tuple[Offsets, NDArray[np.int64], NDArray[np.int32]] | None:
        """Return the last asynchronous writes to `touch`: offsets, access numbers in `touch`, and shadow entries.

        None without writes. An offset is that of a granule, which may be wider than the write.
        """
        marks = self._marks.get(touch.space)
        if marks is None or not len(touch.offsets):
            return None
        at, pieces = granules_of(touch.offsets, touch.size, marks.write.granule)
        last = marks.write.table.touched(at)
        if last is None:
            return None
        some = np.flatnonzero(last[:, WARP] != NOBODY)
        return at[some] * marks.write.granule, pieces[some], last[some]

    def last_writers(self, touch: AsyncAccess) -> list[tuple[int, int]]:
        """Return the first offset and the pc of each instruction whose asynchronous write to `touch` was the last."""
        found = self.written(touch)
        if found is None:
            return []
        pcs, first = np.unique(found[2][:, PC], return_index=True)
        return list(zip(found[0][first].tolist(), pcs.tolist(), strict=True))

    def told_reads(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """Yield byte offsets and shadow entries of the last asynchronous reads of shared memory.

        The result is empty unless such a read completes on an mbarrier. `agent_rows` describes the entries.
        """
        marks = self._marks.get("shared")
        if marks is None or not self._told:
            return
        for layer in marks.reads:
            at, rows = layer.table.entries()
            yield at * layer.granule, rows

    # --- asynchronous operations ----------------------------------------------------------------

    def judge(self, work: AsyncOperations) -> None:
        """Check operations that are issued now against recorded ones; accesses of one operation may overlap."""
        known, rows = self._clocks.known, self._clocks.rows(work.warps, work.lanes)
        for touch in work.touches:
            marks = self._marks.get(touch.space)
            if marks is not None and len(touch.offsets):
                pieces = touch.space, touch.offsets, touch.size, touch.owners
                entries = Entries(*pieces, work.warps, known, rows, work.pc, touch.atomic, work.lanes, work)
                does = "asynchronous write" if touch.writes else "asynchronous read"
                self._against(marks, entries, does, writes=touch.writes)

    def enter(self, work: AsyncOperations, item_ids: NDArray[np.int64]) -> None:
        """Record asynchronous operations that have been checked; `item_ids` name them in later events."""
        for touch in work.touches:
            rows = self.agents.rows_of(work, touch, item_ids)
            if not len(touch.offsets):
                continue
            self._told |= touch.barriers is not None and not touch.writes and touch.space == "shared"
            if touch.space not in self._marks:
                self._marks[touch.space] = Marks(self._view.arena_size(touch.space))
            is_over = partial(self._over_for, work) if self.agents.several(work, touch) else None
            self._marks[touch.space].enter(touch, rows, work.warps // self._view.warps_per_cta, is_over)

    def _over_for(self, work: AsyncOperations, last: NDArray[np.int32], operations: Offsets) -> NDArray[np.bool_]:
        """Return, per read in `last`, whether it is complete for the thread that issues operation `operations[i]`."""
        warps, lanes = work.warps[operations], work.lanes[operations]
        return self.agents.over(last, warps, bits_of(lanes), self._clocks.rows(warps, lanes), reads=True)
