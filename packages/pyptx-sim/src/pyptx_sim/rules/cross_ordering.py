"""Checks of asynchronous operations against earlier accesses of warps, and of mbarrier uses against init and inval."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from pyptx_sim.events import MASK, NOBODY, PC, TIME, WARP
from pyptx_sim.extension.registry import step_of
from pyptx_sim.happens_before.columns import Columns
from pyptx_sim.happens_before.lane_masks import bits_of, masks_of
from pyptx_sim.rules.fence_reasons import fence_reason
from pyptx_sim.rules.reports import race_help, race_message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pyptx_sim.extension.space import Proxy
    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.observer import AsyncAccess, AsyncOperations, Masks, Offsets, RunView, Space
    from pyptx_sim.rules.async_races import AsyncRaces, Report
    from pyptx_sim.shadow.shadow import Shadow

    class Ordered(Protocol):
        """Function that returns whether accesses happen before the next accesses of warps (`Causality.ordered`)."""

        def __call__(
            self, rows: NDArray[np.int64], warps: NDArray[np.int64], last: NDArray[np.int32], *, reads: bool = ...
        ) -> NDArray[np.bool_]:
            """Return, per entry in `last`, whether clock `rows[i]` orders it; with `reads`, whether it is complete."""
            ...


# Number of uses of mbarriers that are collected before `_uses` is updated; most launches have fewer.
_FRESH: Final = 1 << 12


class CrossOrdering:
    """Checks asynchronous operations against accesses of warps, and mbarrier uses against init and inval."""

    def __init__(self, view: RunView, clocks: WarpClocks, work: AsyncRaces, report: Report) -> None:
        """Check the run that `view` describes."""
        self._view, self._clocks, self._work, self._report = view, clocks, work, report
        self._reason = partial(fence_reason, view, clocks, work)
        # by pc of asynchronous operations: whether their writes are visible to all proxies at once
        self._showing: dict[int, bool] = {}
        # mbarrier.init of each mbarrier: warp, lane mask, time, pc
        self._made: dict[int, tuple[int, int, int, int]] = {}
        # time and pc of the last use of an mbarrier, by its offset, then by warp and lane mask
        self._uses: dict[int, dict[tuple[int, int], tuple[int, int]]] = {}
        self._fresh: list[tuple[int, Offsets, Masks, NDArray[np.int32], int]] = []  # mbarrier uses not yet in `_uses`
        # Threads ordered after an mbarrier.init, by its warp, lane mask, time: whole warps; lane masks of other warps.
        self._after: dict[tuple[int, int, int], set[int]] = {}
        self._lanes_after: dict[tuple[int, int, int], dict[int, int]] = {}
        # (mbarrier offset, warp, lane) if the mbarrier.init is visible to the proxy of the thread's asynchronous
        # operations.
        self._shown: set[tuple[int, int, int]] = set()
        self._inits: Columns | None = None  # clock columns for each mbarrier.init released by fence.mbarrier_init

    def next_wave(self) -> None:
        """Forget the mbarriers of the last wave of CTAs."""
        self._fresh.clear()
        for each in (self._made, self._uses, self._after, self._lanes_after, self._shown):
            each.clear()

    # --- asynchronous operations ----------------------------------------------------------------

    def judge(
        self, work: AsyncOperations, touch: AsyncAccess, shadow: Shadow, ordered: Ordered, first_warp: int
    ) -> None:
        """Check an access of asynchronous operations, issued now, against the accesses of warps in `shadow`."""
        granules = shadow.granules(touch.offsets, touch.size)
        at, all_rows = granules.reshape(-1), self._clocks.rows(work.warps, work.lanes)
        last = shadow.write.touched(at)
        if last is not None:
            written = np.flatnonzero(last[:, WARP] != NOBODY)
            owners, written_at = touch.owners[written // granules.shape[1]], at[written]
            warps, rows, last = work.warps[owners], all_rows[owners], last[written]
            for further in range(work.together):
                who = warps + further, rows + further
                self._against_writes(work, touch, shadow, written_at, last, *who, ordered, first_warp)
        if touch.writes:
            owners = np.repeat(touch.owners, granules.shape[1])
            self._against_reads(work, touch, shadow, at, owners, ordered, first_warp)
            if touch.after_reads:
                self._against_unfenced_reads(work, touch, shadow, at, owners, first_warp)

    def _against_reads(
        self,
        work: AsyncOperations,
        touch: AsyncAccess,
        shadow: Shadow,
        at: NDArray[np.int64],
        owners: NDArray[np.int64],
        ordered: Ordered,
        first_warp: int,
    ) -> None:
        message = "asynchronous write to {} may overtake an earlier read"
        found: list[tuple[int, int]] = []
        warps, rows = work.warps[owners], self._clocks.rows(work.warps, work.lanes)[owners]
        masks = bits_of(work.lanes)[owners]
        if shadow.readers is not None:
            late = shadow.readers.unordered(at, warps, rows, masks)
            found += [] if late is None else [(int(late.entries[0]), int(late.last[0, PC]))]
        # Different proxies: a strong read is not morally strong with an asynchronous access, not even with a reduction.
        for which, last in chain(shadow.reads_of(at), shadow.polls_of(at)):
            before = ordered(rows[which], warps[which], last, reads=True)
            if work.together == 1:  # warps that issue an operation together do so with all lanes
                own = np.flatnonzero(last[:, WARP] == warps[which] + first_warp)
                there = rows[which[own]], warps[which[own]], masks[which[own]]
                before[own] = self._clocks.orders_within(*there, last[own, MASK], last[own, TIME])
            bad = np.flatnonzero(~before)[:1]
            found += zip(which[bad].tolist(), last[bad, PC].tolist(), strict=True)
        for first, pc in found:
            why = self._work.why_early(int(warps[first]), int(work.lanes[owners[first]]))
            notes = (why,) if why else ()
            self._tell("early-reuse", message, work.pc, touch.space, shadow, at, warps, first, pc, "read", notes=notes)

    def _against_unfenced_reads(
        self,
        work: AsyncOperations,
        touch: AsyncAccess,
        shadow: Shadow,
        at: NDArray[np.int64],
        owners: NDArray[np.int64],
        first_warp: int,
    ) -> None:
        """Report the last reads by warps if no proxy fence orders them before an asynchronous write that needs one."""
        proxy = work.proxy_of(touch)
        if proxy is None:
            return
        all_rows = self._clocks.rows(work.warps, work.lanes)
        reads = shadow.reads_of(at) if shadow.readers is None else shadow.readers.of(at)
        for which, last in chain(reads, shadow.polls_of(at)):
            others = last[:, WARP].astype(np.int64) - first_warp
            here = np.flatnonzero(others >= 0)
            if not len(here):
                continue
            rows = all_rows[owners[which[here]]]
            bad = here[self._work.unfenced(proxy, touch.space, rows, others[here], last[here, MASK], last[here, TIME])]
            if len(bad):
                first, warps = int(which[bad[0]]), work.warps[owners]
                how, notes, help = self._reason(
                    proxy, touch.space, int(warps[first]), int(others[bad[0]]), last[bad[0]]
                )
                pc, message = int(last[bad[0], PC]), f"{proxy.name}-proxy write to {{}} {how} the generic read"
                self._tell(
                    proxy.unfenced, message, work.pc, touch.space, shadow, at, warps, first, pc, "read", notes, help
                )
                return

    def _against_writes(
        self,
        work: AsyncOperations,
        touch: AsyncAccess,
        shadow: Shadow,
        at: NDArray[np.int64],
        last: NDArray[np.int32],
        warps: NDArray[np.int64],
        rows: NDArray[np.int64],
        ordered: Ordered,
        first_warp: int,
    ) -> None:
        """Report the writes `last` to the shadow granules `at` that are unordered, or ordered without a proxy fence."""
        if touch.atomic:
            weak = ~shadow.atomic[at]
            at, last, warps, rows = at[weak], last[weak], warps[weak], rows[weak]
        others = last[:, WARP].astype(np.int64) - first_warp
        late = np.flatnonzero(~ordered(rows, warps, last))
        if len(late):
            kind, pc = "asynchronous write" if touch.writes else "asynchronous read", int(last[late[0], PC])
            message, rule, first = race_message("{}", kind, "write"), f"{touch.space}-race", int(late[0])
            help = race_help(rule, warps[first], last[first, WARP] - first_warp, self._view.warps_per_cta)
            self._tell(rule, message, work.pc, touch.space, shadow, at, warps, first, pc, "write", help=help)
            return
        here = np.flatnonzero(others >= 0)
        proxy = work.proxy_of(touch)
        if proxy is None or not len(here):
            return
        masks, times = last[here, MASK], last[here, TIME]
        bad = here[self._work.unfenced(proxy, touch.space, rows[here], others[here], masks, times)]
        if len(bad):
            pcs, which = np.unique(last[bad, PC], return_inverse=True)
            bad = bad[~np.array([self._shows(pc) for pc in pcs.tolist()])[which]]
        if len(bad):
            does = "write to" if touch.writes else "read of"
            first, pc = int(bad[0]), int(last[bad[0], PC])
            how, notes, help = self._reason(proxy, touch.space, int(warps[first]), int(others[first]), last[first])
            message = f"{proxy.name}-proxy {does} {{}} {how} the generic write"
            self._tell(
                proxy.unfenced, message, work.pc, touch.space, shadow, at, warps, first, pc, "write", notes, help
            )

    def _shows(self, pc: int) -> bool:
        """Return whether all proxies see the writes of the instruction at `pc` without a proxy fence."""
        known = self._showing.get(pc)
        if known is None:
            step = step_of(self._view.opcode(pc))
            known = self._showing[pc] = step is not None and step.proxy_fence
        return known

    def _tell(
        self,
        rule: str,
        message: str,
        pc: int,
        space: Space,
        shadow: Shadow,
        at: NDArray[np.int64],
        warps: NDArray[np.int64],
        first: int,
        other_pc: int,
        other: str,
        notes: tuple[str, ...] = (),
        help: str | None = None,
    ) -> None:
        where = self._view.describe(space, int(at[first]) * shadow.granule)
        opcode = ".".join(self._view.opcode(pc)[:3])
        self._report(
            rule,
            message.format(where),
            pc,
            other_pc,
            label=f"{opcode} issued by {self._view.warp_name(int(warps[first]))}",
            other_label=other,
            cause=(pc, message),  # findings with equal `cause` (one missing fence or wait) are merged
            notes=notes,
            help=help,
        )

    # --- mbarriers ------------------------------------------------------------------------------

    def made(self, place: int, warp: int, lane: int, pc: int) -> None:
        """Record the thread that has executed an mbarrier.init, and its time."""
        self._made[place] = (warp, 1 << lane, int(self._clocks.now[warp]), pc)
        self._shown.clear()

    def used(self, uses: Sequence[tuple[int, Offsets, Masks]], pc: int) -> None:
        """Report uses of mbarriers by lanes of warps that are not ordered after the mbarrier.init.

        `uses` are (mbarrier offset, warps, lane masks).
        """
        asked: list[tuple[int, Offsets, Masks, tuple[int, int, int, int]]] = []
        for place, warps, masks in uses:
            self._fresh.append((place, warps, masks, self._clocks.now[warps], pc))
            made = self._made.get(place)
            if made is not None and not self._ordered_after(made[:3], warps, masks):
                asked.append((place, warps, masks, made))
        if len(self._fresh) > _FRESH:
            self._note_uses()
        if asked:
            self._ask(asked, pc)

    def _ordered_after(self, made: tuple[int, int, int], warps: Offsets, masks: Masks) -> bool:
        """Return whether lanes of `warps` are recorded as ordered after the mbarrier.init `made`."""
        users = warps.tolist()
        if self._after.setdefault(made, set()).issuperset(users):
            return True
        after = self._lanes_after.setdefault(made, {})
        lanes = masks_of(masks).tolist()
        return not any(named & ~after.get(user, 0) for user, named in zip(users, lanes, strict=True))

    def _ask(self, uses: Sequence[tuple[int, Offsets, Masks, tuple[int, int, int, int]]], pc: int) -> None:
        """Report mbarrier uses that are not ordered after the mbarrier.init; record the other uses as ordered."""
        counts = [len(warps) for _, warps, _, _ in uses]
        users, masks = (np.concatenate([use[part] for use in uses]) for part in (1, 2))
        makers, made_by, times = np.repeat(np.array([made[:3] for *_, made in uses]), counts, axis=0).T
        whole = ~self._clocks.parted(users)
        whole[whole] = self._holds(users[whole], makers[whole], made_by[whole], times[whole], self._inits)
        known, rest = whole.copy(), np.flatnonzero(~whole)
        if len(rest):
            at, lanes = np.nonzero(self._view.threads[users[rest]])
            first, at = np.searchsorted(at, np.arange(len(rest))), rest[at]
            held = self._holds(self._clocks.rows(users[at], lanes), makers[at], made_by[at], times[at], self._inits)
            # the thread of mbarrier.init is ordered after it
            maker = (users == makers)[at] & (made_by[at] >> lanes == 1)
            known[rest] = np.logical_and.reduceat(held | maker | ~masks[at, lanes], first)
            whole[rest] = np.logical_and.reduceat(held, first)
        ends = np.cumsum(counts).tolist()
        for (place, warps, lanes_of, made), end in zip(uses, ends, strict=True):
            here = slice(end - len(warps), end)
            self._note_after(made[:3], warps, lanes_of, known[here], whole[here])
            late = warps[~known[here]]
            if len(late):
                name = self._view.warp_name(int(late[0]))
                where = self._view.describe("shared", place)
                message = f"use of mbarrier {where} is not ordered after mbarrier.init"
                label, cause = f"use by {name}", ("mbarrier.init", made[3])
                self._report(
                    *("mbarrier-init-race", message, pc, made[3]), label=label, other_label="mbarrier.init", cause=cause
                )

    def _note_after(self, made: tuple[int, int, int], warps: Offsets, masks: Masks, known: Masks, whole: Masks) -> None:
        """Record lanes that are ordered after the mbarrier.init `made`: all lanes of a `whole` warp, or `known` ones.

        `known` and `whole` are a boolean per warp of `warps`: lanes `masks[i]`, or all lanes, are ordered.
        """
        self._after[made].update(warps[whole].tolist())
        some, after = np.flatnonzero(known & ~whole), self._lanes_after[made]
        for warp, lanes in zip(warps[some].tolist(), masks_of(masks[some]).tolist(), strict=True):
            after[warp] = after.get(warp, 0) | lanes

    def _note_uses(self) -> None:
        """Update the last use of each mbarrier by each warp. This is deferred, as only mbarrier.inval needs it."""
        if not self._fresh:
            return
        numbers = iter(masks_of(np.concatenate([masks for _, _, masks, _, _ in self._fresh])).tolist())
        for place, warps, _, times, pc in self._fresh:
            uses = self._uses.setdefault(place, {})
            for user, time in zip(warps.tolist(), times.tolist(), strict=True):
                uses[user, next(numbers)] = time, pc
        self._fresh.clear()

    def _holds(
        self,
        rows: Offsets,
        warps: Offsets,
        lanes: NDArray[Any],
        times: NDArray[Any],
        further: Columns | None = None,
    ) -> NDArray[np.bool_]:
        """Return, per vector clock in `rows`, whether accesses of lanes of a warp at a time happen before it.

        They do if the clock's component for the warp, or its component in the columns `further`, is not below the time.
        """
        held = self._clocks.orders(rows, warps, lanes, times)
        if further is not None:
            held |= further.hold(self._clocks.known, rows, warps, lanes, times)
        return held

    def ended(self, place: int, warp: int, lane: int, pc: int) -> None:
        """Report uses of an mbarrier that are not ordered before its mbarrier.inval."""
        rows = self._clocks.rows(np.array([warp]), np.array([lane]))
        self._note_uses()
        for (user, lanes), (time, other_pc) in self._uses.pop(place, {}).items():
            others = lanes & ~bits_of(np.array([lane]))[0] if user == warp else lanes
            entry = np.array([user]), np.array([others]), np.array([time])
            if others and not self._holds(rows, *entry)[0]:
                where = self._view.describe("shared", place)
                name = self._view.warp_name(user)
                message = f"mbarrier.inval of {where} while {name} may still use it"
                label = f"mbarrier.inval by {self._view.warp_name(warp)}"
                self._report("mbarrier-inval", message, pc, other_pc, label=label, other_label=f"use by {name}")
        self._made.pop(place, None)

    def signalled(self, work: AsyncOperations) -> None:
        """Report mbarriers on which operations complete if no proxy fence follows the mbarrier.init.

        The severity is note: libraries use a CTA barrier without a proxy fence, which works in practice.
        """
        proxy = work.proxy
        if proxy is None or proxy.one_way:
            return
        told = [touch.barriers.tolist() for touch in work.touches if touch.barriers is not None]
        issuers = work.warps.tolist(), work.lanes.tolist()
        threads = {each for places in told for each in zip(places, *issuers, strict=True)}
        asking = sorted(each for each in threads - self._shown if each[0] in self._made)
        if not asking:
            return
        for (place, warp, lane), unseen in zip(asking, self._unseen(proxy, asking), strict=True):
            if not unseen:
                self._shown.add((place, warp, lane))
                continue
            where = self._view.describe("shared", place)
            self._report(
                proxy.unfenced,
                f"{proxy.name}-proxy use of mbarrier {where} without a proxy fence after mbarrier.init",
                work.pc,
                self._made[place][3],
                label=f"asynchronous arrive issued by {self._view.warp_name(warp)}",
                other_label="mbarrier.init",
                cause="initialization",
                severity="note",
            )

    def _unseen(self, proxy: Proxy, threads: list[tuple[int, int, int]]) -> list[bool]:
        """Return, per (mbarrier offset, warp, lane), whether the mbarrier.init is not visible to the proxy."""
        _, warps, lanes = np.array(threads).T
        makers, masks, times, _ = np.array([self._made[place] for place, _, _ in threads]).T
        rows = self._clocks.rows(warps, lanes)
        unseen = self._work.unfenced(proxy, "shared", rows, makers, masks, times)
        if self._inits is not None:
            unseen &= ~self._inits.hold(self._clocks.known, rows, makers, masks, times)
        told: list[bool] = unseen.tolist()
        return told

    def init_columns(self) -> Columns:
        """Return the columns of mbarrier initializations that `fence.mbarrier_init` makes visible."""
        if self._inits is None:
            self._inits = Columns(self._clocks)
        return self._inits

    def init_fence(self, warps: Offsets, masks: Masks) -> None:
        """Allow later relaxed arrivals of lanes to release the mbarrier initializations that happen before now."""
        self._clocks.show(self.init_columns(), warps, masks)
