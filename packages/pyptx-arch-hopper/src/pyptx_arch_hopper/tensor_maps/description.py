"""Fields of a Tile's tensor map, for arrays of given sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.contract.specs import Layout
from pyptx_dsl.errors import SpecError
from pyptx_dsl.shared_memory.tiles import SharedTile
from pyptx_ir.plugins.rows import Im2col as Row
from pyptx_ir.plugins.rows import TensorMap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_dsl.contract.im2col import Im2col
    from pyptx_dsl.contract.specs import Tile
    from pyptx_ir.plugins.packed import PackedElements

# Bytes per row of a slab in shared memory. A slab is 64 columns of the matrix, at coordinates `{0, row, column / 64}`;
# its row is one swizzle row, with 16 more bytes if rows are padded against bank conflicts.
_SLAB_BYTES = 128
_PADDED_BYTES = 144


def tensor_map(tile: Tile, sizes: Mapping[str, int]) -> TensorMap:
    """Return the tensor map of a dense tensor with the tile's layout.

    With `tma_rank=3`, a matrix becomes slabs of 128-byte rows: `{0, row, column / 64}` for 2-byte types.
    """
    shape, box = tile.resolve_shape(sizes), tile.resolve_box(sizes)
    if tile.layout is Layout.COL:
        shape, box = shape[::-1], box[::-1]
    width = tile.dtype.bytes
    pitches = _dense(shape, width)
    if tile.tma_rank == 3 and len(shape) == 2:
        (rows, columns), (box_rows, box_columns) = shape, box
        slab, slabs = _SLAB_BYTES // width, max(1, box_columns * width // _SLAB_BYTES)
        if columns % slab:
            raise SpecError(
                f"{tile!r}: {columns} columns are not a multiple of the {slab} columns of a slab (tma_rank=3)",
                help=f"pad the array to {-(-columns // slab) * slab} columns, or use tma_rank=2, which clips boxes",
            )
        shape = (columns // slab, rows, slab)
        box = (slabs, box_rows, (_PADDED_BYTES if tile.tma_padding else _SLAB_BYTES) // width)
        pitches = (_SLAB_BYTES, pitches[0], width)
    window, packed = tile.im2col, tile.packed
    _check_swizzle(tile, window.channels if window else box[-1])
    interleave = "16B" if tile.layout is Layout.INTERLEAVED else "none"
    if packed is not None:
        shape, box = (_counted(packed, sizes) for sizes in (shape, box))
    return TensorMap(
        tile.dtype.name if packed is None else packed.name,
        shape,
        pitches,
        box,
        (1, *window.strides, 1) if window else (1,) * len(shape),
        tile.swizzle or "none",
        interleave=interleave,
        l2_promotion=tile.tma_promotion,
        fill=tile.tma_fill,
        im2col=_im2col(window) if window else None,
    )


def _counted(packed: PackedElements, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return a tensor's sizes with the innermost size converted from bytes to packed elements."""
    return (*sizes[:-1], packed.elements(sizes[-1])) if sizes else ()


def _im2col(window: Im2col) -> Row:
    return Row(window.lower, window.upper, window.channels, window.pixels)


def _check_swizzle(tile: Tile, inner: int) -> None:
    """Reject a box row of `inner` elements wider than the swizzle. Manual: "Tensor Swizzle Modes"."""
    span, row = tile.layout.swizzle_bytes, inner * tile.dtype.bits // 8
    if tile.layout.swizzle is None or row <= span:
        return
    panels = SharedTile(tile.dtype, (8, span * 8 // tile.dtype.bits), swizzle=tile.layout.swizzle)
    raise SpecError(
        f"{tile!r}: a row of {inner} elements has {row} bytes, more than its {tile.layout.swizzle} swizzle",
        help=f"copy boxes of {panels.box_columns} columns: SharedTile(…).tma_tile(…) returns them\n{panels.picture()}",
    )


def _dense(shape: tuple[int, ...], width: int) -> tuple[int, ...]:
    """Return the strides in bytes of a dense array, last dimension innermost."""
    strides = [width]
    for size in reversed(shape[1:]):
        strides.append(strides[-1] * size)
    return tuple(reversed(strides))
