"""Calls and returns. Manual: "call", "ret", "Parameterized Variable Names", "ABI"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_ir.syntax.operands import CallList, Register, Sink, Symbol
from pyptx_sim.errors import SimulationError
from pyptx_sim.instructions.builtins import BUILTINS
from pyptx_sim.instructions.registers import merged, read_register, write_register
from pyptx_sim.machine.code import Group
from pyptx_sim.machine.frames import ROOT, Frame
from pyptx_sim.machine.lanes import WARP, pick
from pyptx_sim.program.callgraph import callee_of
from pyptx_sim.program.layout import aligned
from pyptx_sim.program.program import FRAME_SLOT, STACK_SLOT
from pyptx_sim.program.scopes import FunctionBinding, ParameterBinding, Placement, RegisterBinding
from pyptx_sim.program.windows import CODE_STRIDE, CODE_WINDOW

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.instructions.operands import Operands
    from pyptx_sim.instructions.registers import Reader, Writer
    from pyptx_sim.machine.code import Step, Terminator
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array
    from pyptx_sim.program.program import FunctionLayout
    from pyptx_sim.program.scopes import Binding

# A value on its way into or out of a function: a register array, or the bytes of a variable, `[rows|1, 32|1, size]`.
_Fetch: TypeAlias = "Callable[[Wave, Lanes, IntArray], Array]"
_Deliver: TypeAlias = "Callable[[Wave, Lanes, IntArray, Array], None]"


@dataclass(frozen=True, slots=True)
class _Transfer:
    """One parameter: fetched relative to one frame, delivered relative to another."""

    fetch: _Fetch
    deliver: _Deliver

    def __call__(self, wave: Wave, lanes: Lanes, source: IntArray, destination: IntArray) -> None:
        self.deliver(wave, lanes, destination, self.fetch(wave, lanes, source))


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call of one function.

    `pushes` leaves the stack pointers alone where no function keeps anything in local memory.
    """

    pc: int
    return_block: int
    callee: FunctionLayout
    entry_block: int
    frame_size: int
    arguments: tuple[_Transfer, ...]
    results: tuple[_Transfer, ...]
    saved: tuple[int, ...]
    uses_stack: bool
    dynamic_stack: bool

    def begin(self, wave: Wave, group: Group) -> int | None:
        """Pass the arguments and send the group to the callee."""
        strands, ids, lanes = wave.strands, group.ids, group.lanes
        saved = {slot: wave.registers[slot] for slot in self.saved}
        caller = _base(wave)
        callee = self._callee_base(wave)
        values = [transfer.fetch(wave, lanes, caller) for transfer in self.arguments]
        for transfer, value in zip(self.arguments, values, strict=True):
            transfer.deliver(wave, lanes, callee, value)
        if self.uses_stack:
            self._check_stack(wave, lanes, callee)
            self._set(wave, lanes, FRAME_SLOT, callee)
            self._set(wave, lanes, STACK_SLOT, callee + self.callee.frame_size)
        counts = np.count_nonzero(strands.mask[ids], axis=1)
        for parent in np.unique(strands.frame[ids]).tolist():
            here = strands.frame[ids] == parent
            number = wave.frames.push(self, self.callee.name, parent, int(counts[here].sum()), saved)
            strands.frame[ids[here]] = number
        return self.entry_block

    def _check_stack(self, wave: Wave, lanes: Lanes, callee: IntArray) -> None:
        top = int(pick(lanes.select(callee), *lanes.active).max()) + self.callee.frame_size
        program = wave.machine.program
        if top > program.local_size:
            raise SimulationError(
                f"the stack of {program.local_size} bytes a thread overflows when {self.callee.name} is called",
                where=program.where(self.pc),
                hint="look for a recursion that does not end",
            )

    def _callee_base(self, wave: Wave) -> IntArray:
        if self.dynamic_stack:
            top = wave.registers[STACK_SLOT]
            assert top is not None  # noqa: S101 - set when the wave starts
            return (top + np.int64(15)) & np.int64(-16)
        return _base(wave) + np.int64(aligned(self.frame_size, 16))

    @staticmethod
    def _set(wave: Wave, lanes: Lanes, slot: int, value: Array) -> None:
        """Write a full-height or uniform array to the active lanes of a register."""
        old = wave.registers[slot]
        wave.registers[slot] = value if lanes.whole else merged(old, lanes.select(value), lanes, wave.height)

    def finish(self, wave: Wave, lanes: Lanes, frame: Frame) -> None:
        """Bring results and saved registers back to the caller."""
        callee = _base(wave)
        if self.dynamic_stack:
            caller = frame.saved[FRAME_SLOT]
            assert caller is not None  # noqa: S101 - set when the wave starts
        else:
            caller = callee - np.int64(aligned(self.frame_size, 16)) if self.uses_stack else callee
        values = [transfer.fetch(wave, lanes, callee) for transfer in self.results]
        for slot, value in frame.saved.items():
            if value is not None:
                self._set(wave, lanes, slot, value)
        if self.uses_stack and not self.dynamic_stack:
            self._set(wave, lanes, FRAME_SLOT, caller)
            self._set(wave, lanes, STACK_SLOT, caller + self.frame_size)
        for transfer, value in zip(self.results, values, strict=True):
            transfer.deliver(wave, lanes, caller, value)


def _base(wave: Wave) -> IntArray:
    base = wave.registers[FRAME_SLOT]
    assert base is not None  # noqa: S101 - set when the wave starts
    return base


# --- parameters ---------------------------------------------------------------------------------


def _fetch(operands: Operands, binding: Binding, ptx_type: str) -> _Fetch:
    if isinstance(binding, ParameterBinding | RegisterBinding):
        register = binding.register if isinstance(binding, ParameterBinding) else binding
        read = read_register(register, ptx_type, checked=operands.checked)
        return lambda wave, lanes, _base: read(wave, lanes)
    if isinstance(binding, Placement) and binding.space == "local":
        return _fetch_bytes(binding)
    return operands.fail("a parameter must be a .param variable or a register")


def _fetch_bytes(place: Placement) -> _Fetch:
    def fetch(wave: Wave, lanes: Lanes, base: IntArray) -> Array:
        memory = wave.memories["local"]
        start = memory.flat(lanes.select(base) + np.int64(place.offset), lanes)
        where = start[:, :, None] + np.arange(place.size)
        if memory.arena.initialised is None:
            return np.asarray(memory.arena.data[where])
        # The lower byte travels with the mark that it is initialised.
        marks = memory.arena.initialised[where].astype(np.uint16) << 8
        return np.asarray(memory.arena.data[where].astype(np.uint16) | marks)

    return fetch


def _deliver(operands: Operands, binding: Binding, ptx_type: str) -> _Deliver:
    if isinstance(binding, ParameterBinding | RegisterBinding):
        register = binding.register if isinstance(binding, ParameterBinding) else binding
        write = write_register(register, ptx_type, checked=operands.checked)
        return lambda wave, lanes, _base, value: write(wave, lanes, value)
    if isinstance(binding, Placement) and binding.space == "local":
        return _deliver_bytes(binding)
    return operands.fail("a parameter must be a .param variable or a register")


def _deliver_bytes(place: Placement) -> _Deliver:
    def deliver(wave: Wave, lanes: Lanes, base: IntArray, value: Array) -> None:
        arena, memory = wave.memories["local"].arena, wave.memories["local"]
        start = memory.flat(lanes.select(base) + np.int64(place.offset), lanes)
        positions, columns = lanes.active
        where = pick(start, positions, columns)[:, None] + np.arange(place.size)
        full = np.broadcast_to(value, (lanes.height, WARP, value.shape[-1]))
        chosen = full[positions, columns][:, : place.size]
        arena.data[where] = chosen.astype(np.uint8)
        if arena.initialised is not None:
            arena.initialised[where] = (chosen >> 8).astype(np.uint8) if chosen.dtype == np.uint16 else 1

    return deliver


def _scalar(binding: Binding) -> tuple[str, int] | None:
    """Return the type and size of a binding that is kept in a register."""
    if isinstance(binding, ParameterBinding):
        return binding.register.type, binding.register.width
    return (binding.type, binding.width) if isinstance(binding, RegisterBinding) else None


def _pass(operands: Operands, source: Binding, destination: Binding) -> _Transfer:
    """Return the transfer of one parameter between two of its homes."""
    given, wanted = _scalar(source), _scalar(destination)
    if given is not None and wanted is not None:
        narrow = given[0] if given[1] <= wanted[1] else wanted[0]
        return _Transfer(_fetch(operands, source, narrow), _deliver(operands, destination, narrow))
    if given is None and wanted is None:
        return _Transfer(_fetch(operands, source, "b8"), _deliver(operands, destination, "b8"))
    if given is not None:
        bits = f"b{given[1] * 8}"
        return _Transfer(_as_bytes(_fetch(operands, source, bits)), _deliver(operands, destination, "b8"))
    size = wanted[1] if wanted is not None else 0
    return _Transfer(_from_bytes(_fetch(operands, source, "b8"), size), _deliver(operands, destination, f"b{size * 8}"))


def _as_bytes(fetch: _Fetch) -> _Fetch:
    def fetch_bytes(wave: Wave, lanes: Lanes, base: IntArray) -> Array:
        value = np.ascontiguousarray(fetch(wave, lanes, base))
        return value.view(np.uint8).reshape(*value.shape, value.itemsize)

    return fetch_bytes


def _from_bytes(fetch: _Fetch, size: int) -> _Fetch:
    def fetch_value(wave: Wave, lanes: Lanes, base: IntArray) -> Array:
        raw = np.ascontiguousarray(fetch(wave, lanes, base)[..., :size].astype(np.uint8))
        return raw.view(np.dtype(f"<u{size}"))[..., 0]

    return fetch_value


def _constant_transfer(operands: Operands, operand: Operand, destination: Binding) -> _Transfer:
    """Pass an immediate or an address."""
    wanted = _scalar(destination)
    if wanted is None:
        operands.fail("a constant cannot be passed to a parameter in memory")
    read = operands.read(operand, wanted[0])
    return _Transfer(lambda wave, lanes, _base: read(wave, lanes), _deliver(operands, destination, wanted[0]))


# --- instructions -------------------------------------------------------------------------------


def _lists(operands: Operands) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """Return what a call gets back and what it passes."""
    callee = callee_of(operands.instruction)
    at = operands.operands.index(callee)
    before = [operand for operand in operands.operands[:at] if isinstance(operand, CallList)]
    behind = [operand for operand in operands.operands[at + 1 :] if isinstance(operand, CallList)]
    results = before[0].elements if before else ()
    return results, behind[0].elements if behind else ()


def _site(operands: Operands, callee: FunctionLayout, following: int) -> CallSite:
    program = operands.program
    results, arguments = _lists(operands)
    if len(arguments) != len(callee.parameters) or len(results) != len(callee.returns):
        operands.fail(
            f"{callee.name} takes {len(callee.parameters)} parameters and returns {len(callee.returns)}; "
            f"the call passes {len(arguments)} and takes {len(results)}"
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
        arguments=tuple(_argument(operands, *pair) for pair in zip(arguments, callee.parameters, strict=True)),
        results=tuple(
            _pass(operands, inner, _bound(operands, outer))
            for inner, outer in zip(callee.returns, results, strict=True)
            if not isinstance(outer, Sink)
        ),
        saved=(FRAME_SLOT, STACK_SLOT, *saved) if dynamic else saved,
        uses_stack=program.uses_stack,
        dynamic_stack=dynamic,
    )


def _argument(operands: Operands, operand: Operand, parameter: Binding) -> _Transfer:
    if isinstance(operand, Symbol | Register):
        found = operands.scope.find(operand.name)
        if isinstance(found, ParameterBinding | RegisterBinding) or (
            isinstance(found, Placement) and found.space == "local"
        ):
            return _pass(operands, found, parameter)
    return _constant_transfer(operands, operand, parameter)


def _bound(operands: Operands, operand: Operand) -> Binding:
    if not isinstance(operand, Symbol | Register):
        operands.fail(f"{operand!r} cannot take a result")
    return operands.find(operand.name)


def compile_call(operands: Operands, following: int) -> Terminator:
    """Call a function by name or through a register."""
    callee = callee_of(operands.instruction)
    found = operands.scope.find(callee.name) if isinstance(callee, Symbol | Register) else None
    if isinstance(found, FunctionBinding):
        return _direct(operands, operands.program.functions[found.name], following)
    return _indirect(operands, callee, following)


def _direct(operands: Operands, layout: FunctionLayout, following: int) -> Terminator:
    if layout.body:
        return _site(operands, layout, following).begin
    builtin = BUILTINS.get(layout.name)
    if builtin is None:
        operands.fail(f"{layout.name} has no body here, and the simulator knows no function of that name")
    results, arguments = _lists(operands)
    readers = [_read_argument(operands, argument) for argument in arguments]
    writers = [_write_result(operands, result) for result in results]

    def call(wave: Wave, group: Group) -> int | None:
        values = [read(wave, group.lanes) for read in readers]
        returned = builtin(wave, group.lanes, *values)
        for write in writers:
            write(wave, group.lanes, returned)
        return following

    return call


def _read_argument(operands: Operands, operand: Operand) -> Reader:
    found = operands.scope.find(operand.name) if isinstance(operand, Symbol | Register) else None
    scalar = _scalar(found) if found is not None else None
    if found is None or scalar is None:
        return operands.read(operand, "b64")
    fetch = _fetch(operands, found, f"b{scalar[1] * 8}")
    nowhere = np.zeros((1, 1), np.int64)
    return lambda wave, lanes: fetch(wave, lanes, nowhere).astype(np.uint64)


def _write_result(operands: Operands, operand: Operand) -> Writer:
    found = _bound(operands, operand)
    scalar = _scalar(found)
    if scalar is None:
        operands.fail("the result of a built-in function must be a scalar")
    dtype = np.dtype(f"<u{scalar[1]}")
    deliver = _deliver(operands, found, f"b{scalar[1] * 8}")
    nowhere = np.zeros((1, 1), np.int64)
    return lambda wave, lanes, value: deliver(wave, lanes, nowhere, value.astype(dtype))


def _indirect(operands: Operands, callee: Operand, following: int) -> Terminator:
    """Call through a register: lanes with different callees part, each strand then makes its own call."""
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
                f"a call of {missing:#x}, where no function with {len(arguments)} parameters is",
                where=wave.machine.program.where(wave.pc),
                hint="take the function's address with mov, and call it with the prototype it has",
            )
        if len(found) == 1:
            return sites[found[0]].begin(wave, group)
        _call_several(wave, group, addresses, {address: sites[address] for address in found})
        return None

    return call


def _call_several(wave: Wave, group: Group, addresses: IntArray, sites: dict[int, CallSite]) -> None:
    """Part the lanes by callee, and let each part make its own call."""
    strands, ids, lanes = wave.strands, group.ids, group.lanes
    everywhere = np.broadcast_to(addresses, (lanes.height, WARP))
    if lanes.rows is None and len(ids) != lanes.height:
        everywhere = everywhere[strands.warp[ids]]
    for address, site in sites.items():
        going = strands.mask[ids] & (everywhere == address)
        whole = (going == strands.mask[ids]).all(axis=1)
        some = going.any(axis=1) & ~whole
        callers = ids[whole]
        if some.any():
            callers = np.concatenate([callers, strands.split(ids[some], going[some], site.entry_block)])
        ids, everywhere = ids[~whole], everywhere[~whole]
        if len(callers):
            part = Group(callers, wave.lanes_of(callers), whole=False)
            site.begin(wave, part)
            strands.block[callers] = site.entry_block


def compile_ret(operands: Operands, following: int) -> Terminator:
    """Return to the caller; from the entry, end the threads."""
    del operands, following

    def leave(wave: Wave, group: Group) -> int | None:
        strands, ids = wave.strands, group.ids
        frames = np.unique(strands.frame[ids]).tolist()
        if frames == [ROOT]:
            wave.exit(ids)
            return None
        if len(frames) == 1:
            return _return(wave, ids, group.lanes, frames[0])
        for number in frames:
            chosen = ids[strands.frame[ids] == number]
            if number == ROOT:
                wave.exit(chosen)
            else:
                lanes = wave.lanes_of(chosen)
                strands.block[chosen] = _return(wave, chosen, lanes, number)
        return None

    return leave


def _return(wave: Wave, ids: IntArray, lanes: Lanes, number: int) -> int:
    frame = wave.frames[number]
    frame.call.finish(wave, lanes, frame)
    wave.strands.frame[ids] = frame.parent
    wave.frames.leave(number, int(np.count_nonzero(wave.strands.mask[ids])))
    return frame.call.return_block


def compile_stack(operands: Operands) -> Step:
    """Execute `alloca`, `stacksave` or `stackrestore`. Manual: "Stack Manipulation Instructions"."""
    name = operands.opcode[0]
    if name == "stacksave":
        return _stack_save(operands)
    if name == "stackrestore":
        return _stack_restore(operands)
    return _alloca(operands)


def _stack_top(wave: Wave) -> IntArray:
    top = wave.registers[STACK_SLOT]
    assert top is not None  # noqa: S101 - set when the wave starts
    return top


def _set_top(wave: Wave, lanes: Lanes, value: Array) -> None:
    old = wave.registers[STACK_SLOT]
    wave.registers[STACK_SLOT] = value if lanes.whole else merged(old, value, lanes, wave.height)


def _stack_save(operands: Operands) -> Step:
    ptx_type = operands.opcode[-1]
    write = operands.write(operands.operands[0], ptx_type)
    dtype = np.dtype(f"<u{int(ptx_type[1:]) // 8}")
    return lambda wave, lanes: write(wave, lanes, lanes.select(_stack_top(wave)).astype(dtype))


def _stack_restore(operands: Operands) -> Step:
    read = operands.read(operands.operands[0], operands.opcode[-1])
    return lambda wave, lanes: _set_top(wave, lanes, read(wave, lanes).astype(np.int64))


def _alloca(operands: Operands) -> Step:
    ptx_type = operands.opcode[-1]
    destination, size, *rest = operands.operands
    alignment = np.int64(int(operands.constant(rest[0]))) if rest else np.int64(8)
    write, read = operands.write(destination, ptx_type), operands.read(size, ptx_type)
    dtype = np.dtype(f"<u{int(ptx_type[1:]) // 8}")

    def step(wave: Wave, lanes: Lanes) -> None:
        start = (lanes.select(_stack_top(wave)) + alignment - 1) & -alignment
        _set_top(wave, lanes, start + read(wave, lanes).astype(np.int64))
        write(wave, lanes, start.astype(dtype))

    return step
