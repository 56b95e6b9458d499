"""Execution context of one instruction, for the instructions that an extension implements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.extension.space import name_of
from pyptx_sim.instructions.notify import tell_waited
from pyptx_sim.instructions.synchronization.async_copy import arrive_on_completion, multicast
from pyptx_sim.instructions.synchronization.mbarriers import ACCESS
from pyptx_sim.instructions.synchronization.threads import in_shared
from pyptx_sim.instructions.turns.memory import MemoryAccesses
from pyptx_sim.machine.lanes import by_warp
from pyptx_sim.observer import AsyncOperations

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from pyptx_sim.extension.group import GroupKind
    from pyptx_sim.extension.item import AsyncIssue
    from pyptx_sim.extension.space import Proxy, Space
    from pyptx_sim.extension.stall import Stall
    from pyptx_sim.instructions.compiling.registers import Reader
    from pyptx_sim.instructions.memory.addresses import Target
    from pyptx_sim.instructions.turns.lanes import Integers, Masks
    from pyptx_sim.machine.wave import KeyOwner
    from pyptx_sim.observer import AsyncAccess

__all__ = ["ExecutionContext"]


class ExecutionContext(MemoryAccesses):
    """Lanes that execute an instruction together, with all operations that the instruction's code may perform.

    See `ActiveLanes` for the lanes and their registers, and `MemoryAccesses` for memory. This class adds asynchronous
    operations and synchronization.
    """

    __slots__ = ()

    # --- asynchronous operations -----------------------------------------------------------------

    def join(self, kind: GroupKind) -> Integers:
        """Add an operation of each active thread to the thread's open async-group of `kind`; return the group indices.

        If warpgroups issue operations of `kind`, there is one operation and one group index per warpgroup.
        """
        groups = self.wave.groups_of(kind)
        if kind.issued_by == "warpgroup":
            members = self.warpgroups().warps
            groups.note(members.reshape(-1), np.zeros(members.size, np.int64), self.pc)
            warps, lanes = members[:, 0], np.zeros(len(members), np.int64)
            theirs: Integers = groups.open[warps, lanes]
            return theirs
        warps, lanes = self.threads
        return groups.note(warps, lanes, self.pc)

    def issue(self, item: AsyncIssue, touches: Iterable[AsyncAccess] = (), *, proxy: Proxy | None = None) -> None:
        """Issue `item`, one instruction's asynchronous operations; `touches`: their memory accesses via `proxy`."""
        self.issue_all(((item, touches),), proxy=proxy)

    def issue_all(
        self, items: Iterable[tuple[AsyncIssue, Iterable[AsyncAccess]]], *, proxy: Proxy | None = None
    ) -> None:
        """Issue asynchronous operations in order; `items` pairs them with the memory accesses they will perform."""
        observers = self.wave.machine.observers
        works: list[AsyncOperations] = []
        for item, touches in items:
            self.wave.engine.issue(item)
            if not self.observed:
                continue
            told = tuple(touches)
            for place, warps, lanes in _signalled(item, told):
                observers.barrier_used(place, *by_warp(warps, lanes), self.pc)
            works.append(
                AsyncOperations(item.item_id, self.pc, item.group, proxy, item.warps, item.lanes, item.numbers, told)
            )
        if works:
            observers.issued_together(works)

    def commit(self, kind: GroupKind) -> None:
        """Commit the open async-group of `kind` of each thread."""
        self.wave.groups_of(kind).commit(self.rows, self.mask)

    def wait(self, kind: GroupKind, latest: int | None = None, *, reads: bool = False) -> None:
        """Wait until only the `latest` async-groups of each thread are pending; None: until no operation is pending.

        With `reads`, wait only until the operations of older groups have read their sources.
        """
        groups = self.wave.groups_of(kind)
        if latest is None:
            self.commit(kind)
        groups.wait(self.rows, self.mask, latest or 0, reads=reads)
        self.wave.engine.finish_groups(kind, groups, reads=reads)
        tell_waited(self.wave, kind, *self._lanes.by_warp())

    def finish(self, completes: Callable[[object], Masks | None]) -> None:
        """Complete the outstanding operations that `completes` selects with a mask per item (None: no operation)."""
        self.wave.engine.complete_some(completes)

    def arrive_on_completion(self, kind: GroupKind, barrier: Target, peers: Reader | None = None) -> None:
        """Issue an mbarrier arrival of each thread, triggered when the thread's earlier operations of `kind` complete.

        `barrier` is from `Operands.barrier`. `peers` reads a mask of CTA ranks in the cluster: the thread then arrives
        at the same shared memory offset in each of these CTAs.
        """
        for lanes, threads in in_shared(self.wave, self._lanes, barrier, ACCESS, "mbarrier"):
            arrive_on_completion(
                self.wave, kind, threads if peers is None else multicast(self.wave, lanes, threads, peers)
            )

    def proxy_fence(self, proxy: Proxy, *spaces: Space | str) -> None:
        """Execute a proxy fence: accesses to the spaces that happen before the fence become visible to the proxy."""
        if self.observed:
            names = tuple(name_of(space) for space in spaces)
            self.wave.machine.observers.proxy_fence(proxy, *self._lanes.by_warp(), names)

    def show_mbarriers(self) -> None:
        """Execute a fence that makes initializations of mbarriers visible to threads that synchronize later."""
        if self.observed:
            self.wave.machine.observers.init_fence(*self._lanes.by_warp())

    def order_work(self, kinds: tuple[GroupKind, ...], *, before: bool) -> None:
        """Execute a fence that orders only asynchronous operations of `kinds`, before or after a synchronization."""
        if self.observed:
            self.wave.machine.observers.work_fence(kinds, *self._lanes.by_warp(), before=before)

    def release_to(self, proxy: Proxy) -> None:
        """Execute the release half of a unidirectional proxy fence."""
        if self.observed:
            self.wave.machine.observers.proxy_released(proxy, *self._lanes.by_warp())

    def acquire_through(self, proxy: Proxy, space: Space | str, offsets: Integers, size: int) -> None:
        """Execute the acquire half of a unidirectional proxy fence: `size` bytes at each active thread's offset."""
        if not self.observed:
            return
        warps, lanes = self.threads
        for place in np.unique(offsets).tolist():
            here = offsets == place
            some = by_warp(warps[here], lanes[here])
            self.wave.machine.observers.proxy_acquired(proxy, name_of(space), place, size, *some)

    # --- synchronization ------------------------------------------------------------------------

    def release(self, owner: KeyOwner, key: Hashable = None, phase: int = 0, *, relaxed: bool = False) -> None:
        """Release earlier accesses of these lanes to lanes that `acquire` the same `key` and phase in the same wave.

        Each `owner`, a memory or a class of an extension, has its own keys. `relaxed`: the operation itself does not
        release; only earlier fences of the lanes do.
        """
        if self.observed:
            lanes = self._lanes.by_warp()
            place, observers = self.wave.place(owner, key), self.wave.machine.observers
            observers.signal(place, phase, *lanes, self.pc, scope="cluster", releases=not relaxed)

    def acquire(self, owner: KeyOwner, key: Hashable = None, phase: int = 0) -> None:
        """Order accesses before `release` calls (same `owner`, `key`, phase) before later accesses of these lanes."""
        if self.observed:
            place = self.wave.place(owner, key)
            lanes = self._lanes.by_warp()
            self.wave.machine.observers.acquire(place, phase, *lanes, self.pc, scope="cluster", acquires=True)

    def use_blocks(self, blocks: Integers) -> None:
        """Record for observers that `warps[i]` also executes the instruction for the CTA in CTA slot `blocks[i]`.

        The start of that CTA must happen before the instruction (`cluster-cta-not-started`).
        """
        self.wave.machine.observers.block_used(blocks, self.warps, self.pc)

    def stall(self, on: Stall, which: Masks | None = None) -> None:
        """Block the lanes of `warps`, or of those selected by `which`, until another thread resumes them.

        Only instructions compiled with `Operands.end_once` may call it; their lanes continue after the instruction.
        `Wave.stalled` finds the lanes to resume.
        """
        splits = self._splits
        assert splits is not None, "only a terminator can wait"  # noqa: S101 - a step's own mistake
        self.wave.stall(splits if which is None else splits[which], on)


def _signalled(item: AsyncIssue, touches: Iterable[AsyncAccess]) -> Iterator[tuple[int, Integers, Integers]]:
    """Yield the mbarriers that asynchronous writes signal, with the warps and lanes of the issuing threads."""
    for touch in touches:
        if touch.writes and touch.barriers is not None:
            if len(touch.barriers) == 1:
                yield int(touch.barriers[0]), item.warps, item.lanes
                continue
            for place in np.unique(touch.barriers).tolist():
                here = touch.barriers == place
                yield place, item.warps[here], item.lanes[here]
