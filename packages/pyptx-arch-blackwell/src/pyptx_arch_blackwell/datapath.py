"""Layout of accumulators in tensor memory. Manual: "Data Path Layout Organization".

Depending on its shape, an MMA uses all lanes or some, and may store column ranges of D in different lane ranges. All
layouts of the manual, A to G, consist of rectangles: a block of D's rows and columns in a block of lanes and tensor
memory columns. The manual has figures only; their content is taken from CuTe's tensor memory fragments (`tmem_frg`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

__all__ = ["LANES", "PARTITION", "Rectangle", "accumulator"]

LANES: Final = 128
"""Number of lanes of a CTA's tensor memory."""

PARTITION: Final = 32
"""Number of lanes of a lane quarter: warp w of a warpgroup can access lanes 32w to 32w + 31."""

_HALF = 16  # number of lanes used in each 32-lane quarter if a matrix uses half of the 128 lanes


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Submatrix of D: `rows` by `columns` elements from (`row`, `n`) on, in consecutive lanes and columns.

    It is in the tensor memory of CTA `block` of the pair, from `lane` and `column` on, relative to the address of D.
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
    """Return the rectangles of an `m` by `n` accumulator that `blocks` (1 or 2) CTAs compute.

    `sparse`: operand A is sparse; `stationary`: the MMA is weight-stationary (`.ws`). Raise ValueError for an
    unsupported M.
    """
    if stationary and blocks == 1 and m in {32, 64}:  # manual's layouts G and E: lane range i holds column range i of D
        parts = LANES // m
        width = n // parts
        return tuple(Rectangle(0, 0, m, part * width, width, part * m) for part in range(parts))
    rows = m // blocks
    if rows == LANES:  # manual's layouts D and A: each lane holds one row of D
        return tuple(Rectangle(block, block * rows, rows, 0, n, 0) for block in range(blocks))
    if rows == LANES // 2 and not stationary:
        if blocks == 1 or sparse:  # manual's layouts F and C: D uses 16 lanes of each lane quarter
            return tuple(
                Rectangle(block, block * rows + part * _HALF, _HALF, 0, n, part * PARTITION)
                for block in range(blocks)
                for part in range(LANES // PARTITION)
            )
        width = n // 2  # manual's layout B: columns N/2 to N - 1 of D are in lanes 64-127
        return tuple(
            Rectangle(block, block * rows, rows, part * width, width, part * rows)
            for block in range(blocks)
            for part in range(2)
        )
    kind = "weight-stationary MMA" if stationary else "MMA"
    from pyptx_ir.isa.modules.counting import counted

    raise ValueError(f"invalid M = {m} of a {kind} in {counted(blocks, 'CTA')}")
