"""Code for weak memory: loads that are performed after later instructions.

A weak or relaxed load may be delayed. It is performed at the latest when one of these happens:

- an instruction uses a register that the load writes, or writes a register that the load reads;
- the load's thread orders memory, or may access the same location;
- the load's lanes exit.

The load returns the value at that time. Manual: "Memory Consistency Model": nothing else orders a read before later
operations of its thread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_ir.syntax.operand_names import names_of
from pyptx_ir.syntax.operands import Register
from pyptx_sim.extension.registry import meaning_of
from pyptx_sim.extension.step import InstructionSemantics
from pyptx_sim.instructions.compiling.operands import Operands
from pyptx_sim.instructions.compiling.registers import read_register
from pyptx_sim.machine.lanes import WARP, pick
from pyptx_sim.program.scopes import ParameterBinding, RegisterBinding, UnsizedParameter, VectorBinding
from pyptx_sim.program.windows import RANK_SHIFT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.instructions.compiling.registers import Reader
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.scheduling.code import Action, Block, Code, Gate, Group, Terminator
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask
    from pyptx_sim.program.program import Program, Site

    Lines: TypeAlias = frozenset[int]
    Find = Callable[[Wave, Lanes], Lines | None]

# Probability that a load is delayed, and that a delayed load is performed before an unrelated instruction.
_WAITS: Final = 0.5
_HAPPENS: Final = 0.2
_MOST: Final = 64  # maximum number of lanes of a delayed load
_LINE: Final = 32  # bytes of an aligned line of memory; no access crosses a line boundary
_PRIVATE: Final = frozenset({"const", "local", "param"})


@dataclass(frozen=True, slots=True)
class _DelayedUse:
    """Properties of an instruction that determine which delayed loads must be performed before it.

    `touched`: slots (indices in the register file) of all its registers; `written`: slots of its destinations. `moves`:
    it loads from or stores to memory in `space`, at the 32-byte lines that `find` returns (None: unknown). `orders`:
    all delayed loads are performed before it. `guard` reads its guard predicate.
    """

    touched: frozenset[int]
    written: frozenset[int]
    orders: bool = False
    moves: bool = False
    space: str = ""
    find: Find | None = None
    guard: Reader | None = None

    def lanes(self, wave: Wave, lanes: Lanes) -> Lanes | None:
        """Return the lanes whose guard is true, or None; the guard is valid: delayed loads write no predicates."""
        return lanes if self.guard is None else lanes.narrowed(self.guard(wave, lanes))


@dataclass(frozen=True, slots=True)
class _DelayedLoad:
    """A delayed load of the lanes `masks` of `warps`, and the 32-byte lines that the load reads."""

    pc: int
    use: _DelayedUse
    load: Action
    lanes: Lanes
    warps: IntArray
    masks: Mask
    lines: Lines | None


class LateLoads:
    """Delayed loads of all warps of a wave (the CTAs that are resident together)."""

    __slots__ = ("_waiting", "_wave")

    def __init__(self, wave: Wave) -> None:
        """Start without delayed loads."""
        self._wave = wave
        self._waiting: list[_DelayedLoad] = []

    def add(self, pc: int, use: _DelayedUse, load: Action, lanes: Lanes) -> None:
        """Add a delayed load of `lanes`; the action `load` performs it later."""
        lines = None if use.find is None else use.find(self._wave, lanes)
        self._waiting.append(_DelayedLoad(pc, use, load, lanes, *lanes.by_warp(), lines))

    def settle(self, use: _DelayedUse, lanes: Lanes) -> None:
        """Perform delayed loads that must precede the next instruction of `lanes`, and random other delayed loads."""
        if not self._waiting:
            return
        some = use.lanes(self._wave, lanes)
        if some is None:
            return
        lanes, lines, past = some, None, self._wave.machine.past
        acting = np.zeros((self._wave.height, WARP), np.bool_)
        acting[lanes.row_numbers()] = lanes.full_mask
        if use.moves and use.find is not None:
            lines = use.find(self._wave, lanes)
        for each in tuple(self._waiting):
            if not (acting[each.warps] & each.masks).any():
                continue
            if _comes_first(each, use, lines) or past is None or past.happens(_HAPPENS):
                self._load(each)

    def finish(self) -> None:
        """Perform all delayed loads."""
        for each in tuple(self._waiting):
            self._load(each)

    def _load(self, waiting: _DelayedLoad) -> None:
        self._waiting.remove(waiting)
        wave = self._wave
        pc, wave.pc = wave.pc, waiting.pc
        waiting.load(wave, waiting.lanes)
        wave.pc = pc


def _comes_first(waiting: _DelayedLoad, use: _DelayedUse, lines: Lines | None) -> bool:
    """Return whether a delayed load must precede an instruction of its thread that accesses the 32-byte `lines`."""
    load = waiting.use
    if use.orders or not load.written.isdisjoint(use.touched) or not load.touched.isdisjoint(use.written):
        return True
    if not use.moves or {load.space, use.space} == {"global", "shared"}:
        return False
    if {load.space, use.space} == {"generic", "shared"} or waiting.lines is None or lines is None:
        return True
    return not waiting.lines.isdisjoint(lines)


# --- code with delayed loads --------------------------------------------------------------------


def with_late_loads(program: Program, code: Code) -> Code:
    """Return `code`, the compiled program, changed so that loads outside of polling loops may be delayed."""
    uses = [
        replace(_use(program, site), guard=Operands(program, site, checked=False).guard()) for site in program.sites
    ]
    return tuple(_with(program, block, uses) for block in code)


def _with(program: Program, block: Block, uses: list[_DelayedUse]) -> Block:
    steps: list[tuple[int, Action]] = []
    for pc, action in block.steps:
        waits = block.polls is None and uses[pc].moves and program.sites[pc].instruction.opcode[0] == "ld"
        steps.append((pc, _waiting(pc, action, uses[pc]) if waits else _settling(action, uses[pc])))
    terminator = None if block.terminator is None else _settling_end(block.terminator, uses[block.end])
    gate = None if block.gate is None else _SettlingGate(block.gate)
    return replace(block, steps=tuple(steps), terminator=terminator, gate=gate)


def _waiting(pc: int, load: Action, use: _DelayedUse) -> Action:
    def step(wave: Wave, lanes: Lanes) -> None:
        late, past = wave.part(LateLoads), wave.machine.past
        late.settle(use, lanes)
        some = use.lanes(wave, lanes)
        if some is None:
            return
        if past is not None and some.count <= _MOST and past.happens(_WAITS):
            late.add(pc, use, load, some)
        else:
            load(wave, some)

    return step


def _settling(action: Action, use: _DelayedUse) -> Action:
    def step(wave: Wave, lanes: Lanes) -> None:
        wave.part(LateLoads).settle(use, lanes)
        action(wave, lanes)

    return step


def _settling_end(end: Terminator, use: _DelayedUse) -> Terminator:
    def terminate(wave: Wave, group: Group) -> int | None:
        wave.part(LateLoads).settle(use, group.lanes)
        return end(wave, group)

    return terminate


@dataclass(frozen=True, slots=True)
class _SettlingGate:
    """`Gate` (point at which lanes of a warp wait for each other) that first performs all delayed loads."""

    gate: Gate

    @property
    def rendezvous(self) -> bool:
        """Whether lanes may synchronize at different instructions of the same opcode (`bar.warp.sync`)."""
        return self.gate.rendezvous

    @property
    def varies(self) -> bool:
        """Whether lanes may have different membermasks."""
        return self.gate.varies

    def masks(self, wave: Wave, lanes: Lanes) -> Array:
        """Return the membermask of each lane, uint32 `[rows|1, 32|1]`."""
        wave.part(LateLoads).finish()
        return self.gate.masks(wave, lanes)


# --- registers and lines that an instruction uses -----------------------------------------------


def _use(program: Program, site: Site) -> _DelayedUse:
    operands = Operands(program, site, checked=False)
    instruction, form = site.instruction, program.forms[site.pc]
    guard = () if instruction.guard is None else (Register(instruction.guard.register),)
    touched = slots_in(operands, (*instruction.operands, *guard))
    if form is None:
        return _DelayedUse(touched, touched, orders=True)
    places = {"a"} if instruction.opcode[0] == "st" else set[str]()
    written = slots_in(operands, (form.operands[name] for name in form.written - places))
    meaning = meaning_of(instruction.opcode)
    if not isinstance(meaning, InstructionSemantics) or meaning.effect == "none" or instruction.opcode[0] == "bra":
        return _DelayedUse(touched, written)
    if instruction.opcode[0] not in {"ld", "st"} or operands.word("volatile"):
        return _DelayedUse(touched, written, orders=True)
    if operands.word("sem") not in {"", "weak", "relaxed"}:
        return _DelayedUse(touched, written, orders=True)
    if operands.space in _PRIVATE:
        return _DelayedUse(touched, written)
    return _DelayedUse(touched, written, moves=True, space=operands.space, find=_finder(operands))


def _finder(operands: Operands) -> Find | None:
    """Return a function that finds the 32-byte lines accessed by a load or store; None without an address register."""
    address = operands.address(operands.named("a"))
    register = operands.register(address.base)
    if register is None:
        return None
    delta = operands.integer(address.offset) if address.offset is not None else 0
    read = read_register(register, f"u{register.width * 8}", checked=False)
    ranks = (1 << RANK_SHIFT) - 1 if operands.space == "shared" else -1  # .shared ignores an address's CTA rank

    def find(wave: Wave, lanes: Lanes) -> Lines:
        values = np.broadcast_to(read(wave, lanes), (lanes.height, 32))
        places = (pick(values, *lanes.active).astype(np.int64) + delta) & ranks
        return frozenset((places // _LINE).tolist())

    return find


def slots_in(operands: Operands, nodes: Iterable[Operand]) -> frozenset[int]:
    """Return the slots (indices in the register file) of the registers in the operands `nodes`."""
    found: set[int] = set()
    for name in (name for node in nodes for name in names_of(node)):
        match operands.scope.find(name) or operands.scope.find(name.rpartition(".")[0]):
            case RegisterBinding(slot=slot):
                found.add(slot)
            case VectorBinding(components):
                found.update(each.slot for each in components)
            case ParameterBinding(register) | UnsizedParameter(register):
                found.add(register.slot)
            case _:
                pass
    return frozenset(found)
