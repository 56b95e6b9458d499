"""Registers that asynchronous operations use after issue, and the checkers of accesses to these registers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar, cast

from pyptx_sim.extension.registry import step_of
from pyptx_sim.instructions.turns.turn import ExecutionContext
from pyptx_sim.program.unassigned import used_registers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pyptx_sim.extension.step import AsyncRegisters, RegisterChecker
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.program.program import Program

    CheckerOf = Callable[[Wave], RegisterChecker]
    Finish = Callable[[ExecutionContext, Collection[int], Collection[int]], None]
    Slots = tuple[int, ...]

J = TypeVar("J", bound="RegisterChecker")


@dataclass(frozen=True, slots=True)
class _CheckedRegisters:
    """Registers (names by slot) that one `RegisterChecker` class checks.

    `make` returns the checker of a wave; `finish` completes the asynchronous operations that use given registers.
    """

    registers: Mapping[int, str]
    make: CheckerOf
    finish: Finish | None


@lru_cache(maxsize=32)
def _checkers(program: Program, given: type[Operands]) -> Mapping[Callable[..., RegisterChecker], _CheckedRegisters]:
    """Return the registers that a program's asynchronous operations use, by the function that makes their checker.

    `given` is `Operands` or a subclass of it, which compiles operands to readers and writers.
    """
    found: dict[Callable[..., RegisterChecker], dict[int, str]] = {}
    finishing: dict[Callable[..., RegisterChecker], Finish | None] = {}
    for site in program.sites:
        step = step_of(site.instruction.opcode)
        if step is not None and step.async_registers is not None:
            registers = step.async_registers.registers(given(program, site, checked=False))
            found.setdefault(step.async_registers.check, {}).update(registers)
            finishing[step.async_registers.check] = step.async_registers.finish
    return {
        check: _CheckedRegisters(registers, _made(check, registers), finishing[check])
        for check, registers in found.items()
    }


def _checkers_of(operands: Operands) -> Mapping[Callable[..., RegisterChecker], _CheckedRegisters]:
    given: Callable[..., Operands] = type(operands)
    return _checkers(operands.program, given)


def _made(check: Callable[[Wave, Mapping[int, str]], J], registers: Mapping[int, str]) -> Callable[[Wave], J]:
    return lambda wave: check(wave, registers)


def checker_of(operands: Operands, registers: AsyncRegisters[J]) -> Callable[[Wave], J]:
    """Return a function, for `Wave.part`, that makes a wave's `RegisterChecker` of class `registers.check`."""
    checked = _checkers_of(operands).get(registers.check)
    return cast("Callable[[Wave], J]", _made(registers.check, {}) if checked is None else checked.make)


def touching(operands: Operands, action: Action) -> Action:
    """Wrap a compiled instruction: first check and complete outstanding asynchronous operations on its registers.

    Only a checked run checks them.
    """
    checkers = _checkers_of(operands)
    if not checkers:
        return action
    uses = [
        tuple(dict.fromkeys(each.slot for each in used)) for used in used_registers(operands.program, operands.site)
    ]
    for checked in checkers.values():
        read, written = (tuple(slot for slot in slots if slot in checked.registers) for slots in uses)
        if (read or written) and checked.finish is not None:
            action = _after(action, checked.finish, read, written)
        if (read or written) and operands.checked:
            action = _checked(action, checked.make, read, written)
    return action


def _after(action: Action, finish: Finish, read: Slots, written: Slots) -> Action:
    def run(wave: Wave, lanes: Lanes) -> None:
        if wave.engine.busy:
            finish(ExecutionContext(wave, lanes), read, written)
        action(wave, lanes)

    return run


def _checked(action: Action, make: CheckerOf, read: Slots, written: Slots) -> Action:
    def run(wave: Wave, lanes: Lanes) -> None:
        wave.part(make).touch(read, written, ExecutionContext(wave, lanes))
        action(wave, lanes)

    return run
