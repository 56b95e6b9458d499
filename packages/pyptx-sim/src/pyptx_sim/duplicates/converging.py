"""Compiled code in which each `.sync` instruction of a warp orders memory among its lanes, as `bar.warp.sync` does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyptx_sim.instructions.compiling.operands import Operands
from pyptx_sim.instructions.synchronization.barriers import compile_gate
from pyptx_sim.program.flow import converges, meets

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action, Block, Code
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.program.program import Program

__all__ = ["ordering_lanes"]


def ordering_lanes(program: Program, code: Code) -> Code:
    """Return compiled code in which instructions with a membermask order memory among lanes, like `bar.warp.sync`."""
    return tuple(_block(program, block) for block in code)


def _block(program: Program, block: Block) -> Block:
    return replace(block, steps=tuple((pc, _ordering(program, pc, action)) for pc, action in block.steps))


def _ordering(program: Program, pc: int, action: Action) -> Action:
    opcode = program.sites[pc].instruction.opcode
    if converges(opcode) != "lanes" or meets(opcode):
        return action
    gate = compile_gate(Operands(program, program.sites[pc], checked=False))

    def step(wave: Wave, lanes: Lanes) -> None:
        for warps, masks in gate.convergences(wave, lanes):
            wave.machine.observers.warp_sync(warps, masks, pc)
        action(wave, lanes)

    return step
