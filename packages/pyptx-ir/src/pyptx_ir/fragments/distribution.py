"""Distribution of a matrix over the lanes of a warp. Manual: "Matrix Fragments for mma.m16n8k16".

The eight rows of a tile go to eight groups of four lanes, one row per group. Each of the four lanes holds consecutive
elements of the row. A lane's elements continue with the tiles below, then with the tiles to the right.
"""

from __future__ import annotations

from functools import cache

from pyptx_ir.fragments.layout import Fragment, Stride

_GROUP = 2  # number of bits of a lane index that number the lanes in a group of four
_LANES = 5


@cache
def distributed(
    title: str, rows: int, columns: int, bits: int, beside: int, *, repeated: int = 1, warps: int = 1
) -> Fragment:
    """Return the layout of a matrix distributed by rows, `beside` consecutive elements per lane of a group.

    `repeated`: number of copies of each element within its lane. `warps`: number of warps, each with a consecutive
    share of the rows.
    """
    along = _steps(columns, beside)
    lane_columns, tile_columns = along[1], along[2]
    lane_rows, tile_rows, warp_rows = _split_rows(rows, warps)
    lanes = (*(Stride(0, each) for each in lane_columns), *(Stride(each) for each in (*lane_rows, *warp_rows)))
    elements = (
        *(Stride(0, each) for each in along[0]),
        *(Stride(each) for each in tile_rows),
        *(Stride(0, each) for each in tile_columns),
        *(Stride() for _ in range(repeated.bit_length() - 1)),
    )
    return Fragment(title, rows, columns, bits, lanes, elements, max(bits, 32))


def _powers(start: int, stop: int) -> tuple[int, ...]:
    """Return the powers of two from `start` (inclusive) to `stop` (exclusive)."""
    return tuple(1 << bit for bit in range(start.bit_length() - 1, stop.bit_length() - 1))


def _steps(columns: int, beside: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the column steps of the bits of element and lane indices: within a lane, between lanes, between tiles."""
    group = beside << _GROUP
    return _powers(1, beside), _powers(beside, group), _powers(group, columns)


def _split_rows(rows: int, warps: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the row steps of the bits of element and lane indices: between groups of lanes, tiles and warps."""
    tile = 1 << (_LANES - _GROUP)
    return _powers(1, tile), _powers(tile, rows // warps), _powers(rows // warps, rows)


@cache
def transposed(fragment: Fragment, title: str) -> Fragment:
    """Return the layout that distributes columns over lanes as `fragment` distributes rows."""
    return Fragment(
        title,
        fragment.columns,
        fragment.rows,
        fragment.bits,
        tuple(Stride(step.column, step.row, step.product) for step in fragment.lanes),
        tuple(Stride(step.column, step.row, step.product) for step in fragment.elements),
        fragment.width,
        fragment.products,
    )
