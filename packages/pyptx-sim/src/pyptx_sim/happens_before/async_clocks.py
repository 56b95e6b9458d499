"""Happens-before order of asynchronous operations: queues of operations, each with a clock.

A queue has the operations of one warp and one kind of async-group, or all operations that complete on one mbarrier. If
a wait can cover reads alone (`GroupKind.reads`), these reads are a separate queue. Operations that several warps issue
together are in the queue of the first warp. The clock of a queue counts its operations. It is a component of vector
clocks: one column for the operations of all lanes of a warp, and further columns for single lanes. A vector clock gets
the component from the mbarrier phase in which operations completed, or from a wait of the whole warp
(`GroupKind.tells`). If each lane waits for its own operations (`Waits`), the component follows once all lanes of the
warp have synchronized. Until then, and for threads that are ordered after some of the lanes, the wait of each lane
counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_sim.events import ATOMIC, ISSUER, TIME, agent_rows, lanes_of
from pyptx_sim.events import WARP as WARP_COLUMN
from pyptx_sim.happens_before.columns import Columns
from pyptx_sim.happens_before.lane_masks import bits_of
from pyptx_sim.happens_before.outstanding import Outstanding
from pyptx_sim.happens_before.waits import Waits
from pyptx_sim.machine.lanes import WARP, by_warp, distinct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from pyptx_sim.extension.group import GroupKind
    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.happens_before.phases import Phases
    from pyptx_sim.observer import AsyncAccess, AsyncOperations, Masks, Offsets

Owner: TypeAlias = "tuple[GroupKind | None, bool]"
"""Owner of an operation queue: kind of async-group (None: no wait covers it), and whether it has reads only."""


@dataclass(frozen=True, slots=True)
class _Followed:
    """Operations that asynchronous arrivals of lanes of a warp follow: up to `clock`, in the clock `columns`.

    For a pipelined kind, the arrivals also follow the operations that were complete for the arriving threads: those up
    to clock `over[i]` in column `known_of[i]`.
    """

    columns: Offsets
    clock: int
    known_of: Offsets | None = None
    over: NDArray[np.int32] | None = None


class AsyncClocks:
    """Queues of asynchronous operations of one wave of CTAs."""

    def __init__(self, clocks: WarpClocks, phases: Phases, warps: int, warps_per_cta: int) -> None:
        """Start without operation queues."""
        self._clocks = clocks
        self._phases = phases
        self._warps_per_cta = warps_per_cta
        self._warps = warps
        self._agents: dict[Owner, Columns] = {}  # clock columns of the operation queues of warps
        self._of_barriers: dict[int, int] = {}
        self._now: NDArray[np.int32] = np.zeros(0, np.int32)  # last clock of each operation queue, by clock column
        # Item id and shadow entries of the last operations, by queue owner. `_told`: those of mbarriers, with offsets.
        self._entered: dict[Owner, tuple[int, NDArray[np.int32]]] = {}
        self._told: tuple[int, list[int], NDArray[np.int32]] | None = None
        self._outstanding: dict[Owner, Outstanding] = {}
        self._waits: dict[Owner, Waits] = {}  # waits for operations that a warp issues alone, by queue owner
        self._reached: dict[Owner, NDArray[np.int32]] = {}  # clocks that warps issuing together have waited for
        self._several: set[Owner] = set()  # queue owners for which several lanes of a warp have issued operations
        self._issues: dict[int, list[int]] = {}  # ascending issue times of the operations, by their queue's column
        self._fresh: list[tuple[Offsets, NDArray[np.int32]]] = []  # issue times, by queue, to add to `_issues`
        self._completing: dict[int, list[tuple[int, int]]] = {}  # incomplete operations (item id, clock) per mbarrier
        # Operations that asynchronous arrivals follow, by the arrivals' item id and mbarrier offset.
        self._following: dict[tuple[int, int], list[_Followed]] = {}
        self._issued: Columns | None = None

    def next_wave(self) -> None:
        """Forget all operations at the end of a wave of CTAs; the columns of the operation queues are used again."""
        self._waits.clear()
        self._clocks.waits.clear()
        self._entered.clear()
        self._told = None
        self._several.clear()
        self._now[:] = 0
        for known in (self._outstanding, self._reached, self._completing, self._following):
            known.clear()
        self._issues.clear()
        self._fresh.clear()

    def _agents_of(self, owner: Owner) -> Columns:
        if owner not in self._agents:
            self._agents[owner] = Columns(self._clocks, agents=True)
            self._count()
        return self._agents[owner]

    def _barrier(self, place: int) -> int:
        column = self._of_barriers.get(place)
        if column is None:
            column = self._of_barriers[place] = self._clocks.columns(1, agents=True)
            self._count()
        return column

    def _count(self) -> None:
        """Lengthen `_now` (last clocks of queues, by column of vector clocks) to include the last queue's column."""
        more = self._clocks.of_agents[-1] + 1 - len(self._now)
        self._now = np.concatenate([self._now, np.zeros(more, np.int32)])

    def columns_of(self, kinds: Iterable[GroupKind]) -> NDArray[np.int64]:
        """Return the clock columns of the queues of asynchronous operations of these kinds of async-groups."""
        owners = [(kind, reads) for kind in kinds for reads in (False, True)]
        columns = [self._agents[owner].present() for owner in owners if owner in self._agents]
        return np.concatenate([np.zeros(0, np.int64), *columns])

    def lanes(self) -> Iterator[tuple[int, int, int]]:
        """Yield a triple per lane with a clock column: column of the warp's operation queue, lane, lane's column."""
        for agents in self._agents.values():
            yield from ((agents.first + warp, lane, own) for warp, lane, own in agents.of_lanes())

    def several(self, work: AsyncOperations, touch: AsyncAccess) -> bool:
        """Return whether several lanes of a warp have issued operations with accesses like `touch`, each its own."""
        return touch.barriers is None and _owner_of(work, touch) in self._several

    def issued_columns(self) -> Columns:
        """Return clock columns for issue order: they order asynchronous operations, not accesses to written memory."""
        if self._issued is None:
            self._issued = Columns(self._clocks)
        return self._issued

    def barriers(self) -> dict[int, int]:
        """Return, by clock column, the shared memory offset of each mbarrier on which operations complete."""
        return {column: place for place, column in self._of_barriers.items()}

    def place_of(self, column: int) -> int | None:
        """Return the shared memory offset of the mbarrier whose queue has this clock column, None for other queues."""
        return next((place for place, known in self._of_barriers.items() if known == column), None)

    def how_to_wait(self, column: int) -> str | None:
        """Return the instruction that waits for operations of the operation queue with a column; None if unknown."""
        kinds = (kind for (kind, _), _, _ in self._by_agent(np.array([column])) if kind is not None)
        return next((kind.wait for kind in kinds), None)

    def rows_of(self, work: AsyncOperations, touch: AsyncAccess, item_ids: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return a shadow entry per operation of `work`, which is issued now; `item_ids` name the operations."""
        rows = self._enter(work, touch, item_ids)
        if touch.atomic:
            rows = rows.copy()
            rows[:, ISSUER] += ATOMIC
        return rows

    def _enter(self, work: AsyncOperations, touch: AsyncAccess, item_ids: NDArray[np.int64]) -> NDArray[np.int32]:
        """Count operations, issued now, in their queues' clocks; return shadow entries without the flag `ATOMIC`."""
        # The reads and the writes of one instruction have one clock.
        if touch.barriers is not None:
            places = touch.barriers.tolist()
            if self._told is None or self._told[:2] != (work.item_id, places):
                self._told = work.item_id, places, self._signalling(work, places, item_ids.tolist())
            return self._told[2]
        owner = _owner_of(work, touch)
        entered = self._entered.get(owner)
        if entered is None or entered[0] != work.item_id:
            entered = self._entered[owner] = work.item_id, self._grouped(work, owner, item_ids)
        return entered[1]

    def _signalling(self, work: AsyncOperations, places: list[int], item_ids: list[int]) -> NDArray[np.int32]:
        """Count operations that complete on the mbarriers at offsets `places`; return a shadow entry of each."""
        columns = [self._barrier(place) for place in places]
        clocks = [self._clock_of(item_id, column) for item_id, column in zip(item_ids, columns, strict=True)]
        return agent_rows(np.array(columns), np.zeros(len(places), np.int64), np.array(clocks), work.pc)

    def _clock_of(self, item_id: int, column: int) -> int:
        """Return the clock of operations with one item id in an mbarrier's operation queue; they count as one."""
        waiting = self._completing.setdefault(column, [])
        for known, clock in reversed(waiting):
            if known == item_id:
                return clock
        clock = int(self._now[column]) + 1
        self._now[column] = clock
        waiting.append((item_id, clock))
        return clock

    def _grouped(self, work: AsyncOperations, owner: Owner, item_ids: NDArray[np.int64]) -> NDArray[np.int32]:
        """Count operations of async-groups in operation queues; those of one warp with one item id have one clock."""
        warps, lanes, groups, items = work.warps, work.lanes, work.groups, item_ids
        order = None if (warps[1:] >= warps[:-1]).all() else np.argsort(warps, kind="stable")
        if order is not None:
            warps, lanes, groups, items = warps[order], lanes[order], groups[order], items[order]
        news = np.ones(len(warps), np.bool_)
        news[1:] = (warps[1:] != warps[:-1]) | (items[1:] != items[:-1])
        first = np.flatnonzero(news)
        own, issuers = self._agents_of(owner).first + warps[first], warps[first]
        clocks = self._now[own] + 1 + np.arange(len(own)) - own.searchsorted(own)
        self._now[own] = clocks  # of a queue that is repeated in `own`, the last clock is stored
        pieces = news.cumsum() - 1
        self._outstanding_of(owner).add(own, clocks, pieces, lanes, groups)
        if work.together == 1:
            self._note_issuers(owner, warps * WARP + lanes, clocks[pieces])
        self._fresh.append((own, self._clocks.now[issuers]))
        if order is not None:
            pieces[order] = pieces.copy()
        return agent_rows(own[pieces], work.lanes, clocks[pieces], work.pc)

    def _note_issuers(self, owner: Owner, threads: Offsets, clocks: NDArray[np.int64]) -> None:
        """Record the clocks of issued operations by thread, and whether several lanes of a warp issue operations."""
        issued = self._waits_of(owner).issued
        issued.reshape(-1)[threads] = clocks
        by_lane = owner not in self._several and owner[0] is not None and owner[0].tells == "lanes"
        if by_lane and (np.count_nonzero(issued, axis=1) > 1).any():
            self._several.add(owner)

    def _outstanding_of(self, owner: Owner) -> Outstanding:
        return self._outstanding.setdefault(owner, Outstanding())

    def _waits_of(self, owner: Owner) -> Waits:
        if owner not in self._waits:
            self._waits[owner] = Waits(self._agents_of(owner))
            self._clocks.waits.append(self._waits[owner])
        return self._waits[owner]

    def issued_before(
        self, work: AsyncOperations, owners: Offsets, rows: Offsets, last: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """Return, per shadow entry in `last`, whether its operation precedes one of `work` in pipeline issue order.

        Operation `last[i]` is compared with number `owners[i]` of `work`, whose thread has the vector clock `rows[i]`.
        """
        kind = work.kind
        ordered = np.zeros(len(last), np.bool_)
        agents = self._agents.get((kind, False))
        if kind is None or not kind.pipelined or agents is None:
            return ordered
        columns = last[:, WARP_COLUMN].astype(np.int64) - 1
        warps = columns - agents.first
        alone = np.count_nonzero(self._waits_of((kind, False)).issued, axis=1) == 1
        ordered[:] = (warps == work.warps[owners]) & alone[warps % self._warps]
        rest = np.flatnonzero(~ordered & (warps >= 0) & (warps < self._warps))
        if len(rest):
            others, bits, times = warps[rest], bits_of(lanes_of(last)[rest]), self._issued_at(last[rest])
            own, mine = others == work.warps[owners[rest]], bits_of(work.lanes[owners[rest]])
            held = self._clocks.orders(rows[rest], others, bits, times)
            if self._issued is not None:
                held |= self._issued.hold(self._clocks.known, rows[rest], others, bits, times)
            within = self._clocks.orders_within(rows[rest], others, mine, bits, times)
            ordered[rest] = np.where(own, within, held)
        return ordered

    def over(
        self, last: NDArray[np.int32], warps: Offsets, masks: NDArray[np.int32], rows: Offsets, *, reads: bool
    ) -> NDArray[np.bool_]:
        """Return, per shadow entry in `last`, whether its operation is complete for lanes `masks[i]` of `warps[i]`.

        `rows` are the lanes' vector clocks. `reads`: the operation only reads the location, so that it need not be
        visible.
        """
        columns, lanes, clocks = last[:, WARP_COLUMN].astype(np.int64) - 1, lanes_of(last), last[:, TIME]
        over = self._clocks.retired.over(rows, columns, lanes, clocks)
        for owner, at, issuers in self._by_agent(columns):
            bits, known = bits_of(lanes[at]), self._clocks.known
            over[at] = self._agents[owner].hold(known, rows[at], issuers, bits, clocks[at])
            if owner not in self._waits:
                continue
            times = self._waits[owner].times(issuers, lanes[at], clocks[at])
            ordered = self._clocks.orders(rows[at], issuers, bits, times)
            if reads and self._phases.over is not None:
                ordered |= self._phases.over.hold(known, rows[at], issuers, bits, times)
            own = np.flatnonzero(issuers == warps[at])
            mine = rows[at[own]], issuers[own], masks[at[own]]
            ordered[own] = self._clocks.orders_within(*mine, bits[own], times[own])
            over[at] |= ordered & (times > 0)
        return over

    def waited_at(self, last: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return, per shadow entry in `last`, the time of the issuing lane's wait for its operation; 0 without one."""
        times = np.zeros(len(last), np.int32)
        for owner, at, issuers in self._by_agent(last[:, WARP_COLUMN].astype(np.int64) - 1):
            if owner in self._waits:
                times[at] = self._waits[owner].times(issuers, lanes_of(last)[at], last[at, TIME])
        return times

    def threads_of(self, last: NDArray[np.int32]) -> tuple[Offsets, NDArray[np.int32], NDArray[np.int32]]:
        """Return, per shadow entry in `last`, the issuing warp, the issuing lane as a mask, and a time.

        The time is that of the lane's wait for the operation, or of the issue if the lane has not waited.
        """
        warps, waited = np.zeros(len(last), np.int64), self.waited_at(last)
        for _, at, issuers in self._by_agent(last[:, WARP_COLUMN].astype(np.int64) - 1):
            warps[at] = issuers
        return warps, bits_of(lanes_of(last)), np.where(waited > 0, waited, self._issued_at(last))

    def _issued_at(self, last: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return, per shadow entry in `last`, the time of the issuing warp at the issue of the operation."""
        for columns, times in self._fresh:
            for column, time in zip(columns.tolist(), times.tolist(), strict=True):
                self._issues.setdefault(column, []).append(time)
        self._fresh.clear()
        pieces, which = np.unique(last[:, [WARP_COLUMN, TIME]], axis=0, return_inverse=True)
        known = [self._issues[column - 1][clock - 1] for column, clock in pieces.tolist()]
        return np.array(known, np.int32)[which.reshape(-1)]

    def _by_agent(self, columns: NDArray[np.int64]) -> Iterator[tuple[Owner, NDArray[np.int64], Offsets]]:
        """Yield each queue owner, the indices in `columns` of the owner's queues of single warps, and these warps."""
        for owner, agents in self._agents.items():
            at = np.flatnonzero((columns >= agents.first) & (columns < agents.first + self._warps))
            if len(at):
                yield owner, at, columns[at] - agents.first

    def waited(self, kind: GroupKind, warps: Offsets, masks: Masks, done: Offsets, read: Offsets) -> None:
        """Order lanes after the operations of the groups that they have waited for."""
        issuers = self._first_of(kind.together, warps)
        for owner, below in (((kind, False), done), ((kind, True), read)):
            if owner in self._agents:
                self._know(kind, owner, warps, masks, self._agents[owner].first + issuers, below)

    def _first_of(self, together: int, warps: Offsets) -> Offsets:
        """Return, per warp, the first of the `together` consecutive warps that issue operations together with it."""
        if together == 1:
            return warps
        inside = warps % self._warps_per_cta
        first: Offsets = warps - inside + inside // together * together
        return first

    def _know(
        self, kind: GroupKind, owner: Owner, warps: Offsets, masks: Masks, columns: Offsets, below: Offsets
    ) -> None:
        """Record the operations that are complete for lanes `masks` of `warps`, by their wait for groups `below`."""
        outstanding = self._outstanding_of(owner)
        if kind.together == 1:
            waited = outstanding.judged(columns, below)
            now = self._now[columns]
            clocks = waited.clocks(now)
            self._waits_of(owner).enter(warps, masks, self._clocks.now[warps], waited.clocks_of_lanes(now, below))
            waited.drop()
        else:
            clocks = np.zeros(len(warps), np.int32)
            for number in range(kind.together):  # the warps in `some` have different operation queues
                some = np.flatnonzero(warps % kind.together == number)
                waited = outstanding.judged(columns[some], below[some])
                clocks[some] = waited.clocks(self._now[columns[some]])
            self._forget(kind, owner, warps, clocks)
        if kind.tells == "warp":
            self._clocks.learn_of(warps, masks, columns, clocks)
        else:
            self._clocks.waited[warps] = True

    def _forget(self, kind: GroupKind, owner: Owner, warps: Offsets, clocks: NDArray[np.int32]) -> None:
        """Forget operations of several warps once all warps that issued them together have waited for them."""
        reached = self._reached.setdefault(owner, np.zeros(self._warps, np.int32))
        reached[warps] = clocks
        members = np.arange(self._warps)[:, None] + np.arange(kind.together)
        known = reached[np.minimum(members, self._warps - 1)].min(axis=1)
        self._outstanding_of(owner).drop_known(self._agents[owner].first, known)

    def follows(self, kind: GroupKind, item_id: int, warps: Offsets, lanes: Offsets, places: Offsets) -> None:
        """Record arrivals at the mbarriers at `places` that follow all operations of `kind` issued by each thread."""
        for place in distinct(places).tolist():
            here = places == place
            arriving = zip(*by_warp(warps[here], lanes[here]), strict=True)
            self._following[item_id, place] = [self._followed_by(kind, int(warp), mask) for warp, mask in arriving]

    def _followed_by(self, kind: GroupKind, warp: int, mask: NDArray[np.bool_]) -> _Followed:
        """Return the operations of a kind that arrivals of lanes of a warp follow if they are issued now."""
        agents = self._agents_of((kind, False))
        columns, issuers = np.array([agents.first + warp]), self._waits_of((kind, False)).issued[warp] > 0
        if (issuers & ~mask).any():
            lanes = np.flatnonzero(issuers & mask)
            columns = agents.of_threads(np.full(len(lanes), warp), lanes)
        clock = int(self._now[agents.first + warp])
        if not kind.pipelined:
            return _Followed(columns, clock)
        others = np.array(self._clocks.of_agents)
        return _Followed(columns, clock, others, self._clocks.known_by(np.array([warp]), mask[None])[0, others])

    def completed(self, item_id: int, place: int, phase: int) -> None:
        """Release the operations with an item id to the mbarrier phase in which they have completed."""
        following = self._following.get((item_id, place))
        if following is None:
            column = self._barrier(place)
            waiting = self._completing.get(column, [])
            self._completing[column] = waiting = [entry for entry in waiting if entry[0] != item_id]
            # An operation that completes before an earlier operation on the same mbarrier is released when the earlier
            # one completes.
            told = [(column, waiting[0][1] - 1 if waiting else int(self._now[column]))]
        else:
            told = [(column, followed.clock) for followed in following for column in followed.columns.tolist()]
        left = self._phases.at(place, phase)
        for column, clock in told:
            left[column] = max(int(left[column]), clock)
        for followed in following or ():
            if followed.known_of is not None and followed.over is not None:
                left[followed.known_of] = np.maximum(left[followed.known_of], followed.over)


def _owner_of(work: AsyncOperations, touch: AsyncAccess) -> Owner:
    """Return the owner of the operation queue of an asynchronous access that no mbarrier tracks."""
    return work.kind, work.kind is not None and work.kind.reads and not touch.writes
