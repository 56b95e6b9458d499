"""Batches: consecutive instructions whose results are computed by one call of their `Operation.batch`.

The last instruction of a batch computes and writes the results of all instructions of the batch. No instruction of a
batch reads a result of an earlier one, so the delay is not observable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.instructions.compiling.carrying import carrying
from pyptx_sim.instructions.compiling.collectives import collective
from pyptx_sim.instructions.compiling.compute import parts, shadows
from pyptx_sim.machine.lanes import WARP
from pyptx_sim.operation import Operation
from pyptx_sim.semantics.undefined_bits import spread_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.compiling.registers import Reader
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Batch


@dataclass(frozen=True, slots=True)
class Member:
    """Instruction of a batch, with its destination and source operands, vectors flattened."""

    operands: Operands
    operation: Operation
    destinations: tuple[Operand, ...]
    sources: tuple[Operand, ...]

    def slots(self, some: Sequence[Operand]) -> set[int]:
        """Return the slots (indices in the register file) of the registers among the operands `some`."""
        found = (self.operands.register(operand) for operand in some)
        return {register.slot for register in found if register is not None}

    def readers(self) -> list[Reader]:
        """Return, for each source operand, a reader function that does not report undefined bits."""
        given = self.operands.unchecked()
        return [given.read(*pair) for pair in zip(self.sources, self.operation.sources, strict=True)]

    def carrying(self, step: Action) -> Action:
        """Wrap `step`: make this instruction's destinations undefined if sources are undefined or lanes missing."""
        if not self.operands.checked:
            return step
        read, written = shadows(self.operands, self.operation)
        step = carrying(step, read, self.readers(), written, spread_of(self.operands.form(), self.operation))
        return collective(self.operands, step, reports=False)


def compile_batches(block: Sequence[tuple[Operands, object]]) -> Mapping[int, Action]:
    """Return, by pc, the compiled form of those instructions of a basic block that belong to batches.

    `block` has the operands and the semantics of each instruction of the basic block.
    """
    steps: dict[int, Action] = {}
    for run in _runs(block):
        if len(run) > 1:
            *others, last = run
            steps.update((member.operands.pc, _nothing) for member in others)
            steps[last.operands.pc] = _together(run)
    return steps


def _runs(block: Sequence[tuple[Operands, object]]) -> Iterator[list[Member]]:
    """Yield each series of consecutive instructions that can be computed as one batch."""
    run: list[Member] = []
    written: set[int] = set()
    for operands, operation in block:
        member = _member(operands, operation)
        goes_on = member is not None and run and operands.opcode == run[0].operands.opcode
        if member is None or not goes_on or not written.isdisjoint(member.slots(member.sources)):
            yield run
            run, written = [], set()
        if member is not None:
            run.append(member)
            written |= member.slots(member.destinations)
    yield run


def _member(operands: Operands, operation: object) -> Member | None:
    """Return an instruction as a `Member` of a batch; None if the instruction cannot be in a batch."""
    if not isinstance(operation, Operation) or operation.batch is None:
        return None
    if operands.exact or operands.instruction.guard is not None:
        return None
    return Member(operands, operation, *parts(operands, operation))


def _nothing(wave: Wave, lanes: Lanes) -> None:
    """Do nothing: the last instruction of the batch computes the results of all its instructions."""


def _together(run: Sequence[Member]) -> Action:
    """Return the compiled last instruction of a batch: read each source register once and compute all results."""
    distinct: dict[tuple[Operand, str], Reader] = {}
    for member in run:
        keys = zip(member.sources, member.operation.sources, strict=True)
        distinct.update(zip(keys, member.readers(), strict=True))
    numbers = {key: number for number, key in enumerate(distinct)}
    readers = list(distinct.values())
    taken = [[numbers[key] for key in zip(member.sources, member.operation.sources, strict=True)] for member in run]
    writers = [
        [member.operands.write(*pair) for pair in zip(member.destinations, member.operation.results, strict=False)]
        for member in run
    ]
    batch: Batch | None = run[-1].operation.batch
    assert batch is not None  # noqa: S101 - that of a member

    def step(wave: Wave, lanes: Lanes) -> None:
        shape = (lanes.height, WARP)
        given = [read(wave, lanes) for read in readers]
        values = [value if value.shape == shape else np.broadcast_to(value, shape) for value in given]
        results = batch([[values[number] for number in each] for each in taken])
        for each, registers in zip(writers, results, strict=True):
            for write, value in zip(each, registers, strict=False):
                write(wave, lanes, value)

    action: Action = step
    for member in run:
        action = member.carrying(action)
    return action
