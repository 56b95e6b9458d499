"""Allocation of tensor memory columns, which the allocating CTA must free.

The address that an allocation writes to shared memory needs no proxy fence: that write is ordered with all accesses
to the same address (manual: "Asynchronous Operations" of tcgen05).

Manual: "tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_arch_blackwell.datapath import LANES, Rectangle
from pyptx_arch_blackwell.sim.pairs import PAIR, Pairing
from pyptx_arch_blackwell.sim.pipeline import blocks_of
from pyptx_arch_blackwell.sim.tensor_memory import COLUMNS, SPACE, WORD, TensorMemoryWords, touch
from pyptx_arch_blackwell.sim.thread_order import ThreadOrder
from pyptx_sim.extension import InstructionSemantics

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_sim.extension import (
        Action,
        AsyncAccess,
        ExecutionContext,
        Operands,
        Reader,
        Stall,
        Target,
        Terminator,
        Wave,
    )

__all__ = ["STEPS", "AllocatedColumns"]

FREED: Final = "tmem-use-after-free"
_FEWEST = 32  # number of columns of the smallest tcgen05.alloc, of which every allocation is a multiple
_WORD = np.dtype(np.uint32)


class AllocatedColumns:
    """Allocated columns of each simulated CTA: by first column, the column count and the pc of tcgen05.alloc."""

    name = "tensor memory columns"
    help = "free columns first (tcgen05.dealloc), or allocate fewer"
    alone = True

    def __init__(self, wave: Wave) -> None:
        """Start with all columns free."""
        self._wave = wave
        self._taken: list[dict[int, tuple[int, int]]] = [{} for _ in range(wave.geometry.ctas)]
        self._relinquished: dict[int, int] = {}  # pc of each CTA's tcgen05.relinquish_alloc_permit
        # Number of columns of each CTA's smallest allocation so far.
        self._fewest = np.full(wave.geometry.ctas, COLUMNS)
        self._wanted: dict[int, int] = {}  # number of columns that each blocked warp requests with tcgen05.alloc
        # For each CTA: pc of the tcgen05.dealloc that freed each 32-column unit, by the unit's first column.
        self._freed: list[dict[int, int]] = [{} for _ in self._taken]
        wave.memory(SPACE)
        wave.endings.append(self._report_leaks)

    # --- allocated columns ----------------------------------------------------------------------------

    def room(self, blocks: Iterable[int], count: int) -> int | None:
        """Return the first multiple of `count` at which `count` columns are free in all CTAs `blocks`; else None."""
        taken = [each for block in blocks for each in self._taken[block].items()]
        for start in range(0, COLUMNS - count + 1, count):
            if all(start + count <= first or first + size <= start for first, (size, _) in taken):
                return start
        return None

    def holds(self, block: int, first: int, count: int) -> bool:
        """Return whether columns are allocated: by one allocation, or by several adjacent ones."""
        at, end = first, first + count
        for start, (size, _) in sorted(self._taken[block].items()):
            if start <= at < start + size:
                at = start + size
        return at >= end

    def check_columns(self, turn: ExecutionContext, block: int, first: int, count: int) -> bool:
        """Report an access to columns that are not allocated; return whether the access can be performed anyway."""
        if self.holds(block, first, count):
            return True
        last = first + count - 1
        columns = f"column {first}" if count == 1 else f"columns {first}-{last}"
        label = f"access to tensor memory of {self._wave.geometry.cta_name(block)}"
        freed = next((pc for unit, pc in self._freed[block].items() if first < unit + _FEWEST and unit <= last), None)
        if freed is not None and turn.checked:
            message = f"access to {columns} of tensor memory after tcgen05.dealloc"
            turn.report(FREED, message, other_pc=freed, label=label, count=turn.count)
            return False
        message = f"invalid tensor memory access: {columns} {'is' if count == 1 else 'are'} not allocated"
        help = "allocate the columns (tcgen05.alloc) and use the address that it writes"
        turn.fault("out-of-bounds", message, help, turn.count, label=label)
        return last < COLUMNS

    def take(self, turn: ExecutionContext, block: int, start: int, count: int) -> None:
        """Allocate columns; their contents become undefined."""
        if count > self._fewest[block]:
            turn.report(
                "tmem-alloc",
                f"tcgen05.alloc of {count} columns after {self._fewest[block]}: sizes must not increase",
                label=f"tcgen05.alloc by {turn.warp_name(int(turn.warps[0]))}",
                help="execute the tcgen05.alloc with the most columns first",
            )
        self._fewest[block] = min(self._fewest[block], count)
        self._taken[block][start] = (count, turn.pc)
        turn.part(TensorMemoryWords).forget(block, slice(start, start + count))
        if turn.observed:
            turn.part(ThreadOrder).forget(_cells(block, start, count))
        for unit in range(start, start + count, _FEWEST):
            if self._freed[block].pop(unit, None) is not None:
                turn.acquire(SPACE, (block, unit))

    def give_back(self, turn: ExecutionContext, block: int, start: int, count: int, *, paired: bool) -> None:
        """Free columns, and resume the warps blocked in tcgen05.alloc.

        The CTAs of a pair free together, so neither CTA may have an outstanding access. Manual: "tcgen05.dealloc".
        """
        known = self._taken[block].get(start)
        if known is None or known[0] != count:
            what = "which are not allocated" if known is None else f"allocated as {known[0]}"
            label = f"tcgen05.dealloc by {turn.warp_name(int(turn.warps[0]))}"
            turn.report("tmem-alloc", f"tcgen05.dealloc of {count} columns at {start}, {what}", label=label)
            return
        del self._taken[block][start]
        for each in (block, block ^ 1) if paired else (block,):
            cells = _cells(each, start, count)
            turn.freed(FREED, SPACE, cells.offsets, cells.size)
        for unit in range(start, start + count, _FEWEST):
            turn.release(SPACE, (block, unit))
            self._freed[block][unit] = turn.pc
        self._wave.stalled(self).resume()

    # --- the allocation permit ------------------------------------------------------------------------

    def relinquish(self, turn: ExecutionContext) -> None:
        """Record that CTAs executed tcgen05.relinquish_alloc_permit."""
        for block in np.unique(turn.ctas[turn.mask.any(axis=1)]).tolist():
            self._relinquished.setdefault(block, turn.pc)

    def check_permit(self, turn: ExecutionContext, block: int) -> None:
        """Report tcgen05.alloc in a CTA that has executed tcgen05.relinquish_alloc_permit."""
        pc = self._relinquished.get(block)
        if pc is not None:
            self._wave.report(
                "tmem-alloc",
                "tcgen05.alloc after tcgen05.relinquish_alloc_permit",
                turn.pc,
                other_pc=pc,
                label=f"tcgen05.alloc by {turn.warp_name(int(turn.warps[0]))}",
                help="execute tcgen05.relinquish_alloc_permit after the CTA's last tcgen05.alloc",
            )

    # --- waiting warps --------------------------------------------------------------------------------

    def want(self, warp: int, count: int) -> AllocatedColumns:
        """Record the number of columns for which a warp blocks in tcgen05.alloc."""
        self._wanted[warp] = count
        return self

    def describe(self, warp: int) -> str:
        """Return, as text, how many free columns a warp blocked in tcgen05.alloc lacks."""
        taken = sorted(self._taken[int(self._wave.geometry.cta[warp])].items())
        parts = ", ".join(f"{size} at {start}" for start, (size, _) in taken)
        return f"tcgen05.alloc of {self._wanted[warp]} columns blocked; allocated: {parts}"

    def _report_leaks(self) -> None:
        if not self._wave.ended:
            return
        for block, taken in enumerate(self._taken):
            for start, (count, pc) in taken.items():
                name = self._wave.geometry.cta_name(block)
                message = f"{name} exits with {count} columns allocated at column {start}"
                self._wave.report("tmem-leak", message, pc)


def _cells(block: int, start: int, count: int) -> AsyncAccess:
    """Return a write access to all lanes of some columns of a CTA, for the race checks."""
    return touch(np.array([block]), np.array([start]), (Rectangle(0, 0, LANES, 0, count, 0),), writes=True)


class Pairs:
    """Rendezvous of CTA pairs in tcgen05.alloc and dealloc: the first CTA's warp waits for the peer CTA's warp.

    Manual: "Issue Granularity".
    """

    name = "the peer CTA"
    help = "execute tcgen05.alloc and .dealloc in both CTAs of the pair: same columns, same order"
    alone = False

    def __init__(self, wave: Wave) -> None:
        """Start without blocked warps."""
        self._wave = wave
        # By opcode and CTA: operand nCols of the instruction that waits for the peer CTA.
        self._there: dict[tuple[str, int], int] = {}
        # By opcode and CTA of a blocked warp: first column allocated for it when the peer CTA arrived.
        self._granted: dict[tuple[str, int], int] = {}

    def granted(self, operation: str, block: int) -> int | None:
        """Return a waiting warp's first allocated column; None if the peer CTA's warp has not arrived."""
        return self._granted.pop((operation, block), None)

    def come(self, turn: ExecutionContext, operation: str, block: int, count: int) -> bool:
        """Record that a warp of a CTA has arrived; return whether the peer CTA's warp has arrived too."""
        self._there[operation, block] = count
        other = self._there.get((operation, block ^ 1))
        if other is not None and other != count:
            turn.report(
                PAIR,
                f"CTA pair disagrees: {count} columns here, {other} in the peer CTA",
                label=f"executed by {turn.warp_name(int(turn.warps[0]))}",
                help=self.help,
            )
        return other is not None

    def agree(self, operation: str, block: int, start: int) -> None:
        """Resume the peer CTA's blocked warp, which gets the columns from `start` on."""
        del self._there[operation, block], self._there[operation, block ^ 1]
        self._granted[operation, block ^ 1] = start
        self._wave.stalled(self).resume()
        self._wave.stalled(self._wave.part(AllocatedColumns)).resume()

    def describe(self, warp: int) -> str:
        """Return the peer CTA for which a blocked warp waits, as text."""
        block = int(self._wave.geometry.cta[warp])
        return f"waiting for the peer CTA of the pair, {self._wave.geometry.cta_name(block ^ 1)}"


def compile_alloc(operands: Operands, following: int) -> Terminator:
    """Allocate columns, and write their address to shared memory; wait while too few are free."""
    blocks, count_of = blocks_of(operands), operands.source(_columns_name(operands), "u32")
    place = operands.shared_place("dst")

    def alloc(turn: ExecutionContext) -> Stall | None:
        allocation, block, count = (
            turn.part(AllocatedColumns),
            int(turn.ctas[0]),
            _count(turn, "tcgen05.alloc", count_of),
        )
        allocation.check_permit(turn, block)
        start, paired = None, turn.part(Pairing).holds(turn, blocks) and blocks == 2
        if paired:
            pairs = turn.part(Pairs)
            start = pairs.granted("allocate", block)
            if start is None and not pairs.come(turn, "allocate", block, count):
                return pairs
        if start is None:
            start = allocation.room(range(block & ~1, (block & ~1) + 2) if paired else (block,), count)
            if start is None:
                return allocation.want(int(turn.warps[0]), count)
            if paired:
                turn.part(Pairs).agree("allocate", block, start)
        allocation.take(turn, block, start, count)
        _write(turn, place, start)
        return None

    return operands.end(alloc, following)


def compile_dealloc(operands: Operands, following: int) -> Terminator:
    """Execute tcgen05.dealloc: free columns; the two warps of a CTA pair wait for each other."""
    blocks, count_of = blocks_of(operands), operands.source(_columns_name(operands), "u32")
    address = operands.source("taddr", "u32")

    def dealloc(turn: ExecutionContext) -> Stall | None:
        block, count = int(turn.ctas[0]), _count(turn, "tcgen05.dealloc", count_of)
        start = _lead(turn, "tcgen05.dealloc", address)
        paired = turn.part(Pairing).holds(turn, blocks) and blocks == 2
        if paired:
            pairs = turn.part(Pairs)
            if pairs.granted("free", block) is None:
                if not pairs.come(turn, "free", block, count):
                    return pairs
                pairs.agree("free", block, start)
        turn.part(AllocatedColumns).give_back(turn, block, start, count, paired=paired)
        return None

    return operands.end(dealloc, following)


def compile_relinquish(operands: Operands) -> Action:
    """Execute tcgen05.relinquish_alloc_permit."""
    blocks = blocks_of(operands)

    def relinquish(turn: ExecutionContext) -> None:
        turn.part(Pairing).holds(turn, blocks)
        turn.part(AllocatedColumns).relinquish(turn)

    return operands.action(relinquish)


def _columns_name(operands: Operands) -> str:
    """Return the name of the column count operand, which differs for exclusive allocations."""
    return next(name for name in operands.names if name.startswith("columns"))


def _lead(turn: ExecutionContext, opcode: str, source: Reader) -> int:
    """Return the warp's value of an operand, from its first thread; report an operand that is not uniform."""
    values = turn.each(source)
    if turn.checked and (values != values[0]).any():
        message = f"operand of {opcode} is not uniform across the warp"
        label = f"{opcode} by {turn.warp_name(int(turn.warps[0]))}"
        turn.report("tmem-alloc", message, label=label, help="pass the same value in all 32 threads")
    return int(values[0])


def _count(turn: ExecutionContext, opcode: str, source: Reader) -> int:
    """Return the column count of a tcgen05.alloc or dealloc; report an invalid count and round it to a valid one."""
    count = _lead(turn, opcode, source)
    if count in range(_FEWEST, COLUMNS + 1) and count & (count - 1) == 0:
        return count
    message = f"{opcode} of {count} columns: must be 32, 64, 128, 256 or 512"
    label = f"{opcode} by {turn.warp_name(int(turn.warps[0]))}"
    freed = opcode.endswith("dealloc")
    help = "pass the number of columns of the allocation" if freed else "round up to a valid number of columns"
    turn.misuse("tmem-alloc", message, help, label=label)
    return min(max(_FEWEST, 1 << (count - 1).bit_length()), COLUMNS)


def _write(turn: ExecutionContext, place: Target, start: int) -> None:
    """Write the columns' address to shared memory by one thread; the write precedes later accesses of the warp."""
    leaders = turn.first_lanes()
    for some, offsets in leaders.in_shared(place, WORD, "write", what="destination"):
        some.accessed("shared", offsets, WORD, "write")
        arena = some.memory("shared").arena
        arena.scatter(offsets, [np.full(len(offsets), start, _WORD)])
        arena.mark(offsets, WORD)
        some.changed()
    key = int(turn.warps[0]), start
    leaders.release(AllocatedColumns, key, turn.wave.version)
    turn.acquire(AllocatedColumns, key, turn.wave.version)


STEPS: Final = (
    InstructionSemantics(
        opcode="tcgen05.alloc", effect="order", end=compile_alloc, converges="warp", blocks=True, proxy_fence=True
    ),
    InstructionSemantics(opcode="tcgen05.dealloc", effect="order", end=compile_dealloc, converges="warp", blocks=True),
    InstructionSemantics(
        opcode="tcgen05.relinquish_alloc_permit", effect="order", compile=compile_relinquish, converges="warp"
    ),
)
