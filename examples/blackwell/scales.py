"""Memory layout of scale factors, shared by quantizers, block-scaled GEMMs and references.

In a row of K elements, each block of 16 or 32 has a scale factor of one byte. `tcgen05.cp` copies the scale factors of
128 rows, four of each row, as 512 bytes: 32 lines of 16. The four of row r are a word, number r // 32 of line r % 32.

    line  0: row 0, row 32, row 64, row 96        four bytes each: the scale factors of four blocks along K
    line  1: row 1, row 33, row 65, row 97
    ...
    line 31: row 31, row 63, row 95, row 127

`tcgen05.cp` copies each line to one lane of tensor memory and each word to one column. A matrix has 512 such bytes for
every 128 rows and every four blocks of K; bytes of the same rows are contiguous. The array has `extent(rows, blocks)`
times 128 words. Scale factors past the edges of the matrix are zeros, because NaN times zero is NaN. cuBLAS documents
the same layout ("1D Block Scaling Factors Layout").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pyptx import Tile
from pyptx.types import b32

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx.reg import Reg

Index = TypeVar("Index", int, "Reg", "NDArray[np.int64]")

ROWS = 128  # rows of a matrix whose scale factors share a 512-byte group
WORD = 4  # adjacent scale factors of a row in one 32-bit word, one byte each
WORDS = ROWS  # 32-bit words in a 512-byte group of scale factors: one per row
BYTES = WORDS * WORD


def extent(rows: int, blocks: int) -> tuple[int, int]:
    """Return the numbers of 512-byte groups of a matrix's scale factors: per 128 rows, and per four blocks along K."""
    return -(-rows // ROWS), -(-blocks // WORD)


def tile(rows: str, words: str, box: tuple[int, int] = (1, 1)) -> Tile:
    """Return the Tile of a matrix's scale factors; its TMA box has `box` groups of 128 rows and of four blocks."""
    return Tile(rows, words, WORDS, b32, tma_box=(*box, WORDS), tma_promotion="256B")


def offset(row: Index, block: Index, words: int) -> Index:
    """Return the byte offset of the scale factor of block `block` of a row; a row has `words` words of four."""
    line, column = row & 31, (row >> 5) & 3
    return ((row >> 7) * words + (block >> 2)) * BYTES + line * 16 + column * WORD + (block & 3)


def rows_of(scales: np.ndarray, rows: int, blocks: int) -> np.ndarray:
    """Return the scale factors (bytes) as a NumPy matrix [rows, blocks], one element per block of a row."""
    row, block = np.indices((rows, blocks))
    return np.ascontiguousarray(scales).view(np.uint8).reshape(-1)[offset(row, block, scales.shape[1])]
