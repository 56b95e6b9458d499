"""Whether `tcgen05.fence` stands where threads, or a commit and a wait, order work in tensor memory.

By the letter of the manual, work behind such a synchronisation needs `fence::after_thread_sync` in front of it, and
work of a pipeline that another thread continues, unwaited for, `fence::before_thread_sync` behind it. Compilers leave
them out, so that this is a note. Nothing is said where the order of events leaves open whether a fence did its part.

Manual: "Specialized Inter-thread Synchronization for tcgen05 instructions", "Canonical synchronization patterns".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pyptx_arch_blackwell.sim.tensor_memory import SPACE
from pyptx_sim.extension import WARP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from pyptx_sim.extension import AsyncItem, GroupKind, IntArray, Mask, Proxy, Touch, Turn, Wave

__all__ = ["FENCE", "ThreadOrder", "issue"]

_PIECE: Final = 16
"""Bytes by which uses are known; of what is narrower, nothing is."""
FENCE: Final = "tensor-fence"
_AFTER: Final = "put tcgen05.fence::after_thread_sync behind the wait or the barrier, in front of it"
_BEFORE: Final = "put tcgen05.fence::before_thread_sync behind the work, in front of the arrival or the barrier"


class _Issue(NamedTuple):
    """An operation that has been issued, as number `time` of what the wave's threads have done in tensor memory."""

    time: int
    kind: GroupKind | None
    warp: int
    lane: int
    pc: int


class ThreadOrder:
    """Which operation of a wave was the last one to write, and to read, each piece of tensor memory."""

    def __init__(self, wave: Wave) -> None:
        """Begin with nothing issued."""
        self._wave = wave
        self._time = 1
        self._issues: list[_Issue] = [_Issue(0, None, 0, 0, 0)]
        pieces = len(wave.memory(SPACE).arena.units(_PIECE))
        self._writes: NDArray[np.int32] = np.zeros(pieces, np.int32)  # numbers of issues
        self._reads: NDArray[np.int32] = np.zeros(pieces, np.int32)
        threads = wave.height, WARP
        self._fenced: dict[str, IntArray] = {order: np.zeros(threads, np.int64) for order in ("after", "before")}
        self._committed: IntArray = np.zeros(threads, np.int64)

    # --- what threads do ------------------------------------------------------------------------

    def fence(self, order: str, warps: IntArray, lanes: IntArray) -> None:
        """Note a fence of threads, `after` or `before` they synchronise."""
        self._fenced[order][warps, lanes] = self._tick()

    def commit(self, warps: IntArray, lanes: IntArray) -> None:
        """Note that threads let an arrival follow their work: whoever waits for it needs no fence of theirs."""
        self._committed[warps, lanes] = self._tick()

    def forget(self, cells: Touch) -> None:
        """Note that cells are allocated: what was done in them before is ordered by that."""
        for table in (self._writes, self._reads):
            pieces, at = _pieces_of(table, cells)
            pieces[at] = 0

    def issued(self, item: AsyncItem, touches: Iterable[Touch]) -> None:
        """Judge work that is issued now against the last uses of what it touches, and note it."""
        touched = [touch for touch in touches if touch.space == SPACE.name and touch.size >= _PIECE]
        own = len(self._issues)
        threads = zip(item.warps.tolist(), item.lanes.tolist(), strict=True)
        issues = [_Issue(self._tick(), item.group, warp, lane, item.pc) for warp, lane in threads]
        for touch in touched:
            for table in (self._writes, self._reads) if touch.writes else (self._writes,):
                pieces, at = _pieces_of(table, touch)
                for number, owner in _pairs(pieces[at], touch.owners):
                    self._judge(issues[owner], self._issues[number])
        for touch in touched:
            pieces, at = _pieces_of(self._writes if touch.writes else self._reads, touch)
            pieces[at] = (own + touch.owners)[:, None]
        self._issues += issues

    def _tick(self) -> int:
        self._time += 1
        return self._time

    # --- judging --------------------------------------------------------------------------------

    def _judge(self, now: _Issue, then: _Issue) -> None:
        """Report an operation that is ordered behind another one without the fences that this takes."""
        kind = then.kind
        if kind is None:
            return
        if not kind.pipelined:
            if now.warp != then.warp:  # else it has waited for its load or store
                self._need_after(now, then)
            return
        if now.kind is not kind:
            self._need_after(now, then)
        elif (now.warp, now.lane) != (then.warp, then.lane):
            self._need_after(now, then)
            self._need_before(now, then)

    def _need_after(self, now: _Issue, then: _Issue) -> None:
        if self._fenced["after"][now.warp, now.lane] < then.time:
            message = f"{self._named(now)} issues work behind a synchronisation, and no fence orders the two"
            self._wave.report(FENCE, message, now.pc, other_pc=then.pc, hint=_AFTER, cause=("after", then.pc))

    def _need_before(self, now: _Issue, then: _Issue) -> None:
        done = max(self._fenced["before"][then.warp, then.lane], self._committed[then.warp, then.lane])
        if done < then.time:
            message = f"{self._named(then)} lets another thread go on behind its work, and no fence orders the two"
            self._wave.report(FENCE, message, then.pc, other_pc=now.pc, hint=_BEFORE, cause=("before", then.pc))

    def _named(self, issue_: _Issue) -> str:
        return self._wave.geometry.thread_name(issue_.warp, issue_.lane)


def _pieces_of(table: NDArray[np.int32], touch: Touch) -> tuple[NDArray[np.int32], IntArray]:
    """Return a table of pieces, those of each part that operations touch in a row, and the numbers of these rows."""
    at: IntArray = touch.offsets // touch.size
    return table.reshape(-1, touch.size // _PIECE), at


def _pairs(numbers: NDArray[np.int32], owners: IntArray) -> Iterator[tuple[int, int]]:
    """Yield which issues met which operations, `[parts, pieces]`, each pair once for each run of it."""
    if (numbers == numbers[:, :1]).all():
        numbers = numbers[:, :1]
    met, whose = numbers.reshape(-1), owners.repeat(numbers.shape[1])
    new: Mask = np.ones(len(met), np.bool_)
    new[1:] = (met[1:] != met[:-1]) | (whose[1:] != whose[:-1])
    yield from {*zip(met[new].tolist(), whose[new].tolist(), strict=True)}


def issue(turn: Turn, item: AsyncItem, touches: Iterable[Touch], *, proxy: Proxy | None = None) -> None:
    """Let the engine take on work in tensor memory; what it touches is asked for in a checked run only."""
    told = tuple(touches) if turn.observed else ()
    if told:
        turn.part(ThreadOrder).issued(item, told)
    turn.issue(item, told, proxy=proxy)
