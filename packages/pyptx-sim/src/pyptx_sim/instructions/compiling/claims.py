"""The registers that asynchronous work goes on using, and who judges accesses to them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar, cast

from pyptx_sim.extension import step_of
from pyptx_sim.instructions.turns.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyptx_sim.extension import Claims, Judge
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.program.program import Program

    JudgeOf = Callable[[Wave], Judge]

J = TypeVar("J", bound="Judge")


@lru_cache(maxsize=128)
def _judges(
    program: Program, given: type[Operands]
) -> Mapping[Callable[..., Judge], tuple[Mapping[int, str], JudgeOf]]:
    """Return, by what makes judges, the registers that a program claims for them, and what makes one of these.

    Claims read the operands as `given` has them.
    """
    found: dict[Callable[..., Judge], dict[int, str]] = {}
    for site in program.sites:
        step = step_of(site.instruction.opcode)
        if step is not None and step.claims is not None:
            registers = step.claims.registers(given(program, site, checked=False))
            found.setdefault(step.claims.judge, {}).update(registers)
    return {judge: (registers, _made(judge, registers)) for judge, registers in found.items()}


def _judges_of(operands: Operands) -> Mapping[Callable[..., Judge], tuple[Mapping[int, str], JudgeOf]]:
    given: Callable[..., Operands] = type(operands)
    return _judges(operands.program, given)


def _made(judge: Callable[[Wave, Mapping[int, str]], J], registers: Mapping[int, str]) -> Callable[[Wave], J]:
    return lambda wave: judge(wave, registers)


def judge_of(operands: Operands, claims: Claims[J]) -> Callable[[Wave], J]:
    """Return what makes the judge of a wave, for `Wave.part`, with all registers that the program claims for it."""
    _, make = _judges_of(operands).get(claims.judge, ({}, _made(claims.judge, {})))
    return cast("Callable[[Wave], J]", make)


def touching(operands: Operands, action: Action) -> Action:
    """Return what an instruction does, with its accesses to claimed registers judged first."""
    touched = operands.registers()
    for registers, make in _judges_of(operands).values():
        slots = [slot for slot in touched if slot in registers]
        if slots:
            action = _judged(action, make, slots)
    return action


def _judged(action: Action, make: JudgeOf, slots: Iterable[int]) -> Action:
    def run(wave: Wave, lanes: Lanes) -> None:
        wave.part(make).touch(slots, Turn(wave, lanes))
        action(wave, lanes)

    return run
