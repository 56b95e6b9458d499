"""Epilogue of the GEMMs in this folder: read accumulators from tensor memory after the last `tcgen05.mma`.

An accumulator of 128 rows takes all 128 lanes of tensor memory, and one column of f32 for each column of the tile. Each
CTA of a pair has its 128 rows in its own tensor memory. A warp can access 32 of the lanes, selected by its index modulo
4. Four warps therefore read a tile, and each of their threads has one row.
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

CHUNK = 32  # accumulator columns that a thread loads at once
VECTOR = 8  # bf16 elements per 16-byte store; N is a multiple of 8, so a store is in bounds as a whole or not at all


def chunks(t: TensorMemory, warp: Reg, columns: int = CHUNK) -> Iterator[tuple[int, RegArray]]:
    """Load `columns` columns at a time; yield the first column and a thread's accumulators, in the same registers.

    `warp` is the index of the warp; `warp` % 4 selects its rows. Emits a load and a wait for each yield, after two
    address instructions. All 32 threads execute it, ordered after the MMAs.
    """
    acc, mine = reg.array(b32, columns), t.quarter(warp)
    for first in range(0, t.columns, columns):
        ptx.tcgen05.ld(acc, mine[:, first : first + columns], shape="32x32b", count=columns)
        ptx.tcgen05.wait_ld()
        yield first, acc


def store(t: TensorMemory, c, warp: Reg, row: Reg, column: Reg) -> None:
    """Round the accumulators in `t` to bf16, and store each thread's row within the bounds of C, 16 bytes at a time.

    The number of columns of C is a multiple of 8, and C is aligned to 16 bytes. `row` is the thread's row, `column` the
    first column of the tile.
    """
    M, N = c.shape
    (pc,) = ptx.global_ptrs(c)
    start, pairs = pc + (row * N + column) * 2, reg.array(b32, CHUNK // 2)
    for first, acc in chunks(t, warp):
        round_pairs(pairs, acc)
        for i in range(0, CHUNK, VECTOR):
            inside = (row < M) & (column + first + i < N)
            ptx.st(b32, ptx.addr(start, (first + i) * 2), pairs[i // 2 : (i + VECTOR) // 2], pred=inside)
