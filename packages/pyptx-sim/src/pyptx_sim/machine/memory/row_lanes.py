"""Lanes that access the rows of matrices in warp-wide loads and stores: `ldmatrix`, `stmatrix`.

One lane provides the address of a row of 16 bytes. Other lanes access the row: each lane accesses the elements of its
own fragment. Manual: "Warp-level matrix load instruction: ldmatrix": a group of four threads loads an entire row.
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
"""Size of a matrix row in bytes."""


@dataclass(frozen=True, eq=False)
class RowLanes:
    """Lanes that access each byte of a matrix: `holders[row, byte, lane]` is true if the lane accesses the byte.

    Lane i provides the address of row i of the vertically stacked matrices.
    """

    holders: Mask
    _masks: dict[int, NDArray[np.int32]] = field(default_factory=dict)

    def masks(self, lanes: IntArray, count: int) -> NDArray[np.int32]:
        """Return, as bits, the lanes that access each of `count` equal parts of the rows addressed by `lanes`.

        The result has `count` consecutive entries per row.
        """
        of_rows = self._of_parts(count)
        return of_rows.take(lanes % len(of_rows), axis=0).reshape(-1)

    def _of_parts(self, count: int) -> NDArray[np.int32]:
        if count not in self._masks:
            held = self.holders.reshape(len(self.holders), count, -1, WARP).any(axis=2)
            self._masks[count] = np.packbits(held, axis=-1, bitorder="little").view(np.int32)[..., 0]
        return self._masks[count]

    def narrowed(self, mask: int, part: int, count: int) -> int:
        """Return the lanes that access part `part` of `count` equal parts of a row whose accessing lanes are `mask`."""
        rows = np.flatnonzero(self._of_parts(1)[:, 0] == mask)
        return int(self._of_parts(count)[rows[0], part]) if len(rows) else mask

    @property
    def width(self) -> int:
        """Number of adjacent bytes of a row that the same lanes access: a power of 2."""
        changes = np.flatnonzero((self.holders[:, 1:] != self.holders[:, :-1]).any(axis=(0, 2))) + 1
        return math.gcd(ROW, *changes.tolist())

    def of_single_lanes(self, lanes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return one access per lane and `width` bytes, for the rows whose addresses `lanes` provide.

        The result is three arrays: index of the row in `lanes`, first byte in the row, accessing lane.
        """
        rows, parts, holders = np.nonzero(self.holders[lanes % len(self.holders), :: self.width])
        return rows, parts * self.width, holders


@cache
def row_lanes(move: MatrixMove) -> RowLanes:
    """Return the lanes that access the rows of a matrix; padding after a row belongs to the row's last element."""
    fragment = move.fragment
    holders = np.zeros((fragment.rows, ROW, WARP), np.bool_)
    for column in range(fragment.columns):
        first, last = column * move.stored // 8, (column * move.stored + move.stored - 1) // 8
        end = ROW if column == fragment.columns - 1 else last + 1
        for row in range(fragment.rows):
            holders[row, first:end, [place.lane for place in fragment.places(row, column)]] = True
    return RowLanes(holders)
