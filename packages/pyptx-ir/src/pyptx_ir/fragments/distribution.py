"""How a matrix is distributed over the lanes of a warp. Manual: "Matrix Fragments for mma.m16n8k16 …" and its like.

A tile of eight rows goes to eight groups of four lanes, a row to each; each of the four takes some elements that
lie side by side. Tiles below each other follow first, then tiles beside each other.
"""

from __future__ import annotations

from functools import cache

from pyptx_ir.fragments.layout import Fragment, Step

_GROUP = 2  # bits of the lane that count within a group of four
_LANES = 5


@cache
def distributed(
    title: str, rows: int, columns: int, bits: int, beside: int, *, repeated: int = 1, warps: int = 1
) -> Fragment:
    """Return the layout of a matrix distributed by rows, `beside` elements to each lane of a group.

    `repeated`: how often each element is held. `warps`: how many warps, one below the other, share the rows.
    """
    along = _steps(columns, beside)
    lane_columns, tile_columns = along[1], along[2]
    lane_rows, tile_rows, warp_rows = _split_rows(rows, warps)
    lanes = (*(Step(0, each) for each in lane_columns), *(Step(each) for each in (*lane_rows, *warp_rows)))
    elements = (
        *(Step(0, each) for each in along[0]),
        *(Step(each) for each in tile_rows),
        *(Step(0, each) for each in tile_columns),
        *(Step() for _ in range(repeated.bit_length() - 1)),
    )
    return Fragment(title, rows, columns, bits, lanes, elements, max(bits, 32))


def _powers(start: int, stop: int) -> tuple[int, ...]:
    """Return the powers of two from `start` up to, not including, `stop`."""
    return tuple(1 << bit for bit in range(start.bit_length() - 1, stop.bit_length() - 1))


def _steps(columns: int, beside: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the steps along a row: within a lane, from lane to lane of a group, from tile to tile."""
    group = beside << _GROUP
    return _powers(1, beside), _powers(beside, group), _powers(group, columns)


def _split_rows(rows: int, warps: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the steps down a column: from group to group, from tile to tile, from warp to warp."""
    tile = 1 << (_LANES - _GROUP)
    return _powers(1, tile), _powers(tile, rows // warps), _powers(rows // warps, rows)


@cache
def transposed(fragment: Fragment, title: str) -> Fragment:
    """Return the layout in which columns are distributed as `fragment` distributes rows."""
    return Fragment(
        title,
        fragment.columns,
        fragment.rows,
        fragment.bits,
        tuple(Step(step.column, step.row, step.product) for step in fragment.lanes),
        tuple(Step(step.column, step.row, step.product) for step in fragment.elements),
        fragment.width,
        fragment.products,
    )
