"""`setmaxnreg`: registers that warps hand to each other. Manual: "setmaxnreg"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_arch_hopper.sim.register_pool import pool_of
from pyptx_sim.extension import Step
from pyptx_sim.instructions.synchronization.barriers import compile_gate

if TYPE_CHECKING:
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.scheduling.code import Group, Terminator
    from pyptx_sim.machine.wave import Wave

_FEWEST, _MOST, _STEP = 24, 256, 8


def compile_deal(operands: Operands, following: int) -> Terminator:
    """Give registers up, or wait for more; nothing where ptxas drops the instruction."""
    count = int(operands.constant(operands.operands[0]))
    if not _FEWEST <= count <= _MOST or count % _STEP:
        operands.fail(f"setmaxnreg cannot set {count} registers: {_FEWEST} to {_MOST} in steps of {_STEP}")
    gives = "dec" in operands.opcode
    gate = compile_gate(operands)

    def deal(wave: Wave, group: Group) -> int | None:
        if wave.machine.observers.active:
            for warps, masks in gate.convergences(wave, group.lanes):
                wave.machine.observers.warp_sync(warps, masks, wave.pc)
        pool = pool_of(wave)
        if pool is None:
            return following
        wave.splits.block[group.ids] = following
        (pool.give if gives else pool.take)(group.ids, count)
        return None

    return deal


STEPS: Final = (Step(opcode="setmaxnreg", effect="order", end=compile_deal, converges="warp", waits=True),)
