"""Check that `tcgen05.fence` is present where threads, or a commit and a wait, order tensor memory operations.

The manual requires `fence::after_thread_sync` before operations that follow such a synchronization. It requires
`fence::before_thread_sync` after operations of a pipeline if another thread issues into this pipeline next, without a
wait on a commit. Compilers omit the fences, so the finding is a note. Nothing is reported if the event order does not
determine whether a fence was effective. Manual: "Specialized Inter-thread Synchronization for tcgen05 instructions",
"Canonical synchronization patterns".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pyptx_arch_blackwell.sim.tensor_memory import SPACE
from pyptx_sim.extension import WARP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from pyptx_sim.extension import AsyncAccess, AsyncIssue, ExecutionContext, GroupKind, IntArray, Mask, Proxy, Wave

__all__ = ["FENCE", "LastUses", "ThreadOrder", "issue"]

_PIECE: Final = 16
"""Minimum bytes of a tensor memory access that is checked for fences; narrower accesses are ignored."""
_WIDEST: Final = 1024
_SPLIT: Final = -1  # in `_whole`: the parts of this memory block have different last operations
FENCE: Final = "missing-tcgen05-fence"
_AFTER: Final = "put tcgen05.fence::after_thread_sync after the wait or barrier"
_BEFORE: Final = "put tcgen05.fence::before_thread_sync before the arrive or barrier"


class _Issue(NamedTuple):
    """An issued tcgen05 operation; `time` is its position among all issued tcgen05 operations."""

    time: int
    kind: GroupKind | None
    warp: int
    lane: int
    pc: int


class ThreadOrder:
    """Last tcgen05 operation that wrote, and that read, each 1024-byte block of tensor memory."""

    def __init__(self, wave: Wave) -> None:
        """Start without recorded tcgen05 operations."""
        self._wave = wave
        self._time = 1
        self._issues: list[_Issue] = [_Issue(0, None, 0, 0, 0)]
        size = len(wave.memory(SPACE).arena.units(1))
        self._writes, self._reads = LastUses(size), LastUses(size)
        threads = wave.height, WARP
        self._fenced: dict[str, IntArray] = {order: np.zeros(threads, np.int64) for order in ("after", "before")}
        self._committed: IntArray = np.zeros(threads, np.int64)

    # --- events of threads ------------------------------------------------------------------------

    def fence(self, order: str, warps: IntArray, lanes: IntArray) -> None:
        """Record a tcgen05.fence of threads; `order` is `after` or `before` (`::after_thread_sync`, …)."""
        self._fenced[order][warps, lanes] = self._tick()

    def commit(self, warps: IntArray, lanes: IntArray) -> None:
        """Record tcgen05.commit of threads: a wait for the commit's arrive replaces `fence::before_thread_sync`."""
        self._committed[warps, lanes] = self._tick()

    def forget(self, cells: AsyncAccess) -> None:
        """Record tcgen05.alloc of columns, which orders earlier operations on these columns."""
        for last in (self._writes, self._reads):
            last.put(cells, np.zeros(1, np.int32))

    def issued(self, item: AsyncIssue, touches: Iterable[AsyncAccess]) -> None:
        """Check issued tcgen05 operations against the last accesses to the same tensor memory, and record them."""
        touched = [touch for touch in touches if touch.space == SPACE.name and touch.size >= _PIECE]
        own = len(self._issues)
        threads = zip(item.warps.tolist(), item.lanes.tolist(), strict=True)
        issues = [_Issue(self._tick(), item.group, warp, lane, item.pc) for warp, lane in threads]
        for touch in touched:
            for last in (self._writes, self._reads) if touch.writes else (self._writes,):
                for number, owner in last.met(touch):
                    self._check(issues[owner], self._issues[number])
        for touch in touched:
            last = self._writes if touch.writes else self._reads
            last.put(touch, own + np.arange(len(issues), dtype=np.int32))
        self._issues += issues

    def _tick(self) -> int:
        self._time += 1
        return self._time

    # --- checks -----------------------------------------------------------------------------------

    def _check(self, now: _Issue, then: _Issue) -> None:
        """Report operations `then` and `now` if threads ordered `now` after `then` without the required fences."""
        kind = then.kind
        if kind is None:
            return
        if not kind.pipelined:
            if now.warp != then.warp:  # within a warp, tcgen05.wait orders tcgen05.ld and tcgen05.st, without a fence
                self._need_after(now, then)
            return
        if now.kind is not kind:
            self._need_after(now, then)
        elif (now.warp, now.lane) != (then.warp, then.lane):
            self._need_after(now, then)
            self._need_before(now, then)

    def _need_after(self, now: _Issue, then: _Issue) -> None:
        if self._fenced["after"][now.warp, now.lane] < then.time:
            self._report("after", now, then, other="earlier operation", help=_AFTER, cause=then.pc)

    def _need_before(self, now: _Issue, then: _Issue) -> None:
        done = max(self._fenced["before"][then.warp, then.lane], self._committed[then.warp, then.lane])
        if done < then.time:
            self._report("before", then, now, other="later operation", help=_BEFORE, cause=then.pc)

    def _report(self, order: str, it: _Issue, second: _Issue, *, other: str, help: str, cause: int) -> None:
        """Report the operation `it`, which lacks a fence before or after synchronizing with operation `second`."""
        name = self._wave.geometry.thread_name
        side = {"after": "preceding", "before": "following"}[order]
        self._wave.report(
            FENCE,
            f"tcgen05 operation without a {side} tcgen05.fence::{order}_thread_sync",
            it.pc,
            other_pc=second.pc,
            label=f"operation issued by {name(it.warp, it.lane)}",
            other_label=f"{other} issued by {name(second.warp, second.lane)}",
            notes=(f"thread synchronization between the two operations, without a fence {order} it",),
            help=help,
            cause=(order, cause),
        )


class LastUses:
    """Index of the last issued operation that accessed each block of memory.

    A block of `_WIDEST` bytes that one operation accessed entirely has one index. Other blocks are split into parts as
    narrow as the narrowest access so far.
    """

    def __init__(self, size: int) -> None:
        """Start without accesses to a memory of `size` bytes."""
        self._whole: NDArray[np.int32] = np.zeros(size // _WIDEST, np.int32)
        # Index of the last operation on each part of each block; valid where `_whole` is `_SPLIT`.
        self._parts: NDArray[np.int32] = self._whole[:, None]

    def _of_width(self, size: int) -> NDArray[np.int32]:
        """Return, per part of `size` bytes of the memory, the number of the last operation that accessed the part."""
        missing = _WIDEST // size // self._parts.shape[1]
        if missing > 1:
            self._parts = self._parts.repeat(missing, axis=1)
        return self._parts.reshape(-1, size * self._parts.shape[1] // _WIDEST)

    def put(self, touch: AsyncAccess, numbers: NDArray[np.int32]) -> None:
        """Record numbers of operations as the last accesses to memory: one per operation, or one for all operations."""
        number, at = numbers if len(numbers) == 1 else numbers[touch.owners], touch.offsets // _WIDEST
        if touch.size == _WIDEST:
            self._whole[at] = number
            return
        parts = self._of_width(touch.size)
        whole = at[self._whole[at] != _SPLIT]
        self._parts[whole] = self._whole[whole, None]
        self._whole[whole] = _SPLIT
        parts[touch.offsets // touch.size] = number[:, None]

    def met(self, touch: AsyncAccess) -> Iterable[tuple[int, int]]:
        """Return pairs: number of the operation that last accessed a part of `touch`, index of the new operation."""
        met, owners = self._whole[touch.offsets // _WIDEST], touch.owners
        split = met == _SPLIT
        if split.any():
            parts = self._of_width(touch.size)[touch.offsets[split] // touch.size]
            met = np.concatenate([met[~split], parts.reshape(-1)])
            owners = np.concatenate([owners[~split], owners[split].repeat(parts.shape[1])])
        new: Mask = np.ones(len(met), np.bool_)
        new[1:] = (met[1:] != met[:-1]) | (owners[1:] != owners[:-1])
        return {*zip(met[new].tolist(), owners[new].tolist(), strict=True)}


def issue(
    turn: ExecutionContext, item: AsyncIssue, touches: Iterable[AsyncAccess], *, proxy: Proxy | None = None
) -> None:
    """Issue tensor memory operations; `touches`, their accesses, is evaluated in a checked run only."""
    told = tuple(touches) if turn.observed else ()
    if told:
        turn.part(ThreadOrder).issued(item, told)
    turn.issue(item, told, proxy=proxy)
