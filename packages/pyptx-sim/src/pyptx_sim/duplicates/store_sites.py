"""Stores whose values get value numbers: `st`, and `stmatrix`, whose rows come from registers of several lanes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx_sim.duplicates.numbers import mix, reduced
from pyptx_sim.duplicates.planes import OPAQUE
from pyptx_sim.duplicates.sources import source
from pyptx_sim.instructions.compiling.operands import Operands
from pyptx_sim.instructions.memory.matrices import move_and_count
from pyptx_sim.machine.lanes import WARP
from pyptx_sim.machine.memory.row_lanes import ROW
from pyptx_sim.types import dtype_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pyptx_ir.isa.matrix_rows import MatrixMove
    from pyptx_sim.duplicates.sources import Source
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.program.program import Program

__all__ = ["StoreSite", "stores_values"]


def stores_values(program: Program, pc: int) -> bool:
    """Return whether an instruction stores the values of registers; `st.bulk` stores zeros instead."""
    form, name = program.forms[pc], program.sites[pc].instruction.opcode[0]
    return form is not None and ((name == "st" and "b" in form.operands) or name == "stmatrix")


@dataclass(frozen=True, slots=True)
class StoreSite:
    """A store whose values get value numbers: its sources, the bytes of each element, and the bytes per address.

    `gather` maps the sources' values in all lanes, `[sources, warps, 32]`, to the elements stored at each lane's
    address, `[elements, warps, 32]`. `parts` is the bit offset of each element in its source register.
    """

    sources: tuple[Source, ...]
    element: int
    size: int
    parts: NDArray[np.uint64]
    gather: Callable[[NDArray[Any]], NDArray[Any]]

    @classmethod
    def of(cls, program: Program, pc: int) -> StoreSite:
        """Return the `StoreSite` of the instruction at `pc`."""
        operands = Operands(program, program.sites[pc], checked=False)
        if program.sites[pc].instruction.opcode[0] == "stmatrix":
            return cls._of_matrices(operands)
        types = operands.types("b")
        elements = operands.defined(operands.elements(operands.named("b")))
        sources = tuple(source(operands, *pair) for pair in zip(elements, types, strict=True))
        element, parts = dtype_of(types[0]).itemsize, np.zeros((len(sources), 1, 1), np.uint64)
        return cls(sources, element, element * len(sources), parts, lambda held: held)

    @classmethod
    def _of_matrices(cls, operands: Operands) -> StoreSite:
        elements = operands.defined(operands.elements(operands.named("r")))
        move, count = move_and_count(operands)
        registers, holders, parts = _places(move, count)
        given = tuple(source(operands, each, "b32") for each in elements)
        return cls(given, -(-move.stored // 8), ROW, parts, lambda held: held[registers, :, holders].swapaxes(1, 2))

    def numbers(self, wave: Wave, lanes: Lanes) -> tuple[NDArray[Any], ...]:
        """Return a store's strict and exact value numbers, mask of unknown inputs, and `leaf_bits`, `[warps, 32]`."""
        given = [each(wave, lanes).number for each in self.sources]
        size = np.full((1, 1), self.size, np.uint64)

        def parts(field: str) -> NDArray[Any]:
            return self.gather(_held(wave, lanes, [getattr(each, field) for each in given]))

        strict, exact = (mix(size, *(parts(field) ^ self.parts)) for field in ("strict", "exact"))
        return strict, reduced(exact), (parts("level") == OPAQUE).any(axis=0), np.bitwise_or.reduce(parts("leaves"))


def _held(wave: Wave, lanes: Lanes, arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """Return numbers for all running warps, `[sources, warps, 32]`, from `arrays` for the warps of `lanes`."""
    held = np.zeros((len(arrays), wave.height, WARP), arrays[0].dtype)
    for each, values in zip(held, arrays, strict=True):
        each[lanes.row_numbers()] = values
    return held


def _places(move: MatrixMove, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]:
    """Return the register, lane and bit offset of each element of the matrix row that each lane addresses.

    The arrays are `[columns, 32]`, the bit offsets `[columns, 1, 32]`.
    """
    registers, holders, shifts = np.zeros((3, move.fragment.columns, WARP), np.int64)
    for lane in range(count * move.addresses):
        matrix, row = divmod(lane, move.addresses)
        for column in range(move.fragment.columns):
            place = move.fragment.places(row, column)[0]
            registers[column, lane] = matrix * move.fragment.registers + place.register
            holders[column, lane], shifts[column, lane] = place.lane, place.shift
    return registers, holders, shifts.astype(np.uint64)[:, None]
