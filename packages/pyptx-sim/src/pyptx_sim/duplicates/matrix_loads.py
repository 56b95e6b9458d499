"""Value numbers of the registers that `ldmatrix` loads: hashes of their elements' rows and columns.

Manual: "Warp-level matrix load instruction: ldmatrix".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.duplicates.loading import base_of, moved_from, numbers_at
from pyptx_sim.duplicates.numbers import leaf_bits, mix, name_number, reduced
from pyptx_sim.duplicates.planes import Number, Planes, highest, where
from pyptx_sim.duplicates.transfer import of_lanes
from pyptx_sim.instructions.memory.addresses import shared_target
from pyptx_sim.instructions.memory.matrices import lanes_with_addresses, move_and_count
from pyptx_sim.machine.lanes import WARP
from pyptx_sim.machine.memory.row_lanes import ROW

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pyptx_ir.isa.matrix_rows import MatrixMove
    from pyptx_sim.duplicates.loading import Versions
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.wave import Wave

__all__ = ["matrix_loader"]

_MATRIX: Final = name_number("matrix")


def matrix_loader(operands: Operands, versions: Versions) -> Callable[[Wave, Lanes], list[Number]]:
    """Return a function that computes the value numbers of the registers that `ldmatrix` is about to load."""
    operand = operands.named("a")
    move, count = move_and_count(operands)
    elements = _elements(move, count)
    find, base = shared_target(operands, operand), base_of(operands, operand)
    addressing = lanes_with_addresses(move, count)

    def number(wave: Wave, lanes: Lanes) -> list[Number]:
        rows = wave.part(Planes).fresh(lanes).spread(lanes.height)
        named = lanes.narrowed(addressing)
        for memory, part, addresses in find(wave, named) if named else ():
            loaded = numbers_at(memory, part, addresses, ROW, 1, versions)
            if loaded is not None:
                known = None if base is None else base(wave, part).number
                rows = where(part.full_mask, moved_from(loaded[0], known), rows)
        return [_register(rows, register, lanes.height) for register in elements]

    return number


def _elements(move: MatrixMove, count: int) -> list[NDArray[np.int64]]:
    """Return, per register, the lane with the address of each element's row and the column, `[2, elements, 32]`."""
    fragment, lanes = move.fragment, range(WARP)
    found = []
    for matrix in range(count):
        for first in range(0, fragment.count, fragment.packed):
            held = range(first, first + fragment.packed)
            rows = [[matrix * move.addresses + fragment.row(lane, each) for lane in lanes] for each in held]
            found.append(np.array([rows, [[fragment.column(lane, each) for lane in lanes] for each in held]]))
    return found


def _register(rows: Number, elements: NDArray[np.int64], height: int) -> Number:
    """Return the value number of a register; `rows` is the value number of the row at each lane's address."""
    lanes, columns = elements
    parts = [of_lanes(rows, np.broadcast_to(lane, (height, WARP)), height) for lane in lanes]
    strict = mix(_MATRIX, *columns.astype(np.uint64), *(each.strict for each in parts))
    leaves = np.bitwise_or.reduce([each.leaves for each in parts])
    return Number(strict, reduced(strict), highest(parts), leaves | leaf_bits(strict))
