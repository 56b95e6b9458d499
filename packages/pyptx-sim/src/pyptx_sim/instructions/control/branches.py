"""Control flow within a function. Manual: "bra", "brx.idx", "exit", "trap", "brkpt"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.syntax.operands import Register, Symbol
from pyptx_sim.errors import KernelTrap
from pyptx_sim.machine.lanes import WARP, pick
from pyptx_sim.program.scopes import LabelBinding, TargetsBinding

if TYPE_CHECKING:
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.scheduling.code import Group, Terminator
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask


def label_block(operands: Operands, name: str) -> int:
    """Return the index of the basic block that starts at a label."""
    found = operands.find(name)
    if not isinstance(found, LabelBinding):
        operands.fail(f"expected a label, got {name}")
    return operands.program.label_block(found.key)


def destinations(operands: Operands) -> tuple[int, ...]:
    """Return the indices of the basic blocks that `bra` or `brx.idx` may branch to, in the order of the label list."""
    label = operands.given("target")
    if isinstance(label, Symbol | Register):
        return (label_block(operands, label.name),)
    table = operands.named("targets")
    if not isinstance(table, Symbol):
        operands.fail("brx.idx: expected the label of a .branchtargets list")
    found = operands.find(table.name)
    if not isinstance(found, TargetsBinding):
        operands.fail(f"brx.idx: expected the label of a .branchtargets list, got {table.name}")
    if not found.names:
        operands.fail(f"empty .branchtargets list {table.name}")
    return tuple(label_block(operands, name) for name in found.names)


def compile_bra(operands: Operands, following: int) -> Terminator:
    """Compile `bra`: lanes with different conditions diverge."""
    (taken,) = destinations(operands)
    guard = operands.guard()
    if guard is None:
        return lambda _wave, _group: taken

    def branch(wave: Wave, group: Group) -> int | None:
        lanes = group.lanes
        condition: Mask = guard(wave, lanes)
        if condition.shape == (1, 1):
            return taken if condition[0, 0] else following
        wants = np.broadcast_to(condition, (lanes.height, WARP))
        goes, stays = (wants, ~wants) if lanes.mask is None else (wants & lanes.mask, lanes.mask & ~wants)
        if not stays.any():
            return taken
        if not goes.any():
            return following
        part(wave, group, goes, stays, (taken, following))
        return None

    return branch


def part(wave: Wave, group: Group, goes: Mask, stays: Mask, blocks: tuple[int, int]) -> None:
    """Continue the lanes `goes` of each warp split at basic block `blocks[0]`, and the lanes `stays` at `blocks[1]`."""
    splits, ids = wave.splits, group.ids
    if group.lanes.rows is None and len(ids) != group.lanes.height:
        rows = splits.warp[ids]
        goes, stays = goes[rows], stays[rows]
    taken, following = blocks
    some, rest = goes.any(axis=1), stays.any(axis=1)
    splits.block[ids] = np.where(some, taken, following)
    both = some & rest
    if both.any():
        splits.divide(ids[both], stays[both], following)


def compile_brx(operands: Operands, following: int) -> Terminator:
    """Compile `brx.idx`: branch to the label at the index given by a register, in a `.branchtargets` list."""
    del following
    blocks = np.array(destinations(operands), np.int64)
    read = operands.read(operands.named("index"), "u32")

    def branch(wave: Wave, group: Group) -> int | None:
        # An index past the target list of brx.idx is undefined behavior; the simulator branches to the last target.
        chosen = np.minimum(read(wave, group.lanes).astype(np.int64), len(blocks) - 1)
        return disperse(wave, group, blocks[chosen])

    return branch


def disperse(wave: Wave, group: Group, blocks: IntArray) -> int | None:
    """Continue every lane at its basic block in `blocks`, `[rows|1, 32|1]`; return the block if all are equal."""
    lanes = group.lanes
    targets = np.unique(pick(blocks, *lanes.active)).tolist()
    if len(targets) == 1:
        return int(targets[0])
    splits, ids = wave.splits, group.ids
    everywhere = np.broadcast_to(blocks, (lanes.height, WARP))
    if lanes.rows is None and len(ids) != lanes.height:
        everywhere = everywhere[splits.warp[ids]]
    for target in targets:
        going = splits.mask[ids] & (everywhere == target)
        all_go = (going == splits.mask[ids]).all(axis=1)
        splits.block[ids[all_go]] = target
        some = going.any(axis=1) & ~all_go
        if some.any():
            splits.divide(ids[some], going[some], target)
        ids, everywhere = ids[~all_go], everywhere[~all_go]
    return None


def compile_exit(operands: Operands, following: int) -> Terminator:
    """Compile `exit`: the threads that execute it exit."""
    del operands, following

    def end(wave: Wave, group: Group) -> int | None:
        wave.exit(group.ids)
        return None

    return end


_TRAPPED = "check the condition that leads to trap"
_UNCOOPERATIVE = "launch with cooperative=True: the kernel synchronizes its grid (%envreg1)"


def compile_trap(operands: Operands, following: int) -> Terminator:
    """Compile `trap`: raise a KernelTrap error that stops the kernel."""
    del operands, following

    def trap(wave: Wave, group: Group) -> int | None:
        warp = int(wave.splits.warp[group.ids[0]])
        lane = int(wave.splits.mask[group.ids[0]].argmax())
        machine = wave.machine
        lacks_workspace = machine.program.workspace is not None and not machine.launch.cooperative
        raise KernelTrap(
            f"{wave.geometry.thread_name(warp, lane)} executed trap",
            where=machine.where(wave.pc),
            help=_UNCOOPERATIVE if lacks_workspace else _TRAPPED,
        )

    return trap
