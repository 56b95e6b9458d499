"""Where the elements of an accumulator lie in tensor memory. Manual: "Data Path Layout Organization".

Depending on its shape, a product uses all lanes of the memory or some, and puts parts of the columns below each other.
All of the manual's layouts, A to G, are made of rectangles: rows by columns of the matrix, lanes by columns of the
memory. The figures are pictures; what they show is what CuTe's fragments of tensor memory (`tmem_frg`) say.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

__all__ = ["LANES", "PARTITION", "Rectangle", "accumulator"]

LANES: Final = 128
"""Lanes of a block's tensor memory."""

PARTITION: Final = 32
"""Lanes that a warp reaches: those from 32 times its number in its warpgroup on."""

_HALF = 16  # lanes of a partition that a matrix uses which leaves half of the memory's lanes to another one


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Rows and columns of a matrix that lie together: those from (`row`, `n`) on, `rows` by `columns` of them.

    They lie in the memory of block number `block` of the pair, from `lane` and from `column` on, both relative to the
    address of the matrix.
    """

    block: int
    row: int
    rows: int
    n: int
    columns: int
    lane: int
    column: int = 0


@lru_cache(maxsize=256)
def accumulator(
    m: int, n: int, *, blocks: int = 1, sparse: bool = False, stationary: bool = False
) -> tuple[Rectangle, ...]:
    """Return the rectangles of a matrix of `m` by `n`, that `blocks` (1 or 2) blocks compute.

    `sparse`: the first factor is; `stationary`: the product is a weight-stationary one (`.ws`).
    Raise ValueError for an M that no such product has.
    """
    if stationary and blocks == 1 and m in {32, 64}:  # layouts G and E: the columns in parts below each other
        parts = LANES // m
        width = n // parts
        return tuple(Rectangle(0, 0, m, part * width, width, part * m) for part in range(parts))
    rows = m // blocks
    if rows == LANES:  # layouts D and A
        return tuple(Rectangle(block, block * rows, rows, 0, n, 0) for block in range(blocks))
    if rows == LANES // 2 and not stationary:
        if blocks == 1 or sparse:  # layouts F and C: 16 lanes of each partition
            return tuple(
                Rectangle(block, block * rows + part * _HALF, _HALF, 0, n, part * PARTITION)
                for block in range(blocks)
                for part in range(LANES // PARTITION)
            )
        width = n // 2  # layout B: half of the columns below the other one
        return tuple(
            Rectangle(block, block * rows, rows, part * width, width, part * rows)
            for block in range(blocks)
            for part in range(2)
        )
    kind = "weight-stationary product" if stationary else "product"
    raise ValueError(f"no {kind} of {blocks} block{'s' * (blocks > 1)} has M = {m}")
