"""Asynchronous work as agents beside the warps: whose clock a warp knows up to where.

What a warp issues belongs to an agent: one of the warp for each kind of groups, two where groups can be waited for as
far as they read (what they read, and all of it), one of each mbarrier. What several warps issue together is under the
first of them. An agent's clock counts its work. A warp learns of it by waiting: for a group, or for the phase of an
mbarrier in which the work completed; from then on others learn of it as of everything else that the warp knows. So the
agents' clocks are columns beside those of the warps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_sim.checks.asynchrony.outstanding import Outstanding
from pyptx_sim.checks.race.columns import Columns
from pyptx_sim.checks.race.lane_masks import bits_of
from pyptx_sim.checks.race.tables import TIME
from pyptx_sim.checks.race.tables import WARP as WARP_COLUMN
from pyptx_sim.machine.lanes import WARP, by_warp, distinct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from pyptx_sim.checks.asynchrony.phases import Phases
    from pyptx_sim.checks.race.clocks import WarpClocks
    from pyptx_sim.extension import GroupKind
    from pyptx_sim.observer import Masks, Offsets, Touch, Work

Owner: TypeAlias = "tuple[GroupKind | None, bool]"
"""The groups whose work it is (None: nothing tells of it), and whether it only reads, and can be waited for so far."""


@dataclass(frozen=True, slots=True)
class _Followed:
    """Work of a warp, up to a clock, that arrivals of the lanes in `mask` follow.

    `entries` are the clocks and the threads of what is under way, if other threads than these have issued any. Work of
    a pipeline is behind all work that its threads knew to be over: `over` are the clocks of the agents in `known_of`.
    """

    column: int
    clock: int
    mask: NDArray[np.bool_]
    entries: tuple[tuple[int, NDArray[np.int64]], ...]
    known_of: Offsets | None = None
    over: NDArray[np.int32] | None = None


@dataclass(frozen=True, slots=True)
class Pieces:
    """Work issued now, as its agents count it: piece i by `warps[i]`, at `clocks[i]` of the agent in `columns[i]`.

    Operation j is of piece `of[j]`.
    """

    columns: Offsets
    clocks: NDArray[np.int32]
    warps: Offsets
    of: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Seen:
    """The last phase of an mbarrier that a wait of a warp saw complete; `old`: the warp knew that before."""

    phase: int
    pc: int
    old: bool


class AsyncClocks:
    """The agents of one wave."""

    def __init__(self, clocks: WarpClocks, phases: Phases, warps: int, warps_per_cta: int) -> None:
        """Begin without any."""
        self._clocks = clocks
        self._phases = phases
        self._warps_per_cta = warps_per_cta
        self._warps = warps
        self._of_warps: dict[Owner, int] = {}  # the first of a column for each warp
        self._of_barriers: dict[int, int] = {}
        self._now: NDArray[np.int32] = np.zeros(0, np.int32)  # by column
        # The last item_id, and what it got; of mbarriers, together with these.
        self._entered: dict[Owner, tuple[int, Pieces]] = {}
        self._told: tuple[int, list[int], Pieces] | None = None
        self._outstanding: dict[Owner, Outstanding] = {}
        self._reached: dict[Owner, NDArray[np.int32]] = {}  # by warp: up to which clock it has waited
        self._issuers: dict[GroupKind | None, NDArray[np.bool_]] = {}  # lanes that have issued work of a kind
        self._issues: dict[int, list[tuple[int, int]]] = {}  # of pipelined work, by column: when, and by which lanes
        self._completing: dict[int, list[tuple[int, int]]] = {}  # by column: item ids and clocks
        self._following: dict[tuple[int, int], list[_Followed]] = {}  # by item_id and place of the mbarrier
        # By place and phase, and column: which lanes have let arrivals follow the work of each clock.
        self._covered: dict[tuple[int, int, int], dict[int, NDArray[np.bool_]]] = {}
        self._seen: dict[tuple[int, int], Seen] = {}  # by place of an mbarrier and warp
        self._latest: dict[int, Seen] = {}  # by warp
        self._issued: Columns | None = None
        self._below: dict[Owner, NDArray[np.int64]] = {}  # by warp and lane: first group that it has not waited for

    def next_wave(self) -> None:
        """Forget all work; columns stay."""
        self._covered.clear()
        self._below.clear()
        self._entered.clear()
        self._told = None
        self._issuers.clear()
        self._now[:] = 0
        for known in (self._outstanding, self._reached, self._completing, self._following, self._seen, self._latest):
            known.clear()
        self._issues.clear()

    def _column(self, owner: Owner, warp: int) -> int:
        first = self._of_warps.get(owner)
        if first is None:
            first = self._of_warps[owner] = self._columns(self._warps)
        return first + warp

    def _barrier(self, place: int) -> int:
        column = self._of_barriers.get(place)
        if column is None:
            column = self._of_barriers[place] = self._columns(1)
        return column

    def _columns(self, count: int) -> int:
        first = self._clocks.columns(count, agents=True)
        self._now = np.concatenate([self._now, np.zeros(first + count - len(self._now), np.int32)])
        return first

    def columns_of(self, kinds: Iterable[GroupKind]) -> NDArray[np.int64]:
        """Return the columns of the work of some kinds."""
        firsts = [
            self._of_warps[kind, reads] for kind in kinds for reads in (False, True) if (kind, reads) in self._of_warps
        ]
        columns: NDArray[np.int64] = (np.array(firsts, np.int64)[:, None] + np.arange(self._warps)).reshape(-1)
        return columns

    def issued_columns(self) -> Columns:
        """Return the columns that say of whom one knows what work they had issued, and not what they had written."""
        if self._issued is None:
            self._issued = Columns(self._clocks)
        return self._issued

    def barriers(self) -> dict[int, int]:
        """Return the places of the mbarriers that any work has told, by their columns."""
        return {column: place for place, column in self._of_barriers.items()}

    def how_to_wait(self, column: int) -> str | None:
        """Return how to wait for what an agent does; None if there is no more to say than the rules do."""
        for (kind, _), first in self._of_warps.items():
            if kind is not None and first <= column < first + self._warps:
                return kind.wait
        return None

    def enter(self, work: Work, touch: Touch, item_ids: NDArray[np.int64]) -> Pieces:
        """Count work issued now, whose operations have these item_ids."""
        # What one instruction reads and writes is one agent's.
        if touch.barriers is not None:
            places = touch.barriers.tolist()
            if self._told is None or self._told[:2] != (work.item_id, places):
                self._told = work.item_id, places, self._signalling(work, places, item_ids.tolist())
            return self._told[2]
        kind = work.kind
        owner: Owner = kind, kind is not None and kind.reads and not touch.writes
        entered = self._entered.get(owner)
        if entered is None or entered[0] != work.item_id:
            entered = self._entered[owner] = work.item_id, self._grouped(work, owner, item_ids)
        return entered[1]

    def _signalling(self, work: Work, places: list[int], item_ids: list[int]) -> Pieces:
        """Count work that mbarriers at some places tell of; each operation is a piece."""
        columns = [self._barrier(place) for place in places]
        clocks = [self._clock_of(item_id, column) for item_id, column in zip(item_ids, columns, strict=True)]
        return Pieces(np.array(columns), np.array(clocks, np.int32), work.warps, np.arange(len(places)))

    def _clock_of(self, item_id: int, column: int) -> int:
        """Return the clock of an item that an mbarrier tells of, which counts once."""
        waiting = self._completing.setdefault(column, [])
        for known, clock in reversed(waiting):
            if known == item_id:
                return clock
        clock = int(self._now[column]) + 1
        self._now[column] = clock
        waiting.append((item_id, clock))
        return clock

    def _grouped(self, work: Work, owner: Owner, item_ids: NDArray[np.int64]) -> Pieces:
        """Count work of groups: operations of one warp and one item_id are one piece."""
        warps, lanes, groups, items = work.warps, work.lanes, work.groups, item_ids
        order = None if (warps[1:] >= warps[:-1]).all() else np.argsort(warps, kind="stable")
        if order is not None:
            warps, lanes, groups, items = warps[order], lanes[order], groups[order], items[order]
        news = np.ones(len(warps), np.bool_)
        news[1:] = (warps[1:] != warps[:-1]) | (items[1:] != items[:-1])
        first = np.flatnonzero(news)
        own, issuers = self._column(owner, 0) + warps[first], warps[first]
        clocks = self._now[own] + 1 + np.arange(len(own)) - own.searchsorted(own)
        self._now[own] = clocks  # of equal columns the last counts
        pieces = news.cumsum() - 1
        self._outstanding_of(owner).add(own, clocks, pieces, lanes, groups)
        if owner[0] is not None and owner[0].pipelined:
            masks = np.bitwise_or.reduceat(bits_of(lanes), first)
            times = self._clocks.now[issuers]
            for column, issue in zip(own.tolist(), zip(times.tolist(), masks.tolist(), strict=True), strict=True):
                self._issues.setdefault(column, []).append(issue)
        self._issuers_of(owner[0])[work.warps, work.lanes] = True
        if order is not None:
            pieces[order] = pieces.copy()
        return Pieces(own, clocks.astype(np.int32), issuers, pieces)

    def _outstanding_of(self, owner: Owner) -> Outstanding:
        return self._outstanding.setdefault(owner, Outstanding())

    def issued_before(self, work: Work, owners: Offsets, rows: Offsets, last: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Tell for each of `last`, entries of agents, whether its work comes before some of `work` in a pipeline.

        `owners` says which operation meets each, and `rows` what its thread knows.
        """
        kind = work.kind
        ordered = np.zeros(len(last), np.bool_)
        first = self._of_warps.get((kind, False))
        if kind is None or not kind.pipelined or first is None:
            return ordered
        columns = last[:, WARP_COLUMN].astype(np.int64) - 1
        warps = columns - first
        ordered[:] = (warps == work.warps[owners]) & (self._issuers_of(kind).sum(axis=1) == 1)[warps % self._warps]
        rest = np.flatnonzero(~ordered & (warps >= 0) & (warps < self._warps))
        if len(rest):
            clocks = last[rest, TIME]
            named = zip(columns[rest].tolist(), clocks.tolist(), strict=True)
            issues = np.array([self._issues[column][clock - 1] for column, clock in named])
            own, others, mine = warps[rest] == work.warps[owners[rest]], warps[rest], bits_of(work.lanes[owners[rest]])
            held = self._clocks.orders(rows[rest], others, issues[:, 1], issues[:, 0])
            if self._issued is not None:
                held |= self._issued.hold(self._clocks.known, rows[rest], others, issues[:, 1], issues[:, 0])
            within = self._clocks.orders_within(rows[rest], others, mine, issues[:, 1], issues[:, 0])
            ordered[rest] = np.where(own, within, held)
        return ordered

    def over_for_issuers(self, last: NDArray[np.int32], warps: Offsets, lanes: Offsets) -> NDArray[np.bool_]:
        """Return, per entry, whether the accessing lane has waited for its own part of the asynchronous operation.

        Diverged lanes wait one after the other; the warp's clock includes the operation after all have waited.
        """
        over = np.zeros(len(last), np.bool_)
        columns = last[:, WARP_COLUMN].astype(np.int64) - 1
        for owner, below in self._below.items():
            first = self._of_warps[owner]
            for number in np.flatnonzero(columns - first == warps).tolist():
                warp, lane = int(warps[number]), int(lanes[number])
                group = self._outstanding_of(owner).group(int(columns[number]), int(last[number, TIME]), lane)
                over[number] = group is None or 0 <= group < below[warp, lane]
        return over

    def _issuers_of(self, kind: GroupKind | None) -> NDArray[np.bool_]:
        """Return which lanes have issued work of a kind."""
        known = self._issuers.get(kind)
        if known is None:
            known = self._issuers[kind] = np.zeros((self._warps, WARP), np.bool_)
        return known

    def waited(self, kind: GroupKind, warps: Offsets, masks: Masks, done: Offsets, read: Offsets) -> None:
        """Let lanes of warps know the groups that they have waited for."""
        issuers = self._first_of(kind.together, warps)
        for owner, below in (((kind, False), done), ((kind, True), read)):
            if owner in self._of_warps:
                self._know(kind, owner, warps, masks, self._column(owner, 0) + issuers, below)

    def _first_of(self, together: int, warps: Offsets) -> Offsets:
        """Return the warps under which the work of `warps` is entered, so many of which issue it as one."""
        if together == 1:
            return warps
        inside = warps % self._warps_per_cta
        first: Offsets = warps - inside + inside // together * together
        return first

    def _know(
        self, kind: GroupKind, owner: Owner, warps: Offsets, masks: Masks, columns: Offsets, below: Offsets
    ) -> None:
        """Let lanes that wait know what is over; where a wait tells lanes, those that had issued it."""
        outstanding = self._outstanding_of(owner)
        if kind.tells == "lanes":
            waited = outstanding.judged(columns, below)
            clocks = np.where(waited.any(len(warps)), waited.clocks(self._now[columns]), 0)
            masks = waited.issuers(masks)
            waited.drop()
        else:
            if kind.together == 1:
                waited_below = self._below.setdefault(owner, np.zeros((self._warps, WARP), np.int64))
                waited_below[warps] = np.where(masks, below, waited_below[warps])
            clocks = np.zeros(len(warps), np.int32)
            for number in range(kind.together):  # at most one of those that issue it as one
                some = np.flatnonzero(warps % kind.together == number)
                waited = outstanding.judged(columns[some], below[some])
                clocks[some] = waited.clocks(self._now[columns[some]])
            self._forget(kind, owner, warps, clocks)
        self._clocks.learn_of(warps, masks, columns, clocks)

    def _forget(self, kind: GroupKind, owner: Owner, warps: Offsets, clocks: NDArray[np.int32]) -> None:
        """Forget work that all of the warps that issued it together have waited for."""
        reached = self._reached.setdefault(owner, np.zeros(self._warps, np.int32))
        reached[warps] = clocks
        members = np.arange(self._warps)[:, None] + np.arange(kind.together)
        known = reached[np.minimum(members, self._warps - 1)].min(axis=1)
        self._outstanding_of(owner).drop_known(self._column(owner, 0), known)

    def follows(self, kind: GroupKind, item_id: int, warps: Offsets, lanes: Offsets, places: Offsets) -> None:
        """Note that arrivals will tell the mbarriers at `places` of what each thread has issued so far of a kind."""
        for place in distinct(places).tolist():
            here = places == place
            arriving = zip(*by_warp(warps[here], lanes[here]), strict=True)
            self._following[item_id, place] = [self._followed_by(kind, int(warp), mask) for warp, mask in arriving]

    def _followed_by(self, kind: GroupKind, warp: int, mask: NDArray[np.bool_]) -> _Followed:
        """Return the work of a kind that arrivals of lanes of a warp follow now."""
        column = self._column((kind, False), warp)
        others = (self._issuers_of(kind)[warp] & ~mask).any()
        entries = tuple(self._outstanding_of((kind, False)).of(column)) if others else ()
        agents: Offsets | None = None
        over: NDArray[np.int32] | None = None
        if kind.pipelined:
            agents = np.array(self._clocks.of_agents)
            over = self._clocks.known_by(np.array([warp]), mask[None])[0, agents]
        return _Followed(column, int(self._now[column]), mask, entries, agents, over)

    def acquired(self, place: int, phase: int, warps: Offsets, pc: int) -> None:
        """Note which phase of an mbarrier warps have seen, and whether that told them anything new."""
        for warp in warps.tolist():
            before = self._seen.get((place, warp))
            old = phase < 0 or (before is not None and before.phase == phase)
            self._latest[warp] = self._seen[place, warp] = Seen(phase, pc, old)

    def seen(self, column: int, warp: int) -> Seen | None:
        """Return what a warp last saw at the mbarrier with that column, None for another agent's column."""
        place = next((place for place, known in self._of_barriers.items() if known == column), None)
        return self._seen.get((place, warp)) if place is not None else None

    def has_seen(self, place: int, warp: int) -> bool:
        """Tell whether a warp has seen a phase of the mbarrier at a place complete."""
        return (place, warp) in self._seen

    def latest(self, warp: int) -> Seen | None:
        """Return what a warp last saw at any mbarrier."""
        return self._latest.get(warp)

    def completed(self, item_id: int, place: int, phase: int) -> None:
        """Leave at a phase of an mbarrier that work has completed."""
        following = self._following.get((item_id, place))
        if following is None:
            column = self._barrier(place)
            waiting = self._completing.get(column, [])
            self._completing[column] = waiting = [entry for entry in waiting if entry[0] != item_id]
            # Of work on one barrier, what completed out of order counts once all before it has completed.
            told = [(column, waiting[0][1] - 1 if waiting else int(self._now[column]))]
        else:
            told = [(followed.column, self._followed(followed, place, phase)) for followed in following]
        left = self._phases.at(place, phase)
        for column, clock in told:
            left[column] = max(int(left[column]), clock)
        for followed in following or ():
            if followed.known_of is not None and followed.over is not None:
                left[followed.known_of] = np.maximum(left[followed.known_of], followed.over)

    def _followed(self, followed: _Followed, place: int, phase: int) -> int:
        """Return the clock up to which all threads that copied have let their arrivals follow in a phase."""
        covered = self._covered.setdefault((place, phase, followed.column), {})
        for clock, lanes in followed.entries:
            covered.setdefault(clock, np.zeros(WARP, np.bool_))[lanes] |= followed.mask[lanes]
        pending = (clock for clock, lanes in followed.entries if not covered[clock][lanes].all())
        return next(pending, followed.clock + 1) - 1
