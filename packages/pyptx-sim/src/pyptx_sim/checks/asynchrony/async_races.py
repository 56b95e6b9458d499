"""Races of asynchronous work with warps and with other such work, and the fences between proxies.

Work happens any time between its issue and the moment at which somebody has waited for it; so it is judged at its issue
against what went before, and entered for what comes behind. It never matters when it completed.

Granules are as wide as the narrowest piece of work so far, from 128 bytes down to 4, which no work goes below. So a
warp that touches a part of a granule always touches what work has touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from pyptx_sim.checks.asynchrony.async_clocks import AsyncClocks
from pyptx_sim.checks.race.clocks import Columns
from pyptx_sim.checks.race.shadow import COLUMNS, NOBODY, PC, TIME, WARP, Table, fitting, reach_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from pyptx_sim.checks.asynchrony.async_clocks import Seen
    from pyptx_sim.checks.asynchrony.phases import Phases
    from pyptx_sim.checks.race.clocks import Known, WarpClocks
    from pyptx_sim.checks.race.shadow import Reach
    from pyptx_sim.extension import Proxy, Severity
    from pyptx_sim.observer import AccessKind, Masks, Offsets, RunView, Space, Touch, Work

_WIDEST = 128
_ATOMIC: Final = 1  # the column of an agent's row that has no lanes
# Reads of so many agents of a block are kept for each granule.
READERS = 16


class Report(Protocol):
    """How a finding of a rule is told: in words, at an instruction, with another one (`Reports.work`)."""

    def __call__(
        self,
        rule: str,
        message: str,
        pc: int,
        other_pc: int,
        /,
        *,
        cause: Hashable = None,
        severity: Severity | None = None,
        hint: str | None = None,
    ) -> None:
        """Report it; findings of one cause are one. The hint is the rule's, if none is given."""
        ...


@dataclass(slots=True)
class Entries:
    """Accesses of granules: `at[i]`, all in `reach`, by `warps[i]` (of asynchronous work: the warp that issued it).

    Row `rows[i]` of `known` says what they know. Atomic ones may meet each other. `owners[i]` is the operation of
    `work`, which is None of accesses of warps themselves.
    """

    space: Space
    at: NDArray[np.int64]
    reach: Reach
    warps: NDArray[np.int64]
    known: Known
    rows: NDArray[np.int64]
    pc: int
    atomic: bool
    owners: Offsets
    work: Work | None = None


class _Marks:
    """The last asynchronous write, and the last reads of some agents, of each granule of an arena.

    The columns of a row: the agent's (from 1), 1 for an atomic update, the agent's clock, the pc.
    """

    def __init__(self, size: int) -> None:
        self.granule = _WIDEST
        self._size = size
        self.write = self._table()
        self.reads: list[Table] = []
        self._readers: dict[int, int] = {}  # by block, how many agents have read
        self._numbers: NDArray[np.int64] = np.zeros((0, 0), np.int64)  # by block and agent, from 1

    def _table(self) -> Table:
        return Table(-(-self._size // self.granule))

    def numbers(self, blocks: NDArray[np.int64], agents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the tables in which reads of agents of blocks are kept."""
        missing = int(blocks.max()) + 1 - len(self._numbers), int(agents.max()) + 1 - self._numbers.shape[1]
        if max(missing) > 0:
            self._numbers = np.pad(self._numbers, [(0, max(more, 0)) for more in missing])
        for each in np.flatnonzero(self._numbers[blocks, agents] == 0).tolist():
            block, agent = int(blocks[each]), int(agents[each])
            if not self._numbers[block, agent]:
                count = self._readers[block] = self._readers.get(block, 0) + 1
                self._numbers[block, agent] = (count - 1) % READERS + 1
        numbers: NDArray[np.int64] = self._numbers[blocks, agents] - 1
        while len(self.reads) <= numbers.max():
            self.reads.append(self._table())
        return numbers

    def granules(self, offsets: Offsets, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the granules of accesses of `size` bytes, and which access each belongs to."""
        first = offsets // self.granule
        count = max(size // self.granule, 1)
        owners = np.arange(len(offsets))
        if count == 1:
            return first, owners
        return (first[:, None] + np.arange(count)).reshape(-1), np.repeat(owners, count)

    def fit(self, touch: Touch) -> None:
        """Split all granules until none is wider than a piece of `touch`."""
        granule = fitting(self.granule, touch.offsets, touch.size)
        factor, self.granule = self.granule // granule, granule
        for table in (self.write, *self.reads) if factor > 1 else ():
            table.split(factor)


class AsyncRaces:
    """Judges asynchronous work, and accesses of warps against it."""

    def __init__(self, view: RunView, clocks: WarpClocks, phases: Phases, report: Report) -> None:
        """Watch the run behind `view`, whose warps have these clocks."""
        self._view = view
        self._clocks = clocks
        self._report = report
        self._marks: dict[Space, _Marks] = {}
        self._told = False  # whether mbarriers tell of reads of shared memory
        self._proxies: dict[tuple[Proxy, Space], Columns] = {}  # what proxies have been shown
        self.agents = AsyncClocks(clocks, phases, view.warps, view.warps_per_cta)

    def next_wave(self) -> None:
        """Forget all work of the warps before; nothing of theirs is under way."""
        self._marks.clear()
        self._told = False
        self.agents.next_wave()

    # --- what warps do --------------------------------------------------------------------------

    def judge_access(
        self, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int, kind: AccessKind
    ) -> None:
        """Judge accesses of warps against asynchronous work."""
        marks = self._marks.get(space)
        if marks is not None:
            writes = kind in {"write", "atomic"}
            entries = self._entries(marks, space, offsets, size, warps, lanes, pc, atomic=kind == "atomic")
            self._against(marks, entries, "writes" if writes else "reads", writes=writes)

    def judge_freed(
        self, rule: str, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """Judge that lanes give memory back against asynchronous work that uses it."""
        marks = self._marks.get(space)
        if marks is not None:
            entries = self._entries(marks, space, offsets, size, warps, lanes, pc, atomic=False)
            self._compare(
                marks.granule, entries, marks.write, rule, "gives back {}, which asynchronous work writes", ""
            )
            for table in marks.reads:
                self._compare(marks.granule, entries, table, rule, "gives back {}, which asynchronous work reads", "")

    def _entries(
        self,
        marks: _Marks,
        space: Space,
        offsets: Offsets,
        size: int,
        warps: Offsets,
        lanes: Offsets,
        pc: int,
        *,
        atomic: bool,
    ) -> Entries:
        """Return the granules of accesses of lanes, with what these know."""
        at, owners = marks.granules(offsets, size)
        rows, known = self._clocks.rows(warps, lanes), self._clocks.known
        return Entries(space, at, reach_of(at), warps[owners], known, rows[owners], pc, atomic, owners)

    def _against(self, marks: _Marks, entries: Entries, does: str, *, writes: bool) -> None:
        message = f"{does} {{}}, which asynchronous work"
        self._compare(marks.granule, entries, marks.write, "read-before-wait", f"{message} writes", does)
        if writes:
            for table in marks.reads:
                self._compare(marks.granule, entries, table, "early-reuse", f"{message} still reads", does)

    def _compare(self, granule: int, entries: Entries, table: Table, rule: str, message: str, does: str) -> None:
        if table.misses(entries.at, entries.reach):
            return
        last = table.get(entries.at)
        # What nobody has touched has the time 0, which is known of anybody.
        late = entries.known[entries.rows, last[:, WARP] - 1] < last[:, TIME]
        if entries.atomic:
            late &= last[:, _ATOMIC] == 0
        if entries.work is not None and late.any():
            at = np.flatnonzero(late)
            late[at] = ~self.agents.issued_before(entries.work, entries.owners[at], entries.rows[at], last[at])
        if late.any():
            bad = np.flatnonzero(late)
            first = int(bad[0])
            where = self._view.describe(entries.space, int(entries.at[first]) * granule)
            who = name_of(self._view, int(entries.warps[first]))
            told = f"{who} {message.format(where)}, and nothing has waited for it"
            agent = int(last[first, WARP]) - 1
            told += self._in_vain(rule, agent, int(entries.warps[first]))
            wait = self.agents.how_to_wait(agent)
            hint = None if wait is None else f"wait for that work first: {wait}"
            other_pc = int(last[first, PC])
            # What the accesses of warps miss is one thing, the wait for that work.
            cause = (other_pc, does) if entries.work is None else None
            self._report(rule, told, entries.pc, other_pc, cause=cause, hint=hint)

    def _in_vain(self, rule: str, column: int, warp: int) -> str:
        """Say so if the warp has waited at the mbarrier that tells of the work, but for a phase that was over."""
        return self._over(self.agents.seen(column, warp)) if rule == "read-before-wait" else self.why_early(warp)

    def why_early(self, warp: int) -> str:
        """Say so if the last wait of a warp at an mbarrier was for a phase that was over."""
        return self._over(self.agents.latest(warp))

    def _over(self, seen: Seen | None) -> str:
        if seen is None or not seen.old:
            return ""
        over = "no phase had ended yet, and parity 1 stands for the one before the first"
        if seen.phase >= 0:
            over = f"phase {seen.phase} had ended, as the warp had seen before; does its parity flip?"
        return f": the wait at PTX {self._view.place(seen.pc)} returned at once: {over}"

    def proxy_fence(self, proxy: Proxy, warps: Offsets, masks: Masks, spaces: tuple[Space, ...]) -> None:
        """Let a proxy see what the lanes know of the generic one."""
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
        """Tell for each entry whether, by what is known in `rows`, a proxy does not see what others did."""
        seen = self._shown(proxy, space)  # may widen what is known
        return ~seen.hold(self._clocks.known, rows, others, masks, times)

    def last_writers(self, touch: Touch) -> list[tuple[int, int]]:
        """Return where work wrote that wrote last what `touch` reads: the first offset and the pc of each."""
        marks = self._marks.get(touch.space)
        if marks is None or not len(touch.offsets):
            return []
        at, _ = marks.granules(touch.offsets, touch.size)
        last = marks.write.touched(at)
        if last is None:
            return []
        written = np.flatnonzero(last[:, WARP] != NOBODY)
        pcs, first = np.unique(last[written, PC], return_index=True)
        return [(int(at[written[head]]) * marks.granule, pc) for pc, head in zip(pcs.tolist(), first, strict=True)]

    def told_reads(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """Yield where work last read shared memory, in bytes, with the agents (from 1), their clocks and the pcs.

        Nothing is of interest unless mbarriers tell of some of it.
        """
        marks = self._marks.get("shared")
        if marks is None or not self._told:
            return
        for table in marks.reads:
            at, rows = table.entries()
            yield at * marks.granule, rows

    # --- what work does -------------------------------------------------------------------------

    def judge(self, work: Work) -> list[Entries | None]:
        """Judge work against earlier work, and return what it accesses, to be entered: its own touches may meet."""
        for touch in work.touches:
            self._fit(touch)
        known, rows = self._knowing(work)
        return [self._judge_touch(work, touch, known, rows) for touch in work.touches]

    def enter(self, work: Work, judged: Sequence[Entries | None], item_ids: Sequence[int]) -> None:
        """Enter work that has been judged; `item_ids` name its operations in later events."""
        blocks = work.warps // self._view.warps_per_cta
        for touch, entries in zip(work.touches, judged, strict=True):
            agents, times = self.agents.enter(work, touch, item_ids)
            if entries is None:
                continue
            self._told |= touch.barriers is not None and not touch.writes and touch.space == "shared"
            marked = np.empty((len(agents), COLUMNS), np.int32)
            marked[:, WARP], marked[:, _ATOMIC] = agents + 1, touch.atomic
            marked[:, TIME], marked[:, PC] = times, work.pc
            _enter(self._marks[touch.space], entries, marked, None if touch.writes else blocks)

    def _knowing(self, work: Work) -> tuple[Known, Offsets]:
        """Return what is known, and the row that says what all warps know which issue each operation as one."""
        rows = self._clocks.rows(work.warps, work.lanes)
        if work.together == 1:
            return self._clocks.known, rows
        known: Known = self._clocks.known[rows]
        for further in range(1, work.together):
            np.minimum(known, self._clocks.known[rows + further], out=known)
        return known, np.arange(len(rows))

    def _fit(self, touch: Touch) -> None:
        """Make granules that are as narrow as the pieces of a touch."""
        if not len(touch.offsets):
            return
        marks = self._marks.get(touch.space)
        if marks is None:
            marks = self._marks[touch.space] = _Marks(self._view.arena_size(touch.space))
        marks.fit(touch)

    def _judge_touch(self, work: Work, touch: Touch, known: Known, rows: Offsets) -> Entries | None:
        """Judge a touch against earlier work; return its accesses, if it has any."""
        if not len(touch.offsets):
            return None
        marks = self._marks[touch.space]
        at, pieces = marks.granules(touch.offsets, touch.size)
        owners = touch.owners[pieces]
        entries = Entries(
            touch.space, at, reach_of(at), work.warps[owners], known, rows[owners], work.pc, touch.atomic, owners, work
        )
        does = "issues work that writes" if touch.writes else "issues work that reads"
        self._against(marks, entries, does, writes=touch.writes)
        return entries


def _enter(marks: _Marks, entries: Entries, rows: NDArray[np.int32], readers: NDArray[np.int64] | None) -> None:
    """Enter accesses of operations, each with its row: as writes, or as reads by the blocks `readers`."""
    at, owners, reach = entries.at, entries.owners, entries.reach
    if readers is None:
        marks.write.fill(at, rows, owners, reach)
        return
    # Operations come warp by warp.
    heads = np.flatnonzero(np.diff(readers, prepend=-1) | np.diff(rows[:, WARP], prepend=-1))
    numbers = marks.numbers(readers[heads], rows[heads, WARP].astype(np.int64))
    if (numbers == numbers[0]).all():
        marks.reads[int(numbers[0])].fill(at, rows, owners, reach)
        return
    by_entry = numbers.astype(np.uint8).repeat(np.diff(heads, append=len(rows)))[owners]
    order = by_entry.argsort(kind="stable")
    at, owners, ends = at[order], owners[order], np.bincount(by_entry).cumsum().tolist()
    for number, (start, end) in enumerate(pairwise((0, *ends))):
        if start < end:
            marks.reads[number].fill(at[start:end], rows, owners[start:end], reach)


def name_of(view: RunView, warp: int) -> str:
    """Return a warp in words."""
    cta, inside = divmod(warp, view.warps_per_cta)
    return f"warp {inside} (block slot {cta})"
