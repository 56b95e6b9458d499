"""Drawing of a SharedTile: its 16-byte chunks in the banks of shared memory, and the wavefronts of its accesses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_dsl.shared_memory.pictures import describe, extent
from pyptx_ir.banks import BANKS, WORD, bank_conflicts
from pyptx_ir.drawing import LETTER, cell, label, svg

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_dsl.shared_memory.tiles import SharedTile
    from pyptx_ir.drawing import Drawing, Markup

_CHUNK: Final = 16  # bytes; a swizzle permutes chunks of this size
_ROWS: Final = 8  # rows after which a swizzle repeats
_LINE: Final = BANKS * WORD
_CELL, _HEIGHT, _MARGIN = 80.0, 21.0, 10.0
_GUTTER: Final = _MARGIN + 10 * LETTER


def draw_svg(tile: SharedTile) -> Drawing:
    """Return the SVG of the first 8 rows of a SharedTile's first TMA box: a line per 128 bytes, a cell per 16 bytes.

    Cells of one color are in one column of the tile. Below are the wavefronts of 8 lanes that access 16 bytes each, in
    a column and in a row of the tile.
    """
    held = {tile.byte_offset(row, column): (row, column) for row in range(_ROWS) for column in _chunks(tile)}
    lines = -(-len(held) * _CHUNK // _LINE)
    notes = [f"r3 {_span(tile, 0)}: columns {_span(tile, 0)} of row 3; {extent(tile)}", *_accesses(tile)]
    parts = [label(_MARGIN, _HEIGHT, describe(tile), class_="title"), *_heads()]
    parts += [_cell(tile, offset, row, column) for offset, (row, column) in sorted(held.items())]
    for line in range(lines):
        parts.append(label(_GUTTER - 8, (line + 3.7) * _HEIGHT, f"byte {line * _LINE}", anchor="end", class_="faint"))
    y = (lines + 4.2) * _HEIGHT
    parts += [label(_MARGIN, y + number * _HEIGHT, text) for number, text in enumerate(notes)]
    widest = max(_GUTTER + _LINE // _CHUNK * _CELL, *(len(text) * LETTER for text in notes))
    return svg(widest + 2 * _MARGIN, y + len(notes) * _HEIGHT, *parts)


def _chunks(tile: SharedTile) -> range:
    """Return the first column of each 16-byte chunk in a row of the first TMA box."""
    return range(0, tile.box_columns, _CHUNK * 8 // tile.dtype.bits)


def _span(tile: SharedTile, column: int) -> str:
    return f"{column}-{column + _CHUNK * 8 // tile.dtype.bits - 1}"


def _heads() -> Iterator[Markup]:
    for place in range(_LINE // _CHUNK):
        first = place * _CHUNK // WORD
        x = _GUTTER + (place + 0.5) * _CELL
        yield label(x, 2.4 * _HEIGHT, f"banks {first}-{first + 3}", anchor="middle", class_="faint")


def _cell(tile: SharedTile, offset: int, row: int, column: int) -> Markup:
    line, place = divmod(offset, _LINE)
    x, y = _GUTTER + place // _CHUNK * _CELL, (line + 3) * _HEIGHT
    tip = f"row {row}, columns {_span(tile, column)}: bytes {offset}-{offset + _CHUNK - 1}"
    hue = column * tile.dtype.bits / 8 / tile.box_row_bytes * 360
    return cell(x, y, _CELL, _HEIGHT, f"r{row} {_span(tile, column)}", hue=hue, tip=tip)


def _accesses(tile: SharedTile) -> Iterator[str]:
    """Yield the wavefronts of 16-byte accesses to a column, as of ldmatrix, and to a row."""
    column = bank_conflicts([tile.byte_offset(row, 0) for row in range(_ROWS)], _CHUNK)
    plain = bank_conflicts([row * tile.row_bytes for row in range(_ROWS)], _CHUNK)
    row = bank_conflicts([tile.byte_offset(0, column) for column in _chunks(tile)], _CHUNK)
    yield (
        f"wavefronts of a column of 8 rows x 16 bytes (ldmatrix): {column.wavefronts}; "
        f"row-major without a swizzle: {plain.wavefronts}"
    )
    yield f"wavefronts of a row of {tile.box_row_bytes} bytes: {row.wavefronts}"
