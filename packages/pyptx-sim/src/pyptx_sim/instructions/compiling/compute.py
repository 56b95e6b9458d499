"""Compilation of instructions with an `Operation`: read the source registers, compute, write the results."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.instructions.compiling.absent_lanes import reading_lanes
from pyptx_sim.instructions.compiling.carrying import Carried, carrying, unspecified
from pyptx_sim.instructions.compiling.registers import Reader, Writer, write_slot
from pyptx_sim.machine.lanes import WARP, Lanes
from pyptx_sim.program.program import CARRY_SLOT
from pyptx_sim.program.scopes import RegisterBinding
from pyptx_sim.semantics.undefined_bits import spread_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Compute, Operation

_CLEAR = np.zeros((1, 1), np.bool_)
_CARRY = RegisterBinding(CARRY_SLOT, "pred", "the carry flag")


def parts(operands: Operands, operation: Operation) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """Return the flattened destination and source operands, without immediates that `Semantics.bind` has evaluated."""
    given = operands.operands
    first = int(bool(operation.results and given))
    written, read = operation.places or (range(first), range(first, len(given)))
    destinations = tuple(part for place in written for part in operands.elements(given[place]))
    sources = tuple(part for place in read for part in operands.elements(given[place]))
    # Immediates that `Semantics.bind` has already evaluated may follow the source operands.
    if len(destinations) > len(operation.results) or len(sources) < len(operation.sources):
        operands.fail(
            f"expected {counted(len(operation.results), 'destination')} and "
            f"{counted(len(operation.sources), 'source')}, got {len(destinations)} and {len(sources)}"
        )
    return destinations, sources[: len(operation.sources)]


def compile_operation(operands: Operands, operation: Operation) -> Action:
    """Compile an instruction whose semantics are `operation` to a closure that executes it."""
    destinations, sources = parts(operands, operation)
    given = operands.unchecked()
    readers = [given.read(*pair) for pair in zip(sources, operation.sources, strict=True)]
    writers = [operands.write(*pair) for pair in zip(destinations, operation.results, strict=False)]
    if operation.reads_carry:
        readers.append(_read_carry)
    if operation.writes_carry:
        writers.append(write_slot(CARRY_SLOT, checked=operands.checked))
    step = _computing(operands, operation, tuple(readers), tuple(writers))
    if not operands.checked:
        return step
    read, written = shadows(operands, operation)
    step = carrying(step, read, readers, written, spread_of(operands.form(), operation))
    if operation.source_lanes is not None:
        return reading_lanes(operands, operation, step, readers, written[0])
    if operation.unspecified is None:
        return step
    return unspecified(step, operation.unspecified, read, readers, [each for each in written if each is not None])


def shadows(operands: Operands, operation: Operation) -> tuple[list[Carried | None], list[Carried | None]]:
    """Return access (`Carried`) to the undefined bits of an operation's source and destination registers."""
    destinations, sources = parts(operands, operation)
    read = [operands.carried(*pair) for pair in zip(sources, operation.sources, strict=True)]
    written = [operands.carried(*pair) for pair in zip(destinations, operation.results, strict=False)]
    if operation.reads_carry:
        read.append(Carried(_CARRY, "pred", operands.pc))
    if operation.writes_carry:
        written.append(Carried(_CARRY, "pred", operands.pc))
    return read, written


def _computing(
    operands: Operands, operation: Operation, readers: tuple[Reader, ...], writers: tuple[Writer, ...]
) -> Action:
    compute = operation.compute
    if operands.exact and operation.exact is not None:
        compute = operation.exact(operands.program.target)
    if operation.warp:
        return _warp_step(readers, writers, compute)
    several = len(operation.results) + operation.writes_carry > 1
    if len(writers) == 1 and not several:
        return _single(readers, writers[0], compute)
    return _several(readers, writers, compute)


def _read_carry(wave: Wave, lanes: Lanes) -> Array:
    value = wave.registers[CARRY_SLOT]
    return _CLEAR if value is None else lanes.select(value)


def _single(readers: tuple[Reader, ...], write: Writer, of_any: Compute) -> Action:
    """Compile an instruction with one result; code for one to three sources is unrolled, as these are most frequent."""
    compute = cast("Callable[..., Array]", of_any)
    match readers:
        case (a,):
            return lambda wave, lanes: write(wave, lanes, compute(a(wave, lanes)))
        case (a, b):
            return lambda wave, lanes: write(wave, lanes, compute(a(wave, lanes), b(wave, lanes)))
        case (a, b, c):
            return lambda wave, lanes: write(wave, lanes, compute(a(wave, lanes), b(wave, lanes), c(wave, lanes)))
        case _:
            return lambda wave, lanes: write(wave, lanes, compute(*[read(wave, lanes) for read in readers]))


def _several(readers: tuple[Reader, ...], writers: tuple[Writer, ...], compute: Compute) -> Action:
    def step(wave: Wave, lanes: Lanes) -> None:
        results = compute(*[read(wave, lanes) for read in readers])
        _write_all(wave, lanes, writers, results)

    return step


def _warp_step(readers: tuple[Reader, ...], writers: tuple[Writer, ...], compute: Compute) -> Action:
    def step(wave: Wave, lanes: Lanes) -> None:
        shape = (lanes.height, WARP)
        given = [read(wave, lanes) for read in readers]
        values = [value if value.shape == shape else np.broadcast_to(value, shape) for value in given]
        _write_all(wave, lanes, writers, compute(lanes.full_mask, *values))

    return step


def _write_all(wave: Wave, lanes: Lanes, writers: tuple[Writer, ...], results: Array | tuple[Array, ...]) -> None:
    for write, value in zip(writers, results if isinstance(results, tuple) else (results,), strict=False):
        write(wave, lanes, value)
