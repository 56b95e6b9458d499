"""Registers that asynchronous operations use after issue, and the checkers of accesses to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar, cast

from pyptx_sim.extension import step_of
from pyptx_sim.instructions.turns.turn import ExecutionContext
from pyptx_sim.program.unassigned import used_registers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pyptx_sim.extension import AsyncRegisters, RegisterChecker
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.program.program import Program

    JudgeOf = Callable[[Wave], RegisterChecker]
    Finish = Callable[[ExecutionContext, Collection[int], Collection[int]], None]
    Slots = tuple[int, ...]

J = TypeVar("J", bound="RegisterChecker")


@dataclass(frozen=True, slots=True)
class _Claimed:
    """Registers that a program claims for one kind of checker, its factory, and the completing function."""

    registers: Mapping[int, str]
    make: JudgeOf
    finish: Finish | None


@lru_cache(maxsize=32)
def _judges(program: Program, given: type[Operands]) -> Mapping[Callable[..., RegisterChecker], _Claimed]:
    """Return the claims of a program by the factory of the checker.

    Claims read the operands with the class `given`.
    """
    found: dict[Callable[..., RegisterChecker], dict[int, str]] = {}
    finishing: dict[Callable[..., RegisterChecker], Finish | None] = {}
    for site in program.sites:
        step = step_of(site.instruction.opcode)
        if step is not None and step.async_registers is not None:
            registers = step.async_registers.registers(given(program, site, checked=False))
            found.setdefault(step.async_registers.check, {}).update(registers)
            finishing[step.async_registers.check] = step.async_registers.finish
    return {judge: _Claimed(registers, _made(judge, registers), finishing[judge]) for judge, registers in found.items()}


def _judges_of(operands: Operands) -> Mapping[Callable[..., RegisterChecker], _Claimed]:
    given: Callable[..., Operands] = type(operands)
    return _judges(operands.program, given)


def _made(judge: Callable[[Wave, Mapping[int, str]], J], registers: Mapping[int, str]) -> Callable[[Wave], J]:
    return lambda wave: judge(wave, registers)


def judge_of(operands: Operands, claims: AsyncRegisters[J]) -> Callable[[Wave], J]:
    """Return a checker factory for `Wave.part`, for all registers that the program claims for this checker."""
    claimed = _judges_of(operands).get(claims.check)
    return cast("Callable[[Wave], J]", _made(claims.check, {}) if claimed is None else claimed.make)


def touching(operands: Operands, action: Action) -> Action:
    """Return an action that first checks (in a checked run) and completes asynchronous operations on its registers."""
    judges = _judges_of(operands)
    if not judges:
        return action
    uses = [
        tuple(dict.fromkeys(each.slot for each in used)) for used in used_registers(operands.program, operands.site)
    ]
    for claimed in judges.values():
        read, written = (tuple(slot for slot in slots if slot in claimed.registers) for slots in uses)
        if (read or written) and claimed.finish is not None:
            action = _after(action, claimed.finish, read, written)
        if (read or written) and operands.checked:
            action = _judged(action, claimed.make, read, written)
    return action


def _after(action: Action, finish: Finish, read: Slots, written: Slots) -> Action:
    def run(wave: Wave, lanes: Lanes) -> None:
        if wave.engine.busy:
            finish(ExecutionContext(wave, lanes), read, written)
        action(wave, lanes)

    return run


def _judged(action: Action, make: JudgeOf, read: Slots, written: Slots) -> Action:
    def run(wave: Wave, lanes: Lanes) -> None:
        wave.part(make).touch(read, written, ExecutionContext(wave, lanes))
        action(wave, lanes)

    return run
