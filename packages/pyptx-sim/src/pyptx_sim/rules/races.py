"""Race checker for shared memory, global memory and the memories of extensions.

Two accesses to the same bytes race if at least one of them writes, not both are strong (atomics; volatile, relaxed,
acquire or release loads and stores), and neither happens before the other (manual: "Memory Consistency Model",
"Data-races"). `clocks` orders accesses; `shadow` has the last write, read and strong read of each shadow granule.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.happens_before.causality import Causality
from pyptx_sim.happens_before.clocks import WarpClocks
from pyptx_sim.happens_before.phases import Phases
from pyptx_sim.happens_before.read_candidates import OlderWrites
from pyptx_sim.happens_before.relaxed import Relaxed
from pyptx_sim.happens_before.release_clocks import ReleaseClocks
from pyptx_sim.observer import AsyncAccess, Observer, Signal
from pyptx_sim.rules.accesses import Accesses
from pyptx_sim.rules.async_races import AsyncRaces
from pyptx_sim.rules.barrier_phases import BarrierPhases
from pyptx_sim.rules.batches import Batch, batches
from pyptx_sim.rules.block_ends import BlockEnds
from pyptx_sim.rules.cross_ordering import CrossOrdering
from pyptx_sim.rules.cta_starts import Starts
from pyptx_sim.rules.dependents import Dependents
from pyptx_sim.rules.flags import Flags
from pyptx_sim.rules.generic_copies import GenericCopies
from pyptx_sim.rules.layouts import Layouts
from pyptx_sim.rules.mbarrier_bytes import MbarrierBytes
from pyptx_sim.rules.one_way_proxies import OneWayProxies
from pyptx_sim.rules.overlapping_writes import check_overlap
from pyptx_sim.rules.repeated_copies import check_repetition
from pyptx_sim.rules.reports import Reports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pyptx_sim.events import Racer
    from pyptx_sim.extension.group import GroupKind
    from pyptx_sim.extension.space import Proxy
    from pyptx_sim.observer import AccessKind, AsyncOperations, Masks, Offsets, Order, Rows, RunView, Space, Stores


_NARROW: Final = (
    "the mbarrier arrive or wait has scope .cta: use .release.cluster on the arrive and .acquire.cluster on the wait"
)


class RaceChecker(Observer):
    """Reports data races between warps, between lanes, and with asynchronous operations."""

    def __init__(self, view: RunView) -> None:
        """Check the run that `view` describes."""
        self._view = view
        self._reports = Reports(view, self._why)
        group = view.warps_per_cta * view.cluster_size
        self._clocks = WarpClocks(view.threads, group)
        self._messages = ReleaseClocks(self._clocks, view.warps_per_cta, group)
        self._flags = Flags(view, self._clocks, self._messages.within)
        self._phases = Phases(self._clocks, view.warps_per_cta, view.shared_stride())
        self._causality = Causality(self._clocks, self._messages, self._phases, mixed=view.narrows_scopes)
        self._accesses = Accesses(view, self._clocks, self._messages, self._phases, self._causality, self._reports)
        self._work = AsyncRaces(view, self._clocks, self._phases, self._reports.report)
        self._relaxed = Relaxed(self._clocks, self._messages, self._phases, self._work.agents, self._work.seen)
        self._layouts = Layouts(view, self._work, self._accesses.parts_of, self._reports.report)
        self._copies = GenericCopies(view, self._clocks, self._work, self._reports.report)
        self._cross_ordering = CrossOrdering(view, self._clocks, self._work, self._reports.report)
        self._block_ends = BlockEnds(view, self._clocks, self._phases, self._work, self._reports.report)
        self._one_way = OneWayProxies(view, self._clocks, self._reports.report)
        self._barrier_phases = BarrierPhases(view, self._clocks)
        self._starts = Starts(view, self._reports.report)
        self._objects = MbarrierBytes(view, self._reports.report)
        self.dependents = Dependents(view, self._clocks)

    def past(self, seed: int) -> OlderWrites:
        """Return the simulator's source of older values for reads; from now on, this checker records writes in it."""
        past = self._causality.past = OlderWrites(self._view, self._messages, self._causality.knows, seed)
        return past

    @property
    def first_warp(self) -> int:
        """Number of the first warp of this wave of CTAs; warps are numbered through all waves."""
        return self._causality.first_warp

    @property
    def reports(self) -> Reports:
        """Composer and recorder of the findings of data races."""
        return self._reports

    def _why(self, me: Racer, other: Racer, row: int) -> str:
        """Return why the access of `me`, with clock `row`, is not ordered after that of `other`; empty if unknown."""
        over = self._phases.over
        if over is not None:
            entry = (np.array([each]) for each in (row, other.warp, other.mask, other.time))
            if over.hold(self._clocks.known, *entry)[0]:
                return _NARROW
        return self._flags.why(me, other) or self._relaxed.why(me, other, self._view.place)

    # --- events ---------------------------------------------------------------------------------

    def wave_started(self) -> None:
        """Forget the warps and shared memories of the last wave of CTAs; accesses to global memory stay."""
        parts = (
            self._accesses,
            self._causality,
            self._clocks,
            self._messages,
            self._flags,
            self._phases,
            self._relaxed,
            self._work,
            self._cross_ordering,
            self._block_ends,
            self._one_way,
            self._objects,
            self._starts,
            self._barrier_phases,
        )
        for part in parts:
            part.next_wave()

    def freed(
        self, rule: str, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """Check that no outstanding asynchronous operation uses memory that lanes free."""
        self._work.check_free(rule, space, offsets, size, warps, lanes, pc)

    def barrier(self, warps: Offsets, masks: Masks, barriers: Offsets, pc: int) -> None:
        """Check arrivals at named barriers, then order accesses before each barrier before those after it."""
        self._barrier_phases.arrived(warps, masks, barriers, pc)
        self._clocks.meet(warps, masks, barriers)
        self._barrier_phases.completed(warps, masks, barriers, pc)
        self._starts.meet(warps, masks, barriers)

    def barrier_arrivals(self, warps: Offsets, masks: Masks, barriers: Offsets, pc: int) -> None:
        """Check arrivals at named barriers without a wait (`bar.arrive`); `signal` releases their clocks."""
        self._barrier_phases.arrived(warps, masks, barriers, pc)

    def warp_sync(self, warps: Offsets, masks: Masks, pc: int) -> None:  # noqa: ARG002 - the protocol's signature
        """Synchronize the lanes of each mask (`bar.warp.sync`)."""
        self._clocks.meet_lanes(warps, masks)
        self._starts.meet(warps, masks, warps)

    def noncoherent(self) -> None:
        """Mark the next accesses as `ld.global.nc`."""
        self._accesses.noncoherent = True

    def rows(self, rows: Rows) -> None:
        """Mark the next accesses as accesses to matrix rows (ldmatrix, stmatrix)."""
        self._accesses.matrix_rows.next = rows

    def storing(self, stores: Stores) -> None:
        """Keep the values that the next accesses store."""
        self._accesses.stores = stores

    def fence(self, warps: Offsets, masks: Masks, scope: str, pc: int, *, in_order: bool) -> None:  # noqa: ARG002 - the protocol's
        """Acquire the release clocks that lanes have read, and record the lanes' clocks for later strong writes."""
        self._flags.fence(warps, masks, scope)
        self._relaxed.fence(warps, masks, scope)
        self._messages.fence(warps, masks, scope, in_order=in_order)

    def strong(
        self, order: Order, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """Read and attach release clocks at strongly accessed locations, and record the scope and size."""
        self._causality.strong(order, size, pc)
        self._flags.strong(order, space, offsets, warps, lanes, pc)
        self._starts.strong(order, space, offsets, warps, lanes)
        past = self._causality.past
        if past is None:
            self._messages.exchange(order, space, offsets, size, warps, lanes)
            return
        if order.writes:
            past.keep(space, offsets, size)
        with past.swapped(space):
            self._messages.exchange(order, space, offsets, size, warps, lanes)

    def signal(
        self, place: int, phase: int, warps: Offsets, masks: Masks, pc: int, *, scope: str, releases: bool
    ) -> None:
        """Release the clocks of arriving lanes to a phase of an mbarrier or of another barrier."""
        if place >= 0:
            self._arrived([Signal(place, phase, warps, masks)], pc)
        else:
            self._starts.signalled((place, phase), warps, masks)
        if releases:
            self._phases.signal(place, phase, warps, masks, scope)
        else:
            self._phases.signal_some(place, phase, warps, masks, self._cross_ordering.init_columns())
            self._relaxed.arrive(place, phase, warps, masks, scope, pc)

    def signalled_together(self, signals: Sequence[Signal], pc: int, *, scope: str, releases: bool) -> None:
        """Release the clocks of arriving lanes to several mbarrier phases, together if the arrivals are releases."""
        if not releases or len(signals) == 1:
            super().signalled_together(signals, pc, scope=scope, releases=releases)
            return
        self._arrived(signals, pc)
        self._phases.signal_together(signals, scope)

    def _arrived(self, signals: Sequence[Signal], pc: int) -> None:
        self._cross_ordering.used([(each.place, each.warps, each.masks) for each in signals], pc)
        self._block_ends.arrived(signals, pc)
        self._starts.arrived(signals, pc)

    def acquire(
        self, place: int, phase: int, warps: Offsets, masks: Masks, pc: int, *, scope: str, acquires: bool
    ) -> None:
        """Acquire the clocks that arrivals have released to a phase."""
        self._work.seen.acquired(place, phase, warps, masks, pc)
        if acquires:
            self._phases.acquire(place, phase, warps, masks, scope)
        else:
            self._relaxed.wait(place, phase, warps, masks, scope, pc)
        self._starts.acquired((place, phase), warps, masks)

    def barrier_made(self, place: int, warp: int, lane: int, pc: int) -> None:
        """Record the thread that has initialized an mbarrier."""
        self._cross_ordering.made(place, warp, lane, pc)
        self._objects.made(place, pc)

    def barrier_ended(self, place: int, warp: int, lane: int, pc: int) -> None:
        """Check an `mbarrier.inval` against the last uses of the mbarrier."""
        self._cross_ordering.ended(place, warp, lane, pc)
        self._objects.ended(place)

    def barrier_used(self, place: int, warps: Offsets, masks: Masks, pc: int) -> None:
        """Check that uses of an mbarrier are ordered after its initialization."""
        self._cross_ordering.used([(place, warps, masks)], pc)

    def block_used(self, blocks: Offsets, warps: Offsets, pc: int) -> None:
        """Check that an instruction's warps are ordered after the start of the other CTAs that it applies to."""
        self._starts.used(blocks, warps, pc)

    def init_fence(self, warps: Offsets, masks: Masks) -> None:
        """Allow relaxed arrivals to release mbarrier initializations (`fence.mbarrier_init`)."""
        self._cross_ordering.init_fence(warps, masks)

    def work_fence(self, kinds: tuple[GroupKind, ...], warps: Offsets, masks: Masks, *, before: bool) -> None:
        """Record a fence before relaxed arrivals, or after relaxed waits, that orders asynchronous operations only."""
        (self._relaxed.before if before else self._relaxed.after)(kinds, warps, masks)

    def proxy_fence(self, proxy: Proxy, warps: Offsets, masks: Masks, spaces: tuple[Space, ...]) -> None:
        """Make accesses that happen before a proxy fence visible to the proxy."""
        self._work.proxy_fence(proxy, warps, masks, spaces)

    def proxy_released(self, proxy: Proxy, warps: Offsets, masks: Masks) -> None:
        """Make accesses that happen before a release fence of lanes visible to a unidirectional proxy."""
        self._one_way.released(proxy, warps, masks)

    def proxy_acquired(self, proxy: Proxy, space: Space, place: int, size: int, warps: Offsets, masks: Masks) -> None:
        """Record an acquire fence of lanes, for `size` bytes read through a unidirectional proxy."""
        self._one_way.acquired(proxy, space, place, size, warps, masks)

    def issued(self, work: AsyncOperations) -> None:
        """Check asynchronous operations against earlier accesses and operations, then record them."""
        self._judge(work)
        self._enter(work, np.full(len(work.warps), work.item_id))

    def issued_together(self, works: Sequence[AsyncOperations]) -> None:
        """Check and record joined operations if they have no finding, and the others one after another.

        A copy that several threads issue is reported once; its repetitions are only recorded.
        """
        repeated = check_repetition(self._view, works, self._reports.report) if len(works) > 1 else frozenset[int]()
        for some in batches(works) if len(works) > 1 else (works,):
            if isinstance(some, Batch) and not self._reports.finds(partial(self._judge, some.work)):
                self._enter(some.work, some.item_ids)
                continue
            for work in some.works if isinstance(some, Batch) else some:
                if work.item_id in repeated:
                    self._enter(work, np.full(len(work.warps), work.item_id))
                else:
                    self.issued(work)

    def _enter(self, work: AsyncOperations, item_ids: NDArray[np.int64]) -> None:
        for touch in work.touches:
            if touch.writes and self._causality.past is not None:
                self._causality.past.forget(touch.space, touch.offsets, touch.size)
        self._copies.issued(work)
        self.dependents.issued(work)
        self._starts.entered(work, item_ids)
        self._work.enter(work, item_ids)

    def _judge(self, work: AsyncOperations) -> None:
        """Check asynchronous operations that are issued now, without recording them."""
        for touch in work.touches:
            if touch.space == "shared":
                self._objects.issued(work, touch)
            if len(touch.offsets) and not self._accesses.untouched(touch):
                self._judge_touch(work, touch)
            proxy = work.proxy_of(touch)
            if proxy is not None and not proxy.one_way and len(touch.offsets):
                self._copies.judge(work, touch, proxy)
        check_overlap(self._view, work, self._reports.report)
        self._cross_ordering.signalled(work)
        self._starts.issued(work)
        self._layouts.issued(work)
        self._work.judge(work)

    def _judge_touch(self, work: AsyncOperations, touch: AsyncAccess) -> None:
        """Check one asynchronous access against earlier accesses of warps."""
        proxy = work.proxy_of(touch)
        for shadow, part in self._accesses.parts_of(touch):
            if proxy is not None and proxy.one_way:
                self._one_way.judge(work, part, proxy, shadow, self._causality.first_warp)
                continue
            self._cross_ordering.judge(work, part, shadow, self._causality.ordered, self._causality.first_warp)
            if work.together == 1:  # warps that issue an operation together do so with all lanes
                self._accesses.judge_issuers(work, part, shadow)

    def follows(self, kind: GroupKind, item_id: int, warps: Offsets, lanes: Offsets, places: Offsets) -> None:
        """Record asynchronous arrivals that are performed after a thread's earlier operations."""
        self._work.agents.follows(kind, item_id, warps, lanes, places)

    def completed(self, item_id: int, place: int, phase: int) -> None:
        """Release asynchronous operations to the mbarrier phase in which they have completed."""
        self._work.agents.completed(item_id, place, phase)
        self._starts.completed(item_id, (place, phase))

    def waited(self, kind: GroupKind, warps: Offsets, masks: Masks, done: Offsets, read: Offsets) -> None:
        """Order lanes after the operations of the async-groups that they have waited for."""
        self._work.agents.waited(kind, warps, masks, done, read)

    def wave_ended(self) -> None:
        """Check remote accesses to shared memory against the exit of the CTA that has the memory."""
        if self._view.cluster_size > 1:
            self._block_ends.wave_ended()
        self.dependents.wave_ended()

    def launched_behind(self, before: Observer) -> None:
        """Check this launch for races with the launch that `before` observes."""
        if isinstance(before, RaceChecker):
            self.dependents.launched_behind(before.dependents)

    def grids_complete(self, warps: Offsets, masks: Masks) -> None:
        """Order lanes after the completion of prerequisite grids."""
        self.dependents.complete(warps, masks)

    def dependents_released(self, warps: Offsets, masks: Masks) -> None:
        """Record that lanes have executed `griddepcontrol.launch_dependents`."""
        self.dependents.released(warps, masks)

    def run_ended(self) -> None:
        """Report races between overlapping launches."""
        self.dependents.judge()

    def access(
        self, space: Space, kind: AccessKind, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """Check one instruction's accesses against asynchronous operations and earlier accesses, then record them."""
        if not len(offsets):
            return
        rows, stores = self._accesses.matrix_rows.next, self._accesses.stores
        if rows is not None and (not self._clocks.alike(warps) or self._clocks.waited[warps].any()):
            # If lanes have different clocks, the lane that supplies a row's address cannot represent the lanes that
            # access the row.
            which, at, lanes = rows.of_single_lanes(lanes)
            offsets, size, warps = offsets[which] + at, rows.width, warps[which]
            self._accesses.matrix_rows.next = None
            self._accesses.stores = None if stores is None else stores.single(which, at, size)
        if space == "shared":
            self._objects.accessed(kind, offsets, size, warps, pc)
            self._starts.accessed(kind, offsets, warps, lanes, pc)
            self._block_ends.foreign.enter(offsets, warps, lanes, pc, writes=kind in {"write", "atomic"})
        if self._accesses.noncoherent:
            read = AsyncAccess(space, writes=False, offsets=offsets, size=size, owners=np.arange(len(offsets)))
            self._reports.noncoherent_work(read, self._work.last_writers(read), pc)
        self._work.check_access(space, offsets, size, warps, lanes, pc, kind)
        self.dependents.access(space, kind, offsets, size, warps, lanes, pc)
        self._accesses.access(space, kind, offsets, size, warps, lanes, pc)
