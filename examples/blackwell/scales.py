"""Where the scales of a matrix lie in memory: one layout for quantisers, products and references.

Of a row of K elements, each block of 16 or 32 has a scale, a byte. `tcgen05.cp` takes the scales of 128 rows, four of
each row, as 512 bytes: 32 lines of 16. Row r's four are a word, the r // 32-th of line r % 32.

    line  0: row 0, row 32, row 64, row 96        four bytes each: the scales of four blocks along K
    line  1: row 1, row 33, row 65, row 97
    ...
    line 31: row 31, row 63, row 95, row 127

So it comes to the tensor cores: a line to each lane of tensor memory, a row's word to one column. A matrix has such 512
bytes for every 128 rows and every four blocks of K, those of the same rows one behind the other: an array of
`extent(rows, blocks)` times 128 words. What is there beyond its edges are zeros, for a NaN times zero is a NaN.
cuBLAS documents the same layout ("1D Block Scaling Factors Layout").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pyptx import Tile
from pyptx.types import b32

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx.reg import Reg

Place = TypeVar("Place", int, "Reg", "NDArray[np.int64]")

ROWS = 128  # whose scales lie together
WORD = 4  # scales of a row that lie together, a byte each
WORDS = ROWS  # one to each of these rows
BYTES = WORDS * WORD


def extent(rows: int, blocks: int) -> tuple[int, int]:
    """Return how many times 128 rows, and how many times four blocks of K, a matrix has."""
    return -(-rows // ROWS), -(-blocks // WORD)


def tile(rows: str, words: str, box: tuple[int, int] = (1, 1)) -> Tile:
    """Return the Tile of the scales of a matrix; a copy brings those of `box` times 128 rows and four blocks."""
    return Tile(rows, words, WORDS, b32, tma_box=(*box, WORDS), tma_promotion="256B")


def offset(row: Place, block: Place, words: int) -> Place:
    """Return at which byte the scale of a block of a row lies, in an array with `words` words of each row."""
    line, column = row & 31, (row >> 5) & 3
    return ((row >> 7) * words + (block >> 2)) * BYTES + line * 16 + column * WORD + (block & 3)


def rows_of(scales: np.ndarray, rows: int, blocks: int) -> np.ndarray:
    """Return the scales, bytes, as a matrix: those of each row side by side."""
    row, block = np.indices((rows, blocks))
    return np.ascontiguousarray(scales).view(np.uint8).reshape(-1)[offset(row, block, scales.shape[1])]
