"""`setmaxnreg`: registers moved between a CTA's warps. Manual: "setmaxnreg"."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from pyptx_arch_hopper.sim.register_pool import RegisterPool
from pyptx_sim.extension import InstructionSemantics

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.extension import ExecutionContext, Operands, Terminator, Wave

_FEWEST, _MOST, _STEP = 24, 256, 8


def compile_setmaxnreg(operands: Operands, following: int) -> Terminator:
    """Return the action of setmaxnreg: free registers, or wait for more; no effect if ptxas ignores the instruction."""
    count = operands.number("count")
    if not _FEWEST <= count <= _MOST or count % _STEP:
        operands.fail(f"invalid setmaxnreg count {count}: must be {_FEWEST} to {_MOST} in steps of {_STEP}")
    releases = operands.word("action") == "dec"
    make = _pools(max((each.number("count") for each in operands.others("setmaxnreg.inc")), default=_MOST))

    def reallocate(turn: ExecutionContext) -> None:
        if turn.wave.thread_registers is None:
            return
        pool = turn.part(make)
        (pool.release if releases else pool.request)(turn, count)

    return operands.end_once(reallocate, following)


@cache
def _pools(most: int) -> Callable[[Wave], RegisterPool]:
    """Return a function that creates the `RegisterPool` of a `Wave` (the CTAs simulated together).

    `most` is the largest `setmaxnreg.inc` count in the program: ptxas 13.0 assigns
    threads at most `most` registers at launch.
    """
    return lambda wave: RegisterPool(wave, min(wave.thread_registers or 0, most))


STEPS: Final = (
    InstructionSemantics(opcode="setmaxnreg", effect="order", end=compile_setmaxnreg, converges="warp", blocks=True),
)
