"""Races of asynchronous work with warps and with other such work, and the fences between proxies.

Work happens any time between its issue and the moment at which somebody has waited for it; so it is judged at its issue
against what went before, and entered for what comes behind. It never matters when it landed.

Granules are words of four bytes here: two bytes of one word count as the same place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_sim.checks.agents import Agents
from pyptx_sim.checks.shadow import COLUMNS, LANE, NOBODY, PC, TIME, WARP, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.checks.clocks import WarpClocks
    from pyptx_sim.observer import AccessKind, Offsets, RunView, Space, Touch, Work

GRANULE = 4
# Reads of so many agents are kept for each granule.
READERS = 4

Report: TypeAlias = Callable[[str, str, int, int], None]


@dataclass(slots=True)
class Entries:
    """Accesses of granules: `at[i]` by `warps[i]` (of asynchronous work: the warp that issued it).

    Atomic ones may meet each other.
    """

    space: Space
    at: NDArray[np.int64]
    warps: NDArray[np.int64]
    pc: int
    atomic: bool = False


class _Marks:
    """The last asynchronous write, and the last reads of some agents, of each granule of an arena.

    The columns of a row: the agent's (from 1), 1 for an atomic update, the agent's clock, the pc.
    """

    def __init__(self, size: int) -> None:
        granules = -(-size // GRANULE)
        self.write = Table(granules)
        self.reads = [Table(granules) for _ in range(READERS)]


class AsyncRaces:
    """Judges asynchronous work, and accesses of warps against it."""

    def __init__(self, view: RunView, clocks: WarpClocks, report: Report) -> None:
        """Watch the run behind `view`, whose warps have these clocks."""
        self._view = view
        self._clocks = clocks
        self._report = report
        self._marks: dict[Space, _Marks] = {}
        self._proxies: dict[Space, int] = {}  # the first of a column for each warp
        self.agents = Agents(clocks, view.warps, view.warps_per_cta)

    def next_wave(self) -> None:
        """Forget all work of the warps before; nothing of theirs is under way."""
        self._marks.clear()
        self.agents.next_wave()

    # --- what warps do --------------------------------------------------------------------------

    def judge_access(
        self, space: Space, offsets: Offsets, size: int, warps: Offsets, pc: int, kind: AccessKind
    ) -> None:
        """Judge accesses of warps against asynchronous work."""
        if space in self._marks:
            at, owners = granules_of(offsets, size)
            writes = kind in {"write", "atomic"}
            entries = Entries(space, at, warps[owners], pc, kind == "atomic")
            self._against(entries, "writes" if writes else "reads", writes=writes)

    def _against(self, entries: Entries, does: str, *, writes: bool) -> None:
        marks = self._marks.get(entries.space)
        if marks is None:
            return
        self._compare(entries, marks.write, "read-before-wait", f"{does} {{}}, which asynchronous work writes")
        if writes:
            for table in marks.reads:
                self._compare(entries, table, "early-reuse", f"{does} {{}}, which asynchronous work still reads")

    def _compare(self, entries: Entries, table: Table, rule: str, message: str) -> None:
        last = table.touched(entries.at)
        if last is None:
            return
        judged = last[:, WARP] != NOBODY
        if entries.atomic:
            judged &= last[:, LANE] == 0
        touched = np.flatnonzero(judged)
        rows = last[touched]
        known = self._clocks.known[entries.warps[touched], rows[:, WARP] - 1]
        bad = touched[known < rows[:, TIME]]
        if len(bad):
            first = int(bad[0])
            where = self._view.describe(entries.space, int(entries.at[first]) * GRANULE)
            who = name_of(self._view, int(entries.warps[first]))
            told = f"{who} {message.format(where)}, and nothing has waited for it"
            self._report(rule, told, entries.pc, int(last[first, PC]))

    def proxy_fence(self, warps: Offsets, spaces: tuple[Space, ...]) -> None:
        """Let the async proxy see what the warps know of the generic one."""
        clocks = self._clocks
        clocks.known[warps, warps] = clocks.now[warps]
        for space in spaces:
            first = self._proxy(space)
            clocks.known[warps, first : first + self._view.warps] = clocks.known[warps, : self._view.warps]
        clocks.now[warps] += 1

    def _proxy(self, space: Space) -> int:
        first = self._proxies.get(space)
        if first is None:
            first = self._proxies[space] = self._clocks.columns(self._view.warps)
        return first

    def unfenced(self, space: Space, warps: Offsets, others: Offsets, times: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Tell for each entry whether the async proxy does not see, for `warps`, what `others` did at `times`."""
        first = self._proxy(space)  # may widen what is known
        unseen: NDArray[np.bool_] = self._clocks.known[warps, first + others] < times
        return unseen

    # --- what work does -------------------------------------------------------------------------

    def issue(self, work: Work) -> None:
        """Judge work against earlier work, then enter it."""
        entered = [(touch, *self.agents.enter(work, touch)) for touch in work.touches]
        for touch, agents, times in entered:
            at, owners = granules_of(touch.offsets, touch.size)
            entries = Entries(touch.space, at, work.warps[touch.owners][owners], work.pc, touch.atomic)
            does = "issues work that writes" if touch.writes else "issues work that reads"
            self._against(entries, does, writes=touch.writes)
            self._enter(touch, entries, agents[owners], times[owners])

    def _enter(self, touch: Touch, entries: Entries, agents: Offsets, times: NDArray[np.int32]) -> None:
        marks = self._marks.get(touch.space)
        if marks is None:
            marks = self._marks[touch.space] = _Marks(self._view.arena_size(touch.space))
        rows = np.empty((len(agents), COLUMNS), np.int32)
        rows[:, WARP], rows[:, LANE] = agents + 1, touch.atomic
        rows[:, TIME], rows[:, PC] = times, entries.pc
        if touch.writes:
            marks.write.put(entries.at, rows)
            return
        slots = agents % READERS
        for slot, table in enumerate(marks.reads):
            here = slots == slot
            if here.any():
                table.put(entries.at[here], rows[here])


def granules_of(offsets: Offsets, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the granules of accesses of `size` bytes, and which access each belongs to."""
    first = offsets // GRANULE
    count = max(size // GRANULE, 1)
    owners = np.arange(len(offsets))
    if count == 1:
        return first, owners
    owners = np.repeat(owners, count)
    return (first[:, None] + np.arange(count)).reshape(-1), owners


def name_of(view: RunView, warp: int) -> str:
    """Return a warp in words."""
    cta, inside = divmod(warp, view.warps_per_cta)
    return f"warp {inside} (block slot {cta})"
