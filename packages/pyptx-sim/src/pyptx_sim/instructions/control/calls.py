"""Calls and returns. Manual: "call", "ret", "Parameterized Variable Names", "ABI"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.syntax.operands import CallList, Register, Sink, Symbol
from pyptx_sim.errors import ProgramError, SimulationError
from pyptx_sim.instructions.control.builtins import BUILTINS
from pyptx_sim.instructions.control.passing import (
    Transfer,
    full_frame_base,
    pass_argument,
    pass_value,
    read_argument,
    taker_of,
    write_result,
)
from pyptx_sim.machine.lanes import WARP, merged, pick
from pyptx_sim.machine.memory.frames import ROOT, Frame, Saved
from pyptx_sim.machine.scheduling.code import Group
from pyptx_sim.program.layout import aligned
from pyptx_sim.program.program import FRAME_SLOT, STACK_SLOT
from pyptx_sim.program.scopes import FunctionBinding, VectorBinding
from pyptx_sim.program.windows import CODE_STRIDE, CODE_WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.scheduling.code import Terminator
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array
    from pyptx_sim.program.program import FunctionLayout
    from pyptx_sim.program.scopes import Binding


@dataclass(frozen=True, slots=True)
class CallSite:
    """A `call` instruction with one callee, with its arguments and results compiled to transfers.

    Without `uses_stack`, the stack pointers stay unchanged, because no function uses local memory.
    """

    pc: int
    return_block: int
    callee: FunctionLayout
    entry_block: int
    frame_size: int
    arguments: tuple[Transfer[Any], ...]
    results: tuple[Transfer[Any], ...]
    saved: tuple[int, ...]
    uses_stack: bool
    dynamic_stack: bool

    def begin(self, wave: Wave, group: Group) -> int | None:
        """Pass the arguments, and continue the calling warp splits (`group`) at the callee's first basic block."""
        splits, ids, lanes = wave.splits, group.ids, group.lanes
        saved = {slot: _saved(wave, slot) for slot in self.saved}
        caller = full_frame_base(wave)
        callee = self._callee_base(wave)
        values = [transfer.fetch(wave, lanes, caller) for transfer in self.arguments]
        for transfer, value in zip(self.arguments, values, strict=True):
            transfer.deliver(wave, lanes, callee, value)
        if self.uses_stack:
            self._check_stack(wave, lanes, callee)
            self._set(wave, lanes, FRAME_SLOT, callee)
            self._set(wave, lanes, STACK_SLOT, callee + self.callee.frame_size)
        counts = np.count_nonzero(splits.mask[ids], axis=1)
        for parent in np.unique(splits.frame[ids]).tolist():
            here = splits.frame[ids] == parent
            number = wave.frames.push(self, self.callee.name, parent, int(counts[here].sum()), saved)
            splits.frame[ids[here]] = number
        return self.entry_block

    def _check_stack(self, wave: Wave, lanes: Lanes, callee: IntArray) -> None:
        top = int(pick(lanes.select(callee), *lanes.active).max()) + self.callee.frame_size
        program = wave.machine.program
        if top > program.local_size:
            raise SimulationError(
                f"stack overflow in a call of {self.callee.name}: the stack has {program.local_size} bytes per thread",
                where=program.where(self.pc),
                help="check for unbounded recursion",
            )

    def _callee_base(self, wave: Wave) -> IntArray:
        if self.dynamic_stack:
            top = wave.registers[STACK_SLOT]
            assert top is not None  # noqa: S101 - set when the wave starts
            return (top + np.int64(15)) & np.int64(-16)
        return full_frame_base(wave) + np.int64(aligned(self.frame_size, 16))

    @staticmethod
    def _set(wave: Wave, lanes: Lanes, slot: int, value: Array) -> None:
        """Write `value`, one row per warp of the wave or one for all, to active lanes of the register in `slot`."""
        old = wave.registers[slot]
        wave.registers[slot] = value if lanes.whole else merged(old, lanes.select(value), lanes, wave.height)

    def finish(self, wave: Wave, lanes: Lanes, frame: Frame) -> None:
        """Return from the callee: pass its results to the caller, and restore the caller's saved registers."""
        callee = full_frame_base(wave)
        if self.dynamic_stack:
            caller = frame.saved[FRAME_SLOT].value
            assert caller is not None  # noqa: S101 - set when the wave starts
        else:
            caller = callee - np.int64(aligned(self.frame_size, 16)) if self.uses_stack else callee
        values = [transfer.fetch(wave, lanes, callee) for transfer in self.results]
        for slot, saved in frame.saved.items():
            if saved.value is not None:
                self._set(wave, lanes, slot, saved.value)
            _restore_marks(wave, lanes, slot, saved)
        if self.uses_stack and not self.dynamic_stack:
            self._set(wave, lanes, FRAME_SLOT, caller)
            self._set(wave, lanes, STACK_SLOT, caller + self.frame_size)
        for transfer, value in zip(self.results, values, strict=True):
            transfer.deliver(wave, lanes, caller, value)


def _saved(wave: Wave, slot: int) -> Saved:
    return Saved(wave.registers[slot], wave.undefined.get(slot))


def _restore_marks(wave: Wave, lanes: Lanes, slot: int, saved: Saved) -> None:
    """Restore the undefined bits of a caller's register, and discard undefined bits of the callee's value in it."""
    if slot in wave.undefined:
        wave.undefined.define(slot, lanes)
    if saved.undefined is not None:
        wave.undefined.leave(slot, lanes, lanes.select(saved.undefined.bits), saved.undefined.origin)


# --- instructions -------------------------------------------------------------------------------


def _lists(operands: Operands) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """Return the result operands and the argument operands of a call."""
    results, arguments = operands.given("results"), operands.given("arguments")
    return (
        results.elements if isinstance(results, CallList) else (),
        arguments.elements if isinstance(arguments, CallList) else (),
    )


def _site(operands: Operands, callee: FunctionLayout, following: int) -> CallSite:
    program = operands.program
    results, arguments = _lists(operands)
    if len(arguments) != len(callee.parameters) or len(results) != len(callee.returns):
        operands.fail(
            f"{callee.name}: expected {counted(len(callee.parameters), 'argument')} and "
            f"{counted(len(callee.returns), 'result')}, got {len(arguments)} and {len(results)}"
        )
    caller = program.functions[operands.site.function]
    dynamic = program.dynamic_stack
    saved = tuple(caller.slots) if caller.recursive else ()
    return CallSite(
        pc=operands.pc,
        return_block=following,
        callee=callee,
        entry_block=program.entry_block(callee.name),
        frame_size=caller.frame_size,
        arguments=tuple(pass_argument(operands, *pair) for pair in _pairs(operands, arguments, callee.parameters)),
        results=tuple(
            pass_value(operands, inner, taker_of(operands, outer))
            for outer, inner in _pairs(operands, results, callee.returns)
        ),
        saved=(FRAME_SLOT, STACK_SLOT, *saved) if dynamic else saved,
        uses_stack=program.uses_stack,
        dynamic_stack=dynamic,
    )


def _pairs(
    operands: Operands, given: tuple[Operand, ...], declared: tuple[Binding, ...]
) -> Iterator[tuple[Operand, Binding]]:
    """Yield each argument or result of a call with the callee's parameter for it; vectors element by element."""
    for operand, binding in zip(given, declared, strict=True):
        components = binding.components if isinstance(binding, VectorBinding) else (binding,)
        if isinstance(operand, Sink):
            continue
        parts = operands.elements(operand)
        if len(parts) != len(components):
            operands.fail(f"expected {counted(len(components), 'register')} for the parameter, got {len(parts)}")
        yield from zip(parts, components, strict=True)


def compile_call(operands: Operands, following: int) -> Terminator:
    """Compile `call`: a call of a function by name or through a register."""
    callee = operands.given("f") or operands.named("pointer")
    found = operands.scope.find(callee.name) if isinstance(callee, Symbol | Register) else None
    if isinstance(found, FunctionBinding):
        return _direct(operands, operands.program.functions[found.name], following)
    return _indirect(operands, callee, following)


def _direct(operands: Operands, layout: FunctionLayout, following: int) -> Terminator:
    if layout.body:
        return _site(operands, layout, following).begin
    builtin = BUILTINS.get(layout.name)
    if builtin is None:
        return _missing(layout.name)
    results, arguments = _lists(operands)
    readers = [read_argument(operands, argument) for argument in arguments]
    writers = [write_result(operands, result) for result in results]

    def call(wave: Wave, group: Group) -> int | None:
        values = [read(wave, group.lanes) for read in readers]
        returned = builtin(wave, group.lanes, *values)
        for write in writers:
            write(wave, group.lanes, returned)
        return following

    return call


def _missing(name: str) -> Terminator:
    """Compile a call of a function that no module defines: the call raises an error when it is executed."""

    def call(wave: Wave, group: Group) -> int | None:
        del group
        raise ProgramError(
            f"undefined function {name}",
            where=wave.machine.where(wave.pc),
            help="link the module that defines the function",
        )

    return call


def _indirect(operands: Operands, callee: Operand, following: int) -> Terminator:
    """Compile an indirect call: lanes with different callees diverge; each warp split then makes its own call."""
    read = operands.read(callee, "u64")
    results, arguments = _lists(operands)
    sites: dict[int, CallSite] = {}
    for layout in operands.program.functions.values():
        fits = len(layout.parameters) == len(arguments) and len(layout.returns) == len(results)
        if layout.body and fits and layout.name != operands.program.entry.name:
            sites[CODE_WINDOW + CODE_STRIDE * (1 + layout.index)] = _site(operands, layout, following)

    def call(wave: Wave, group: Group) -> int | None:
        lanes = group.lanes
        addresses = read(wave, lanes).astype(np.int64)
        found = np.unique(pick(addresses, *lanes.active)).tolist()
        missing = next((address for address in found if address not in sites), None)
        if missing is not None:
            raise SimulationError(
                f"indirect call of {missing:#x}: not a function with {counted(len(arguments), 'parameter')}",
                where=wave.machine.where(wave.pc),
                help="take the function's address with mov, and call it with its own prototype",
            )
        if len(found) == 1:
            return sites[found[0]].begin(wave, group)
        _call_several(wave, group, addresses, {address: sites[address] for address in found})
        return None

    return call


def _call_several(wave: Wave, group: Group, addresses: IntArray, sites: dict[int, CallSite]) -> None:
    """Split the lanes by callee; each warp split makes its own call."""
    splits, ids, lanes = wave.splits, group.ids, group.lanes
    everywhere = np.broadcast_to(addresses, (lanes.height, WARP))
    if lanes.rows is None and len(ids) != lanes.height:
        everywhere = everywhere[splits.warp[ids]]
    for address, site in sites.items():
        going = splits.mask[ids] & (everywhere == address)
        whole = (going == splits.mask[ids]).all(axis=1)
        some = going.any(axis=1) & ~whole
        callers = ids[whole]
        if some.any():
            callers = np.concatenate([callers, splits.divide(ids[some], going[some], site.entry_block)])
        ids, everywhere = ids[~whole], everywhere[~whole]
        if len(callers):
            part = Group(callers, wave.lanes_of(callers), whole=False)
            site.begin(wave, part)
            splits.block[callers] = site.entry_block


def compile_ret(operands: Operands, following: int) -> Terminator:
    """Compile `ret`: return to the caller; in the kernel entry, exit the threads."""
    del operands, following

    def leave(wave: Wave, group: Group) -> int | None:
        splits, ids = wave.splits, group.ids
        frames = np.unique(splits.frame[ids]).tolist()
        if frames == [ROOT]:
            wave.exit(ids)
            return None
        if len(frames) == 1:
            return _return(wave, ids, group.lanes, frames[0])
        for number in frames:
            chosen = ids[splits.frame[ids] == number]
            if number == ROOT:
                wave.exit(chosen)
            else:
                lanes = wave.lanes_of(chosen)
                splits.block[chosen] = _return(wave, chosen, lanes, number)
        return None

    return leave


def _return(wave: Wave, ids: IntArray, lanes: Lanes, number: int) -> int:
    frame = wave.frames[number]
    frame.call.finish(wave, lanes, frame)
    wave.splits.frame[ids] = frame.parent
    wave.frames.leave(number, int(np.count_nonzero(wave.splits.mask[ids])))
    return frame.call.return_block
