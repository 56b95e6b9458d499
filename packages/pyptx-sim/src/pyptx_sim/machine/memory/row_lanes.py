"""Which lanes access the rows of matrices that a warp loads or stores together: `ldmatrix`, `stmatrix`.

One lane gives the address of a row of 16 bytes, and others access it: each lane the elements of its own fragment.
Manual: "Warp-level matrix load instruction: ldmatrix": a group of four threads loads an entire row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.machine.lanes import WARP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_ir.isa.matrix_rows import MatrixMove
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.operation import Mask

ROW = 16
"""Bytes of a row."""


@dataclass(frozen=True, eq=False)
class RowLanes:
    """Which lanes access each byte of the rows of a matrix: booleans, `holders[row, byte, lane]`.

    Lane i gives the address of row i of the matrices that lie one below the other.
    """

    holders: Mask
    _masks: dict[int, NDArray[np.int32]] = field(default_factory=dict)

    def masks(self, lanes: IntArray, count: int) -> NDArray[np.int32]:
        """Return the lanes, as bits, that access each of `count` parts of the rows whose addresses `lanes` give.

        The parts of a row stand one behind the other.
        """
        of_rows = self._of_parts(count)
        return of_rows.take(lanes % len(of_rows), axis=0).reshape(-1)

    def _of_parts(self, count: int) -> NDArray[np.int32]:
        if count not in self._masks:
            held = self.holders.reshape(len(self.holders), count, -1, WARP).any(axis=2)
            self._masks[count] = np.packbits(held, axis=-1, bitorder="little").view(np.int32)[..., 0]
        return self._masks[count]

    def narrowed(self, mask: int, part: int, count: int) -> int:
        """Return which lanes of a mask, that of a whole row, access one of `count` parts of the row."""
        rows = np.flatnonzero(self._of_parts(1)[:, 0] == mask)
        return int(self._of_parts(count)[rows[0], part]) if len(rows) else mask

    @property
    def width(self) -> int:
        """How many bytes that lie side by side have the same lanes: a power of 2."""
        changes = np.flatnonzero((self.holders[:, 1:] != self.holders[:, :-1]).any(axis=(0, 2))) + 1
        return math.gcd(ROW, *changes.tolist())

    def of_single_lanes(self, lanes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the accesses of single lanes to `width` bytes of the rows whose addresses `lanes` give.

        They are the numbers of rows among `lanes`, the first bytes in these rows, and the lanes.
        """
        rows, parts, holders = np.nonzero(self.holders[lanes % len(self.holders), :: self.width])
        return rows, parts * self.width, holders


@cache
def row_lanes(move: MatrixMove) -> RowLanes:
    """Return which lanes access the rows of a matrix; padding behind a row's elements is that of the last one."""
    fragment = move.fragment
    holders = np.zeros((fragment.rows, ROW, WARP), np.bool_)
    for column in range(fragment.columns):
        first, last = column * move.stored // 8, (column * move.stored + move.stored - 1) // 8
        end = ROW if column == fragment.columns - 1 else last + 1
        for row in range(fragment.rows):
            holders[row, first:end, [place.lane for place in fragment.places(row, column)]] = True
    return RowLanes(holders)
