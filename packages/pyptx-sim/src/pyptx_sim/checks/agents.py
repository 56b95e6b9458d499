"""Asynchronous work as agents beside the warps: whose clock a warp knows up to where.

What a warp issues belongs to an agent: one of the warp for its cp.async copies, two for its bulk groups (what they
read, and all of it), one of the warpgroup for its products, one of each mbarrier. An agent's clock counts its work. A
warp learns of it by waiting: for a group, or for the phase of an mbarrier in which the work landed; from then on others
learn of it as of everything else that the warp knows. So the agents' clocks are columns beside those of the warps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from pyptx_sim.machine.lanes import WARP
from pyptx_sim.observer import WARPGROUP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.checks.clocks import WarpClocks
    from pyptx_sim.checks.phases import Phases
    from pyptx_sim.observer import GroupKind, Masks, Offsets, Touch, Work

Owner: TypeAlias = 'Literal["copy", "bulk", "bulk-read", "wgmma"]'


@dataclass(frozen=True, slots=True)
class _Outstanding:
    """Work of a warp that no wait has covered: its clock, and the threads with their groups."""

    clock: int
    lanes: NDArray[np.int64]
    groups: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Followed:
    """Copies of a warp, up to a clock, that arrivals of the lanes in `mask` follow.

    `entries` are the clocks and the threads of those under way, if other threads than these have copied.
    """

    column: int
    clock: int
    mask: NDArray[np.bool_]
    entries: tuple[tuple[int, NDArray[np.int64]], ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """The last phase of an mbarrier that a wait of a warp saw complete; `old`: the warp knew that before."""

    phase: int
    pc: int
    old: bool


class Agents:
    """The agents of one wave."""

    def __init__(self, clocks: WarpClocks, phases: Phases, warps: int, warps_per_cta: int) -> None:
        """Begin without any."""
        self._clocks = clocks
        self._phases = phases
        self._warps_per_cta = warps_per_cta
        self._warps = warps
        self._of_warps: dict[Owner, int] = {}  # the first of a column for each warp
        self._of_barriers: dict[int, int] = {}
        self._now: dict[int, int] = {}  # by column
        self._groups: dict[int, list[_Outstanding]] = {}  # by column
        self._issuers: dict[int, NDArray[np.bool_]] = {}  # by column: lanes that have issued any such work
        self._landing: dict[int, list[tuple[int, int]]] = {}  # by column: tickets and clocks
        self._following: dict[int, list[_Followed]] = {}  # by ticket
        # By place and phase, and column: which lanes have let arrivals follow the copies of each clock.
        self._covered: dict[tuple[int, int, int], dict[int, NDArray[np.bool_]]] = {}
        self._seen: dict[tuple[int, int], Seen] = {}  # by place of an mbarrier and warp
        self._latest: dict[int, Seen] = {}  # by warp

    def next_wave(self) -> None:
        """Forget all work; columns stay."""
        self._covered.clear()
        self._issuers.clear()
        for known in (self._now, self._groups, self._landing, self._following, self._seen, self._latest):
            known.clear()

    def _column(self, owner: Owner, warp: int) -> int:
        first = self._of_warps.get(owner)
        if first is None:
            first = self._of_warps[owner] = self._clocks.columns(self._warps, agents=True)
        return first + warp

    def _barrier(self, place: int) -> int:
        column = self._of_barriers.get(place)
        if column is None:
            column = self._of_barriers[place] = self._clocks.columns(1, agents=True)
        return column

    def barriers(self) -> dict[int, int]:
        """Return the places of the mbarriers that any work has told, by their columns."""
        return {column: place for place, column in self._of_barriers.items()}

    def enter(self, work: Work, touch: Touch) -> tuple[Offsets, NDArray[np.int32]]:
        """Return the column and the clock of the agent of each operation, for work that is issued now."""
        agents = np.empty(len(work.warps), np.int64)
        if touch.barriers is not None:
            for place in np.unique(touch.barriers).tolist():
                agents[touch.barriers == place] = self._told(work, self._barrier(place))
        else:
            owner: Owner = work.kind or "bulk"
            if owner == "bulk" and not touch.writes:
                owner = "bulk-read"
            for warp in np.unique(work.warps).tolist():
                here = work.warps == warp
                column = self._column(owner, warp)
                agents[here] = column
                self._grouped(work, column, here)
        times = np.array([self._now[column] for column in agents.tolist()], np.int32)
        return agents, times

    def _told(self, work: Work, column: int) -> int:
        waiting = self._landing.setdefault(column, [])
        if not any(ticket == work.ticket for ticket, _ in waiting):
            self._now[column] = self._now.get(column, 0) + 1
            waiting.append((work.ticket, self._now[column]))
        return column

    def _grouped(self, work: Work, column: int, here: NDArray[np.bool_]) -> None:
        # Reads and writes of one cp.async are one agent's, and each takes a tick: no harm.
        self._now[column] = self._now.get(column, 0) + 1
        entry = _Outstanding(self._now[column], work.lanes[here], work.groups[here])
        self._groups.setdefault(column, []).append(entry)
        self._issuers.setdefault(column, np.zeros(WARP, np.bool_))[entry.lanes] = True

    def waited(self, kind: GroupKind, warps: Offsets, masks: Masks, done: Offsets, read: Offsets) -> None:
        """Let lanes of warps know the groups that they have waited for."""
        owners: tuple[tuple[Owner, Offsets], ...] = ((kind, done),)
        if kind == "bulk":
            owners = (("bulk", done), ("bulk-read", read))
        issuers = self._first_of_warpgroup(warps) if kind == "wgmma" else warps
        for owner, below in owners:
            if owner not in self._of_warps:
                continue
            for row, (warp, issuer) in enumerate(zip(warps.tolist(), issuers.tolist(), strict=True)):
                self._know(warp, masks[row], self._column(owner, issuer), below[row], alone=kind == "bulk")

    def _first_of_warpgroup(self, warps: Offsets) -> Offsets:
        """Return the warps under which products of the warpgroups of `warps` are entered."""
        inside = warps % self._warps_per_cta
        first: Offsets = warps - inside + inside // WARPGROUP * WARPGROUP
        return first

    def _know(self, warp: int, mask: NDArray[np.bool_], column: int, below: NDArray[np.int64], *, alone: bool) -> None:
        """Let lanes that wait know what is over; `alone`: only those that had issued it, whose groups these are."""
        outstanding = self._groups.get(column)
        if not outstanding:
            return
        pending = [bool((entry.groups >= below[entry.lanes]).any()) for entry in outstanding]
        over = [entry for entry, later in zip(outstanding, pending, strict=True) if not later]
        left = [entry for entry, later in zip(outstanding, pending, strict=True) if later]
        self._groups[column] = left
        clock = left[0].clock - 1 if left else self._now[column]
        learns = mask
        if alone and over:
            learns = np.zeros_like(mask)
            learns[np.concatenate([entry.lanes for entry in over])] = True
        told = np.zeros(self._clocks.known.shape[1], np.int32)
        told[column] = clock
        self._clocks.learn(np.array([warp]), learns[None], told)

    def follows(self, ticket: int, warps: Offsets, masks: Masks) -> None:
        """Note that arrivals will tell of all copies that these lanes have issued so far."""
        following = self._following[ticket] = []
        for warp, mask in zip(warps.tolist(), masks, strict=True):
            column = self._column("copy", warp)
            others = (self._issuers.get(column, mask) & ~mask).any()
            outstanding = self._groups.get(column, []) if others else []
            entries = tuple((entry.clock, entry.lanes) for entry in outstanding)
            following.append(_Followed(column, self._now.get(column, 0), mask.copy(), entries))

    def acquired(self, place: int, phase: int, warps: Offsets, pc: int) -> None:
        """Note which phase of an mbarrier warps have seen, and whether that told them anything new."""
        for warp in np.unique(warps).tolist():
            before = self._seen.get((place, warp))
            old = phase < 0 or (before is not None and before.phase == phase)
            self._latest[warp] = self._seen[place, warp] = Seen(phase, pc, old)

    def seen(self, column: int, warp: int) -> Seen | None:
        """Return what a warp last saw at the mbarrier with that column, None for another agent's column."""
        place = next((place for place, known in self._of_barriers.items() if known == column), None)
        return self._seen.get((place, warp)) if place is not None else None

    def latest(self, warp: int) -> Seen | None:
        """Return what a warp last saw at any mbarrier."""
        return self._latest.get(warp)

    def landed(self, ticket: int, place: int, phase: int) -> None:
        """Leave at a phase of an mbarrier that work has completed."""
        following = self._following.get(ticket)
        if following is None:
            column = self._barrier(place)
            waiting = self._landing.get(column, [])
            self._landing[column] = waiting = [entry for entry in waiting if entry[0] != ticket]
            # Of work on one barrier, what landed out of order counts once all before it has landed.
            told = [(column, waiting[0][1] - 1 if waiting else self._now.get(column, 0))]
        else:
            told = [(followed.column, self._followed(followed, place, phase)) for followed in following]
        left = self._phases.at(place, phase)
        for column, clock in told:
            left[column] = max(int(left[column]), clock)

    def _followed(self, followed: _Followed, place: int, phase: int) -> int:
        """Return the clock up to which all threads that copied have let their arrivals follow in a phase."""
        covered = self._covered.setdefault((place, phase, followed.column), {})
        for clock, lanes in followed.entries:
            covered.setdefault(clock, np.zeros(WARP, np.bool_))[lanes] |= followed.mask[lanes]
        pending = (clock for clock, lanes in followed.entries if not covered[clock][lanes].all())
        return next(pending, followed.clock + 1) - 1
