"""Text pictures of SharedTiles: the position of each 16-byte chunk of a row in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.shared_memory.swizzle import SWIZZLES

if TYPE_CHECKING:
    from pyptx_dsl.shared_memory.tiles import SharedTile

_CHUNK = 16
_ROWS = 8


def draw(tile: SharedTile) -> str:
    """Return a picture of a SharedTile: the first 8 rows of its first TMA box, and the number and size of its boxes.

    A number in the picture is the index of a 16-byte chunk in its row; the chunk's column is its position in memory.
    """
    lines = [
        describe(tile),
        "  byte " + "".join(f"{place:>5}" for place in range(0, tile.box_row_bytes, _CHUNK)),
    ]
    lines += [f"  row {row} " + "".join(f"{chunk:>4} " for chunk in _row(tile, row)) for row in range(_ROWS)]
    lines.append(f"  every {_ROWS} rows ({_ROWS * tile.box_row_bytes} bytes) the same; {extent(tile)}")
    return "\n".join(line.rstrip() for line in lines)


def describe(tile: SharedTile) -> str:
    """Return the element type, the shape and the swizzle of a tile: `bf16 128 (MN) x 64 (K), swizzle 128B`."""
    names = ("MN", "K") if tile.major == "K" else ("K", "MN")
    swizzle = "no swizzle" if tile.swizzle is None else f"swizzle {tile.swizzle}"
    return f"{tile.dtype} {tile.shape[0]} ({names[0]}) x {tile.shape[1]} ({names[1]}), {swizzle}"


def _row(tile: SharedTile, row: int) -> list[int]:
    """Return the indices of a row's 16-byte chunks in memory order; applying a swizzle twice undoes it."""
    chunks = range(tile.box_row_bytes // _CHUNK)
    if tile.swizzle is None:
        return list(chunks)
    swizzle, start = SWIZZLES[tile.swizzle], row * tile.box_row_bytes
    return [(swizzle.apply(start + chunk * _CHUNK) - start) // _CHUNK for chunk in chunks]


def extent(tile: SharedTile) -> str:
    """Return the number and size of a tile's TMA boxes, and the distance between them."""
    width = tile.box_row_bytes
    whole, rest = divmod(tile.shape[1] * tile.dtype.bits, width * 8)
    panels = f"{whole} TMA box{'es' if whole != 1 else ''} of {tile.shape[0]} x {width} bytes"
    return f"{panels}, {tile.box_bytes} bytes apart" + (f", with {rest // 8} extra bytes in each row" if rest else "")
