"""Instrument the instructions of a backward slice so that they also compute the value numbers of their results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_ir.syntax.operands import Negated, Register
from pyptx_sim.duplicates import transfer
from pyptx_sim.duplicates.loading import loader
from pyptx_sim.duplicates.matrix_loads import matrix_loader
from pyptx_sim.duplicates.planes import DATA, FIXED, Number, Planes, chosen, fixed, where
from pyptx_sim.duplicates.sampling import Sampling
from pyptx_sim.duplicates.sources import source
from pyptx_sim.extension.registry import meaning_of
from pyptx_sim.extension.step import InstructionSemantics
from pyptx_sim.instructions.compiling.compute import parts
from pyptx_sim.instructions.compiling.operands import Operands
from pyptx_sim.semantics.meaning import operation_of
from pyptx_sim.semantics.warp import source_lane

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.duplicates.loading import Versions
    from pyptx_sim.duplicates.slices import Branch, Slice
    from pyptx_sim.duplicates.sources import Source
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action, Block, Code, Group, Terminator
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.program.program import Program
    from pyptx_sim.program.scopes import RegisterBinding

    Numbering: TypeAlias = Callable[[Wave, Lanes], list[Number]]
    """Computes the value numbers of an instruction's results before the instruction executes."""
    Numbered: TypeAlias = tuple[Numbering | None, Sequence[Operand], bool]

__all__ = ["tracked"]


@dataclass(frozen=True, slots=True)
class Tracker:
    """Instrumentation of the instructions of a program that write registers in `slots`; `sampled`: see `Samples`."""

    program: Program
    slice: Slice
    slots: frozenset[int]
    versions: Versions
    sampled: bool

    def step(self, pc: int, action: Action) -> Action:
        """Return a function that executes an instruction and computes the value numbers of its results in `slots`."""
        if self.slots.isdisjoint(self.slice.uses[pc].written):
            return action
        operands = Operands(self.program, self.program.sites[pc], checked=False)
        numbering, outs, keeps = _numbering(operands, self.versions)
        results = [operands.register(each) for each in outs]
        if numbering is None:
            return _losing(action, sorted(self.slots & self.slice.uses[pc].written))
        guard = None if operands.instruction.guard is None else _guard(operands)
        written = sorted(self.slice.uses[pc].written)
        sampling = Sampling.of(operands, guard, written) if self.sampled else None
        return _numbered(action, _Numbered(numbering, results, guard, keeps, sampling))

    def end(self, branch: Branch | None, pc: int, terminator: Terminator) -> Terminator:
        """Return a function that ends a basic block, and records the branch condition or numbers the results."""
        operands = Operands(self.program, self.program.sites[pc], checked=False)
        if branch is not None and not self.slots.isdisjoint(branch.written):
            return _branching(terminator, branch, _decider(operands))
        lost = sorted(self.slots & self.slice.uses[pc].written)
        return _losing_end(terminator, lost) if lost else terminator


def tracked(
    program: Program, code: Code, slices: Slice, slots: frozenset[int], versions: Versions, *, sampled: bool
) -> Code:
    """Return compiled code that also computes the value numbers of the registers in `slots`."""
    tracker = Tracker(program, slices, slots, versions, sampled)
    branches = {branch.pc: branch for branch in slices.branches}
    joins: dict[int, list[Branch]] = {}
    for branch in slices.branches:
        for block in branch.joins if not slots.isdisjoint(branch.written) else ():
            joins.setdefault(block, []).append(branch)
    return tuple(_block(tracker, block, branches, joins.get(block.index, [])) for block in code)


def _block(tracker: Tracker, block: Block, branches: Mapping[int, Branch], joined: Sequence[Branch]) -> Block:
    steps = [(pc, tracker.step(pc, action)) for pc, action in block.steps]
    end = block.terminator
    if end is not None:
        end = tracker.end(branches.get(block.end), block.end, end)
    if joined and steps:
        (pc, first), *others = steps
        steps = [(pc, _joining(first, joined, tracker.slots)), *others]
    elif joined and end is not None:
        end = _joining_end(end, joined, tracker.slots)
    return replace(block, steps=tuple(steps), terminator=end)


# --- instrumented code --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Numbered:
    """How the results of an instruction get value numbers: the function, the result registers and the guard.

    `keeps`: a `FIXED` result keeps its exact number, which is otherwise replaced by a hash of the value. `sampling`:
    how the results get values in `Samples`, if there are any.
    """

    numbering: Numbering
    results: Sequence[RegisterBinding | None]
    guard: Source | None
    keeps: bool
    sampling: Sampling | None


def _numbered(action: Action, how: _Numbered) -> Action:
    sampling = how.sampling

    def step(wave: Wave, lanes: Lanes) -> None:
        planes = wave.part(Planes)
        by = None if how.guard is None else how.guard(wave, lanes)
        found = how.numbering(wave, lanes)
        former = [None if each is None else planes.read(each.slot, lanes) for each in how.results]
        before = None if sampling is None else sampling.before(wave, lanes)
        action(wave, lanes)
        if sampling is not None and before is not None:
            sampling.execute(action, wave, lanes, before)
        for register, new, old in zip(how.results, found, former, strict=False):
            if register is None or old is None:
                continue
            number = _by_value(wave, lanes, register, new, keeps=how.keeps)
            if by is not None:
                number = chosen(by.values.astype(np.bool_), by.number, number, old)
            if sampling is not None and before is not None:
                number = sampling.number(register, wave, lanes, number, before)
            planes.write(register.slot, lanes, number)

    return step


def _by_value(wave: Wave, lanes: Lanes, register: RegisterBinding, number: Number, *, keeps: bool) -> Number:
    """Return a result's value number; in lanes where the result is `FIXED`, the hash of the register's contents."""
    held = wave.registers[register.slot]
    if number.level.min() != FIXED or held is None:
        return number
    found = where(number.level == FIXED, fixed(lanes.select(held)), number)
    return replace(found, exact=number.exact) if keeps else found


def _losing(action: Action, slots: Sequence[int]) -> Action:
    """Return a function whose results have unknown inputs, and no samples: `Samples.selected` leaves them alone."""

    def step(wave: Wave, lanes: Lanes) -> None:
        action(wave, lanes)
        planes = wave.part(Planes)
        for slot in slots:
            planes.write(slot, lanes, planes.fresh(lanes))

    return step


def _losing_end(terminator: Terminator, slots: Sequence[int]) -> Terminator:
    def end(wave: Wave, group: Group) -> int | None:
        planes = wave.part(Planes)
        for slot in slots:
            planes.write(slot, group.lanes, planes.fresh(group.lanes))
        return terminator(wave, group)

    return end


def _branching(terminator: Terminator, branch: Branch, decider: Source) -> Terminator:
    def end(wave: Wave, group: Group) -> int | None:
        by = decider(wave, group.lanes).number
        wave.part(Planes).branched(branch.pc, group.lanes, by, certain=branch.certain)
        return terminator(wave, group)

    return end


def _join(wave: Wave, lanes: Lanes, branches: Sequence[Branch], slots: frozenset[int]) -> None:
    for branch in branches:
        wave.part(Planes).join(branch.pc, lanes, branch.written & slots)


def _joining(action: Action, branches: Sequence[Branch], slots: frozenset[int]) -> Action:
    def step(wave: Wave, lanes: Lanes) -> None:
        _join(wave, lanes, branches, slots)
        action(wave, lanes)

    return step


def _joining_end(terminator: Terminator, branches: Sequence[Branch], slots: frozenset[int]) -> Terminator:
    def end(wave: Wave, group: Group) -> int | None:
        _join(wave, group.lanes, branches, slots)
        return terminator(wave, group)

    return end


def _guard(operands: Operands) -> Source:
    guard = operands.instruction.guard
    assert guard is not None  # noqa: S101 - the caller has looked
    register = Register(guard.register)
    return source(operands, Negated(register) if guard.negated else register, "pred")


def _decider(operands: Operands) -> Source:
    """Return the operand that decides a branch: the index of `brx`, else the guard."""
    if operands.opcode[0] == "brx":
        return source(operands, operands.named("index"), "u32")
    return _guard(operands)


# --- instructions -------------------------------------------------------------------------------


def _numbering(operands: Operands, versions: Versions) -> Numbered:
    """Return a function that computes value numbers of an instruction's results, or None; result operands; `keeps`.

    For `keeps`, see `_Numbered`: `FIXED` values that are moved or computed exactly keep their exact numbers.
    """
    meaning = meaning_of(operands.opcode)
    if isinstance(meaning, InstructionSemantics):
        return _of_step(operands, meaning, versions)
    if meaning is None:
        return None, (), False
    operation = operands.located(lambda: operation_of(meaning, operands.form()))
    if operation.reads_carry or operation.writes_carry:
        return None, (), False
    outs, ins = parts(operands, operation)
    name = operands.opcode[0]
    if name == "shfl":
        return _shuffle(operands), outs, True
    sources = [source(operands, *pair) for pair in zip(ins, operation.sources, strict=True)]
    described = transfer.Meaning(name, operands.opcode, operation.results, operation.sources)
    compute = transfer.among_lanes if operation.warp else transfer.of_operation
    return partial(_computed, compute, described, sources), outs, name == "selp" or described.exact


def _computed(
    compute: Callable[..., list[Number]],
    meaning: transfer.Meaning,
    sources: Sequence[Source],
    wave: Wave,
    lanes: Lanes,
) -> list[Number]:
    return compute(meaning, [each(wave, lanes) for each in sources], lanes)


def _shuffle(operands: Operands) -> Numbering:
    (kind, *_), mode = operands.types("d"), operands.word("mode")
    value, amount, bounds = (
        source(operands, operands.named(name), each) for name, each in (("a", kind), ("b", "u32"), ("c", "u32"))
    )

    def number(wave: Wave, lanes: Lanes) -> list[Number]:
        given, by, within = value(wave, lanes), amount(wave, lanes), bounds(wave, lanes)
        full = (np.broadcast_to(each.values.astype(np.int64), (lanes.height, 32)) for each in (by, within))
        lane, in_range = source_lane(mode, *full)
        moved = transfer.of_lanes(given.number, np.broadcast_to(lane, (lanes.height, 32)), lanes.height)
        level = np.maximum(by.number.level, within.number.level)
        if (level >= DATA).any():
            moved = wave.part(Planes).fresh(lanes)
        predicate = fixed(np.broadcast_to(in_range, (lanes.height, 32)))
        return [moved, replace(predicate, level=np.broadcast_to(level, (lanes.height, 32)))]

    return number


def _of_step(operands: Operands, step: InstructionSemantics, versions: Versions) -> Numbered:
    if step.opcode == "mov":
        number, outs = _move(operands)
        return number, outs, len(outs) == len(operands.elements(operands.named("a")))
    if step.opcode == "ld":
        elements = operands.elements(operands.named("d"))
        return loader(operands, versions), elements, False
    if step.opcode == "ldmatrix":
        return matrix_loader(operands, versions), operands.elements(operands.named("d")), False
    if step.effect != "none":
        return None, (), False
    form = operands.form()
    written = [name for name in form.operands if form.places[name].written]
    read = [name for name in form.operands if form.places[name].read]
    if any(form.types[name] is None for name in (*written, *read)):
        return None, (), False
    ins = [
        pair
        for name in read
        for pair in zip(operands.elements(operands.named(name)), operands.types(name), strict=True)
    ]
    outs = [each for name in written for each in operands.elements(operands.named(name))]
    results = tuple(operands.types(written[0])) if written else ()
    described = transfer.Meaning(operands.opcode[0], operands.opcode, results)
    sources = [source(operands, *pair) for pair in ins]
    return partial(_computed, transfer.of_operation, described, sources), outs, False


def _move(operands: Operands) -> tuple[Numbering, Sequence[Operand]]:
    outs, ins = operands.elements(operands.named("d")), operands.elements(operands.named("a"))
    (kind, *_) = operands.types("d" if len(outs) == len(ins) else "a")
    sources = [source(operands, each, kind) for each in ins]

    def number(wave: Wave, lanes: Lanes) -> list[Number]:
        given = [each(wave, lanes) for each in sources]
        if len(outs) == len(ins):
            return [each.number for each in given]
        if len(ins) == 1:
            return transfer.unpacked(len(outs), given[0])
        return [transfer.packed(given)]

    return number, outs
