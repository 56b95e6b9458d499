"""CTA and warp barriers, and fences. Manual: "bar, barrier", "bar.warp.sync", "membar, fence"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.errors import SimulationError
from pyptx_sim.machine.barriers.barriers import PER_CTA
from pyptx_sim.machine.lanes import WARP, Lanes
from pyptx_sim.numerics.membermasks import LANE_BITS
from pyptx_sim.program.flow import converges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.compiling.registers import Reader, Writer
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.scheduling.code import Action, Group, Terminator
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask

_FULL = np.full((1, 1), 0xFFFFFFFF, np.uint32)  # membermask with all 32 lanes of a warp
_LEVELS = {"cta": "cta", "gl": "gpu", "sys": "sys"}  # scope of each membar level (`membar.gl`: `.gpu`)


def compile_barrier(operands: Operands, following: int) -> Terminator:
    """Compile `bar` or `barrier`: arrive at, wait at, or reduce over a named barrier of the CTA."""
    if operands.word("red"):
        return _reducing(operands, following)
    names, counts = _numbers(operands)
    if operands.word("arrive"):
        return _arriving(names, counts, following)
    return _waiting(names, counts, following)


def _numbers(operands: Operands) -> tuple[Reader, Reader | None]:
    """Return functions that read the barrier number and, if the instruction specifies it, the thread count."""
    count = operands.given("b")
    return operands.read(operands.named("a"), "u32"), None if count is None else operands.read(count, "u32")


def _lane_values(wave: Wave, group: Group, values: Array) -> IntArray:
    """Return an operand's values in the lanes of each executing warp split (`group`), int64 `[splits, 32]`."""
    rows = np.broadcast_to(values, (group.lanes.height, WARP)).astype(np.int64)
    return rows if group.lanes.rows is not None else rows[wave.splits.warp[group.ids]]


def _named(
    wave: Wave, group: Group, names: Reader, counts: Reader | None
) -> tuple[IntArray, IntArray, IntArray | None]:
    """Return the executing warp splits (`group`), with the barrier number and the thread count of each.

    A split whose lanes specify different barriers or counts is divided.
    """
    read = [names(wave, group.lanes)] + ([] if counts is None else [counts(wave, group.lanes)])
    if all(each.shape == (1, 1) for each in read):
        ids = group.ids
        found = [np.full(len(ids), int(each[0, 0]), np.int64) for each in read]
    else:
        ids, found = _divided(wave, group, [_lane_values(wave, group, each) for each in read])
    numbers, needed = found[0], None if counts is None else found[1]
    if (numbers >= PER_CTA).any():
        raise SimulationError(
            f"invalid barrier {int(numbers.max())}: valid barriers are 0 to {PER_CTA - 1}",
            where=wave.machine.where(wave.pc),
        )
    if needed is not None and (needed % WARP).any():
        raise SimulationError(
            f"invalid barrier thread count {int(needed[needed % WARP != 0][0])}: must be a multiple of {WARP}",
            where=wave.machine.where(wave.pc),
        )
    return ids, numbers, needed


def _divided(wave: Wave, group: Group, values: list[IntArray]) -> tuple[IntArray, list[IntArray]]:
    """Divide warp splits whose lanes have different `values`, `[splits, 32]`; return all splits and their values."""
    splits, ids = wave.splits, group.ids
    while True:
        masks = splits.mask[ids]
        first = masks.argmax(axis=1)[:, None]
        own = [np.take_along_axis(each, first, axis=1) for each in values]
        others = masks & ~np.logical_and.reduce([each == mine for each, mine in zip(values, own, strict=True)])
        some = np.flatnonzero(others.any(axis=1))
        if not len(some):
            return ids, [mine[:, 0] for mine in own]
        ids = np.concatenate([ids, splits.divide(ids[some], others[some], int(splits.block[ids[0]]))])
        values = [np.concatenate([each, each[some]]) for each in values]


def _waiting(names: Reader, counts: Reader | None, following: int) -> Terminator:
    def wait(wave: Wave, group: Group) -> int | None:
        ids, numbers, needed = _named(wave, group, names, counts)
        if counts is None and _everybody_meets(wave, group, numbers):
            if wave.machine.observers.active:
                warps = wave.splits.warp[group.ids]
                masks = wave.splits.mask[group.ids]
                wave.machine.observers.barriers(warps, masks, wave.barriers.keys(group.ids, numbers), wave.pc)
            wave.completed_barriers += 1
            return following
        wave.splits.block[ids] = following
        wave.barriers.wait(ids, numbers, needed, None)
        return None

    return wait


def _everybody_meets(wave: Wave, group: Group, numbers: IntArray) -> bool:
    """Return whether all threads of the wave arrive together at barriers of the same number.

    False if a thread has exited, or if threads have already arrived at a barrier.
    """
    whole = (
        len(numbers) == len(group.ids) and group.lanes.whole and len(group.ids) == wave.height and wave.barriers.idle()
    )
    return whole and bool((numbers == numbers[0]).all()) and not wave.exited


def _arriving(names: Reader, counts: Reader | None, following: int) -> Terminator:
    def arrive(wave: Wave, group: Group) -> int | None:
        ids, numbers, needed = _named(wave, group, names, counts)
        wave.splits.block[ids] = following
        wave.barriers.arrive(ids, numbers, needed)
        return None

    return arrive


@dataclass(frozen=True, slots=True)
class _Reduction:
    """Destination of `barrier.red`, written when the barrier completes."""

    kind: str
    write: Writer

    def finish(self, wave: Wave, lanes: Lanes, counts: IntArray, totals: IntArray) -> None:
        """Write how many threads have a true predicate, or whether the predicate is true for all or any threads."""
        if self.kind == "popc":
            self.write(wave, lanes, counts.astype(np.uint32))
        else:
            self.write(wave, lanes, counts == totals if self.kind == "and" else counts > 0)


def _reducing(operands: Operands, following: int) -> Terminator:
    if operands.word("popc"):
        reduction = _Reduction("popc", operands.write(operands.named("d"), "u32"))
    else:
        reduction = _Reduction(operands.word("op"), operands.write(operands.named("p"), "pred"))
    names, counts = _numbers(operands)
    held = operands.read(operands.named("c"), "pred")
    pc = operands.pc

    def wait(wave: Wave, group: Group) -> int | None:
        lanes = group.lanes
        values = np.zeros((wave.height, WARP), np.bool_)
        values[lanes.row_numbers()] = held(wave, lanes)
        ids, numbers, needed = _named(wave, group, names, counts)
        wave.splits.block[ids] = following
        wave.barriers.reductions[pc] = reduction
        wave.barriers.wait(ids, numbers, needed, values[wave.splits.warp[ids]])
        return None

    return wait


# --- gates --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MaskGate:
    """`Gate` (point at which lanes of a warp wait for each other) of an instruction with a membermask.

    `mask` reads the membermask (None: the whole warp). `varies`: the membermask is in a register, so that
    lanes may have different membermasks.
    """

    mask: Reader | None
    rendezvous: bool
    varies: bool = False

    def masks(self, wave: Wave, lanes: Lanes) -> Array:
        """Return the membermask of each lane, uint32 `[rows|1, 32|1]`."""
        return _FULL if self.mask is None else self.mask(wave, lanes)

    def convergences(self, wave: Wave, lanes: Lanes) -> Iterator[tuple[IntArray, Mask]]:
        """Yield groups of lanes that synchronize, one group per distinct membermask, as warps and lane masks."""
        left: Lanes | None = lanes
        values = self.masks(wave, lanes)
        if values.shape[1] == 1:
            named = (values & LANE_BITS) != 0
            yield Lanes(lanes.rows, named & lanes.full_mask, lanes.height, whole=False).by_warp()
            return
        own = np.broadcast_to(values, (lanes.height, WARP)).astype(np.uint32)
        while left is not None:
            mask = left.full_mask
            first = own[np.arange(lanes.height), mask.argmax(axis=1)][:, None]
            together = mask & (own == first)
            yield Lanes(lanes.rows, together & ((first & LANE_BITS) != 0), lanes.height, whole=False).by_warp()
            left = left.narrowed(~together)


def compile_gate(operands: Operands) -> MaskGate:
    """Return the `MaskGate` of a warp-collective instruction: its lanes wait for each other before they execute it."""
    if converges(operands.opcode) != "lanes":
        return MaskGate(None, rendezvous=False)
    rendezvous = operands.form().row.instruction == "bar.warp.sync"
    membermask = operands.operands[-1]
    varies = operands.register(membermask) is not None
    return MaskGate(operands.read(membermask, "u32"), rendezvous=rendezvous, varies=varies)


def ordering(gate: MaskGate, step: Action) -> Action:
    """Wrap `step`: first order earlier accesses of lanes that synchronize at `gate` before their later accesses.

    Of instructions with `.sync` only `bar.warp.sync` orders memory. Manual: "bar.warp.sync", "shfl.sync", "elect.sync".
    """

    def run(wave: Wave, lanes: Lanes) -> None:
        observers = wave.machine.observers
        if observers.active:
            for warps, masks in gate.convergences(wave, lanes):
                observers.warp_sync(warps, masks, wave.pc)
        step(wave, lanes)

    return run


def compile_warp_sync(operands: Operands) -> Action:
    """Compile `bar.warp.sync`: only check the membermask for undefined bits; the `MaskGate` synchronizes the lanes."""
    membermask = operands.read(operands.operands[-1], "u32")

    def step(wave: Wave, lanes: Lanes) -> None:
        membermask(wave, lanes)

    return step


def compile_fence(operands: Operands) -> Action:
    """Compile `fence` or `membar`: notify observers; the simulator executes memory accesses in order anyway."""
    level = operands.word("level")
    scope = _LEVELS[level] if level else operands.word("scope")
    in_order = bool(level) or operands.word("sem") == "sc"  # membar is fence.sc. Manual: "membar"

    def step(wave: Wave, lanes: Lanes) -> None:
        if wave.machine.observers.active:
            wave.machine.observers.fence(*lanes.by_warp(), scope, wave.pc, in_order=in_order)

    return step
