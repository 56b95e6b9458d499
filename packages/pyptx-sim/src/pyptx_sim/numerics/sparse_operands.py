"""Selection of the elements of b that a sparse a is multiplied by. Manual: "Sparse matrix storage"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.fragments import fragment_of, selected_lanes
from pyptx_ir.fragments.sparse import SPARSITY
from pyptx_ir.isa.kinds.fragments import BITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.operation import Array

_WORD = 32
_HIGH = 2  # number of 2-bit metadata fields that select one of two elements: 0b0100 the first, 0b1110 the second


@dataclass(frozen=True, slots=True)
class SparseSelection:
    """Selection of the elements of b for the stored elements of a sparse a, by the metadata register.

    `shifts` and `lanes` locate the metadata fields of each row of a. A chunk is the group of elements of b from which
    one group of stored elements selects; `base` is the first k of each stored element's chunk. `together`: number of
    adjacent elements that one field selects.
    """

    shifts: Array
    lanes: Array
    base: Array
    fields: int
    together: int

    def __call__(self, metadata: Array, b: Array) -> Array:
        """Return the selected elements, `[…, rows, columns, k / 2]`, of b, `[…, columns, k]`."""
        where = self.places(metadata)[:, None, :, None, :]
        return np.asarray(np.take_along_axis(b[..., None, :, :], where, axis=-1))

    def places(self, metadata: Array) -> Array:
        """Return the k index in b of each stored element of a: `[warps, rows, k / 2]`."""
        fields = (metadata.take(self.lanes, axis=1) >> self.shifts) & np.uint32(3)
        places = (fields[..., 1 :: self.fields] >> 1) if self.fields == _HIGH else fields
        found: Array = self.base + np.repeat(places.astype(np.int64), self.together, axis=-1) * self.together
        return found


def selecting(shape: str, element: str, selector: int) -> SparseSelection:
    """Return the `SparseSelection` for a sparse a with elements of type `element`."""
    kind = SPARSITY[BITS[element]]
    shifts, lanes = _fields(shape, element, selector)
    stored = lanes.shape[1] // kind.fields * kind.together
    starts = [each // kind.kept * kind.chunk + each % kind.together for each in range(stored)]
    return SparseSelection(shifts, lanes, np.array(starts, np.int64), kind.fields, kind.together)


def meaningless(shape: str, element: str, selector: int) -> Callable[[Array], Array]:
    """Return the function that finds rows of `.ordered_metadata` with invalid fields: bool `[warps, rows]`.

    The two fields of a chunk must increase; if they select one of two elements, they must be 0b1110 or 0b0100.
    """
    kind = SPARSITY[BITS[element]]
    shifts, lanes = _fields(shape, element, selector)

    def check(metadata: Array) -> Array:
        fields: Array = (metadata.take(lanes, axis=1) >> shifts) & np.uint32(3)
        first, second = fields[..., 0::2], fields[..., 1::2]
        grow: Array = np.less(first, second)
        if kind.fields == _HIGH:
            grow = np.logical_and(np.equal(second, first + 1), np.equal(first % 2, 0))
        return np.logical_not(grow.all(axis=-1))

    return check


def _fields(shape: str, element: str, selector: int) -> tuple[Array, Array]:
    """Return, per row of a, the position of each metadata field: bit shift in the register, and lane."""
    fragment = fragment_of("mma.sp", shape, "e", element)
    first = selected_lanes(shape, element, selector)[0]
    places = [[fragment.places(row, column)[0] for column in range(fragment.columns)] for row in range(fragment.rows)]
    shifts = np.array([[place.shift for place in row] for row in places], np.uint32)
    return shifts, np.array([[place.lane + first for place in row] for row in places], np.int64)
