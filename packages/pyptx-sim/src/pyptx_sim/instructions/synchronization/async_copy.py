"""`cp.async`: copies by threads, async-groups, and mbarrier arrivals after copies. Manual: "Non-bulk copy"."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.instructions.memory.addresses import target
from pyptx_sim.instructions.notify import tell_copies, tell_waited
from pyptx_sim.instructions.synchronization.mbarriers import ACCESS, barrier_target
from pyptx_sim.instructions.synchronization.threads import Threads, by_offset, in_shared, threads_at
from pyptx_sim.machine.asynchrony.copies import Arrivals, Copies
from pyptx_sim.machine.asynchrony.groups import COPY
from pyptx_sim.machine.lanes import WARP, pick
from pyptx_sim.machine.memory.access import Access, LaneOffsets

if TYPE_CHECKING:
    from pyptx_sim.extension.group import GroupKind
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.compiling.registers import Reader
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.undefined import Origin
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask


def compile_copy(operands: Operands) -> Action:
    """Compile `cp.async`: issue one copy for each thread."""
    _, _, extent, *_ = operands.operands  # the instruction table gives `cp-size` no name
    size = operands.integer(extent)
    if size not in {4, 8, 16}:
        operands.fail(f"invalid cp.async size {size}: must be 4, 8 or 16 bytes")
    find_target = target(operands, operands.named("dst"), "shared")
    find_source = target(operands, operands.named("src"), "global")
    used = _used(operands, size)
    pieces = _Pieces(size)

    def step(wave: Wave, lanes: Lanes) -> None:
        for part, threads in in_shared(wave, lanes, find_target, pieces.writes, "cp.async destination"):
            reads = None if used is None else used(wave, part)
            pieces.issue(wave, part, threads, next(find_source(wave, part))[2], reads)

    return step


def _used(operands: Operands, size: int) -> Reader | None:
    """Return a reader of the number of bytes to read: `src-size`, or 0 if `ignore-src` is true; None: read all."""
    read, ignore = operands.given("src_size"), operands.given("ignore_src")
    if ignore is None:
        return None if read is None else operands.read(read, "u32")
    ignored = operands.read(ignore, "pred")
    return lambda wave, lanes: np.where(ignored(wave, lanes), np.uint32(0), np.uint32(size))


class _Pieces:
    """Issues the copies of one `cp.async` instruction, `size` bytes per thread."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.writes = Access("write", size)

    def issue(self, wave: Wave, lanes: Lanes, threads: Threads, addresses: IntArray, used: Array | None) -> None:
        """Issue the copies of `threads`, whose destinations are valid."""
        sources = np.broadcast_to(addresses, (lanes.height, WARP))
        counts = None
        if used is not None:
            counts = np.minimum(pick(used, threads.positions, threads.columns).astype(np.int64), self.size)
            counts = None if (counts == self.size).all() else counts
        kept = self._sound(wave, lanes, threads, sources, counts)
        if not kept.all():  # after a finding, fill with zeros: the consequences are not findings of their own
            counts = np.where(kept, self.size if counts is None else counts, 0)
        copies = Copies(
            wave=wave,
            pc=wave.pc,
            size=self.size,
            warps=threads.warps,
            lanes=threads.columns,
            group=COPY,
            numbers=wave.groups_of(COPY).note(threads.warps, threads.columns, wave.pc),
            sources=sources[threads.positions, threads.columns],
            targets=threads.offsets,
            used=counts,
        )
        if wave.machine.checked:
            copies.origin = self._origin(wave, lanes, threads, copies)
        item_id = wave.engine.issue(copies)
        if wave.machine.observers.active:
            tell_copies(wave, copies, item_id)

    def _origin(self, wave: Wave, lanes: Lanes, threads: Threads, copies: Copies) -> Origin | None:
        """Return the origin of undefined bits in the copied data; None if there are none."""
        bits = copies.undefined()
        if bits is None or not bits.any():
            return None
        places = LaneOffsets(copies.sources, threads.positions, threads.columns)
        return Access("read", self.size).origin(
            wave, lanes, wave.memories["global"], places, np.asarray(bits.any(axis=1))
        )

    def _sound(self, wave: Wave, lanes: Lanes, threads: Threads, addresses: IntArray, counts: IntArray | None) -> Mask:
        """Return the threads with a valid read of the first `counts` bytes of the source; 0 bytes are always valid."""
        if counts is None:
            return self._reads(wave, lanes, threads, addresses, self.size)
        kept = np.ones(len(threads), np.bool_)
        for count in np.unique(counts[counts > 0]).tolist():
            which = counts == count
            kept[which] = self._reads(wave, lanes, threads.chosen(which), addresses, count)
        return kept

    def _access(self, count: int) -> Access:
        if count == self.size:
            return Access("read", count)
        return Access("read", count, used=(1 << count) - 1, alignment=self.size)

    def _reads(self, wave: Wave, lanes: Lanes, threads: Threads, addresses: IntArray, count: int) -> Mask:
        """Return, per thread, whether a read of `count` bytes at the thread's source address is valid."""
        memory, access = wave.memories["global"], self._access(count)
        some: Lanes | None = lanes
        if len(threads) < lanes.count:
            some = lanes.narrowed(threads.spread(np.ones(len(threads), np.bool_), lanes.height))
        found = None if some is None else threads_at(wave, some, memory, addresses, access)
        if some is None or found is None:
            return np.zeros(len(threads), np.bool_)
        if len(found) == len(threads):
            return np.ones(len(threads), np.bool_)
        return np.isin(threads.positions * WARP + threads.columns, found.positions * WARP + found.columns)


def arrive_on_completion(wave: Wave, kind: GroupKind, threads: Threads) -> None:
    """Issue an mbarrier arrival of each thread, triggered when its earlier operations of `kind` have completed."""
    groups = wave.groups_of(kind)
    arrivals = Arrivals(
        wave=wave,
        pc=wave.pc,
        warps=threads.warps,
        lanes=threads.columns,
        group=None,
        numbers=np.zeros(len(threads), np.int64),
        follows=kind,
        behind=groups.count,
        barriers=threads.offsets,
    )
    item_id = wave.engine.issue(arrivals)
    if wave.machine.observers.active:
        wave.machine.observers.follows(kind, item_id, threads.warps, threads.columns, threads.offsets)


def multicast(wave: Wave, lanes: Lanes, threads: Threads, peers: Reader) -> Threads:
    """Return each thread once per CTA in its CTA mask (read by `peers`), at the same shared memory offset there."""
    size, stride = wave.machine.launch.cluster_size, wave.shared.stride
    masks = threads.read(peers, wave, lanes)
    which, ranks = np.nonzero(masks[:, None] >> np.arange(size) & 1)
    several = threads.chosen(which)
    blocks, inside = np.divmod(several.offsets, stride)
    return replace(several, offsets=(blocks - blocks % size + ranks) * stride + inside)


def commit(kind: GroupKind) -> Action:
    """Return a compiled instruction that commits each thread's open async-group of `kind`."""

    def step(wave: Wave, lanes: Lanes) -> None:
        wave.groups_of(kind).commit(lanes.row_numbers(), lanes.full_mask)

    return step


def wait(kind: GroupKind, latest: int, *, reads: bool) -> Action:
    """Return a compiled instruction that waits until only each thread's `latest` async-groups are pending.

    With `reads`, it waits only until the operations of older groups have read their sources.
    """

    def step(wave: Wave, lanes: Lanes) -> None:
        groups = wave.groups_of(kind)
        groups.wait(lanes.row_numbers(), lanes.full_mask, latest, reads=reads)
        wave.engine.finish_groups(kind, groups, reads=reads)
        tell_waited(wave, kind, *lanes.by_warp())

    return step


def compile_commit_group(operands: Operands) -> Action:
    """Compile `cp.async.commit_group`: commit each thread's open async-group of copies."""
    del operands
    return commit(COPY)


def compile_wait_group(operands: Operands) -> Action:
    """Compile `cp.async.wait_group N`: wait until only each thread's latest N async-groups are pending."""
    return wait(COPY, operands.integer(operands.named("n")), reads=False)


def compile_wait_all(operands: Operands) -> Action:
    """Compile `cp.async.wait_all`: each thread waits for all its copies."""
    del operands
    return _wait_all


def _wait_all(wave: Wave, lanes: Lanes) -> None:
    """Wait for every copy, including those of the open group, which is committed first. Manual: "cp.async.wait_all"."""
    groups = wave.groups_of(COPY)
    groups.commit(lanes.row_numbers(), lanes.full_mask)
    groups.wait(lanes.row_numbers(), lanes.full_mask, 0, reads=False)
    wave.engine.finish_groups(COPY, groups, reads=False)
    tell_waited(wave, COPY, *lanes.by_warp())


def compile_arrive(operands: Operands) -> Action:
    """Compile `cp.async.mbarrier.arrive`: each thread arrives at an mbarrier once its earlier copies have completed."""
    find, counted = barrier_target(operands), operands.word("noinc")

    def step(wave: Wave, lanes: Lanes) -> None:
        for _, threads in in_shared(wave, lanes, find, ACCESS, "mbarrier"):
            if not counted:
                for offset, index in by_offset(threads):
                    wave.mbarriers.await_arrivals(offset, len(index), wave.pc)
            arrive_on_completion(wave, COPY, threads)

    return step
