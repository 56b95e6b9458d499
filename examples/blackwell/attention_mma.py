"""MMAs of attention on Blackwell: operand A in shared or in tensor memory, B in shared memory, D in tensor memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx import ptx
from pyptx.types import bf16, f32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx.reg import Reg
    from pyptx.smem import SharedTile
    from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory

ROWS = 128  # rows (M) of an MMA, one per lane of tensor memory


def multiply(d: TensorMemory, a: Reg, a_layout: SharedTile, b: Reg, b_layout: SharedTile) -> None:
    """Start the MMAs of d = A · Bᵀ; A and B are descriptors of tiles that are contiguous along the head dimension."""
    for k in range(0, a_layout.k, a_layout.k_step):
        ptx.tcgen05.mma(
            d,
            a,
            b,
            shape=(ROWS, b_layout.mn),
            dtype_d=f32,
            dtype_a=bf16,
            dtype_b=bf16,
            a_k_offset=a_layout.offset(k=k),
            b_k_offset=b_layout.offset(k=k),
            accumulate=k > 0,
        )


def accumulate(
    d: TensorMemory, parts: Sequence[TensorMemory], b: Reg, b_layout: SharedTile, *, more: Reg | bool
) -> None:
    """Start the MMAs of d += W · B, or of d = W · B unless `more`; B is MN-major.

    W is in tensor memory, two bf16 per column, in `parts` of equal numbers of columns.
    """
    each = b_layout.k // len(parts)
    for k in range(0, b_layout.k, b_layout.k_step):
        part, column = divmod(k, each)
        ptx.tcgen05.mma(
            d,
            parts[part][:, column // 2 : (column + b_layout.k_step) // 2],
            b,
            shape=(ROWS, b_layout.mn),
            dtype_d=f32,
            dtype_a=bf16,
            dtype_b=bf16,
            trans_b=1,
            b_k_offset=b_layout.offset(k=k),
            accumulate=more if k == 0 else True,
        )
