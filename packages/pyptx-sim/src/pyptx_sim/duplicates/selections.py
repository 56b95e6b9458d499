"""Branches that only select register values: lanes diverge, compute independently, and reconverge.

If the condition of such a branch is undefined, only the registers written before reconvergence become undefined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_ir.syntax.operands import Register
from pyptx_sim.extension.registry import meaning_of
from pyptx_sim.extension.step import InstructionSemantics
from pyptx_sim.instructions.compiling.carrying import Carried
from pyptx_sim.instructions.compiling.operands import Operands
from pyptx_sim.instructions.control.branches import compile_bra
from pyptx_sim.machine.lanes import WARP
from pyptx_sim.program.flow import successors
from pyptx_sim.program.unassigned import used_registers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx_sim.duplicates.slices import Branch
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action, Group, Terminator
    from pyptx_sim.machine.undefined import Origin
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask
    from pyptx_sim.program.program import Program

__all__ = ["Selection", "selections"]

_ACROSS_LANES: Final = frozenset({"activemask", "shfl", "vote"})


@dataclass(frozen=True, slots=True)
class Selection:
    """A branch by a predicate, the basic block where its lanes reconverge, and the registers written before that."""

    pc: int
    join: int
    condition: Carried
    written: tuple[Carried, ...]


def selections(program: Program, branches: Iterable[Branch]) -> list[Selection]:
    """Return the branches of a program that only select register values."""
    return [_selection(program, branch) for branch in branches if branch.certain and _only_selects(program, branch)]


def _only_selects(program: Program, branch: Branch) -> bool:
    instruction = program.sites[branch.pc].instruction
    if instruction.opcode[0] != "bra" or instruction.guard is None or branch.block in branch.between:
        return False
    blocks = [program.blocks[index] for index in branch.between]
    forward = all(each > block.index for block in blocks for each in successors(program, block) & branch.between)
    sites = (pc for block in blocks for pc in range(block.first, block.last))
    return forward and all(_of_its_lane(program.sites[pc].instruction.opcode) for pc in sites)


def _of_its_lane(opcode: tuple[str, ...]) -> bool:
    """Return whether each lane computes an instruction from its own registers only, without any other effect."""
    if opcode[0] in _ACROSS_LANES or "sync" in opcode:
        return False
    meaning = meaning_of(opcode)
    return opcode[0] == "bra" or not isinstance(meaning, InstructionSemantics) or meaning.effect == "none"


def _selection(program: Program, branch: Branch) -> Selection:
    sites = [program.sites[pc] for each in branch.between for pc in _pcs(program, each)]
    registers = {each.slot: each for site in sites for each in used_registers(program, site)[1]}
    written = tuple(Carried(each, each.type, branch.pc) for each in registers.values())
    guard = program.sites[branch.pc].instruction.guard
    assert guard is not None  # noqa: S101 - `_only_selects` has looked
    condition = Operands(program, program.sites[branch.pc], checked=True).carried(Register(guard.register), "pred")
    assert condition is not None  # noqa: S101 - it is a register
    (join,) = branch.joins
    return Selection(branch.pc, join, condition, written)


def _pcs(program: Program, block: int) -> range:
    return range(program.blocks[block].first, program.blocks[block].last)


class _Parted:
    """Lanes, of all warps that run together, that took branches by undefined conditions and have not reconverged."""

    def __init__(self, wave: Wave) -> None:
        """Start without diverged lanes."""
        self._height = wave.height
        self._lanes: dict[int, Mask] = {}
        self._origins: dict[int, Origin] = {}

    def branch(self, wave: Wave, lanes: Lanes, selection: Selection) -> None:
        """Record the lanes whose branch condition is undefined."""
        bits = selection.condition.read(wave, lanes)
        if bits is not None:
            parted = self._lanes.setdefault(selection.pc, np.zeros((self._height, WARP), np.bool_))
            parted[lanes.row_numbers()] |= (bits != 0) & lanes.full_mask
            self._origins[selection.pc] = selection.condition.origin(wave)

    def meet(self, wave: Wave, lanes: Lanes, selection: Selection) -> None:
        """Mark the registers written since the branch as undefined in the recorded lanes."""
        parted = self._lanes.get(selection.pc)
        if parted is None:
            return
        here = lanes.select(parted) & lanes.full_mask
        if here.any():
            parted[lanes.row_numbers()] &= ~here
            for each in selection.written:
                each.spoil(wave, lanes, here, self._origins[selection.pc])


def branching(operands: Operands, following: int, selection: Selection) -> Terminator:
    """Return the function that executes a branch and also records the lanes with an undefined condition."""
    terminator = compile_bra(operands.unchecked(), following)

    def end(wave: Wave, group: Group) -> int | None:
        if wave.undefined:
            wave.part(_Parted).branch(wave, group.lanes, selection)
        return terminator(wave, group)

    return end


def meeting(action: Action, met: Sequence[Selection]) -> Action:
    """Return a function that marks registers written since the branches `met` as undefined, then executes `action`."""

    def step(wave: Wave, lanes: Lanes) -> None:
        for each in met:
            wave.part(_Parted).meet(wave, lanes, each)
        action(wave, lanes)

    return step


def meeting_end(terminator: Terminator, met: Sequence[Selection]) -> Terminator:
    """Return a function that marks registers written since the branches `met` as undefined, then ends a basic block.

    Used for a basic block without other instructions; otherwise its first instruction marks the registers (`meeting`).
    """

    def end(wave: Wave, group: Group) -> int | None:
        for each in met:
            wave.part(_Parted).meet(wave, group.lanes, each)
        return terminator(wave, group)

    return end
