"""Sums on their way out of tensor memory: what the products of this folder do alike behind the last `tcgen05.mma`.

An accumulator of 128 rows lies in 128 lanes, a column of f32 to each column of the tile; of a pair of blocks, each has
its 128 rows in its own tensor memory. A warp reaches 32 of the lanes, those of its place among four, so that four warps
read a tile, and each of their threads has a row of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.rounding import round_pairs

from pyptx import ptx, reg
from pyptx.types import b32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx.reg import Reg, RegArray
    from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory

CHUNK = 32  # columns that a thread holds at once
VECTOR = 8  # elements of bf16 to a store of 16 bytes: rows of multiples of 8 have all of them, or none


def chunks(t: TensorMemory, warp: Reg, columns: int = CHUNK) -> Iterator[tuple[int, RegArray]]:
    """Yield the first column, and the sums of a thread's row from there on, so many at a time, in the same registers.

    `warp` is the number of the warp, whose place among four says which rows it has. Emits a load and a wait for each
    chunk, behind two instructions. All 32 threads execute it, ordered behind the products.
    """
    sums, mine = reg.array(b32, columns), t.quarter(warp)
    for first in range(0, t.columns, columns):
        ptx.tcgen05.ld(sums, mine[:, first : first + columns], shape="32x32b", count=columns)
        ptx.tcgen05.wait_ld()
        yield first, sums


def store(t: TensorMemory, c, warp: Reg, row: Reg, column: Reg) -> None:
    """Round the sums in `t` to bf16, and write those of a thread's row that lie inside of C, 16 bytes at a time.

    C has rows of a multiple of 8 columns, and begins at a multiple of 16 bytes. `row` is the thread's own, `column` the
    first of the tile.
    """
    M, N = c.shape
    (pc,) = ptx.global_ptrs(c)
    start, pairs = pc + (row * N + column) * 2, reg.array(b32, CHUNK // 2)
    for first, sums in chunks(t, warp):
        round_pairs(pairs, sums)
        for i in range(0, CHUNK, VECTOR):
            inside = (row < M) & (column + first + i < N)
            ptx.st(b32, ptx.addr(start, (first + i) * 2), pairs[i // 2 : (i + VECTOR) // 2], pred=inside)
