"""Round f32 accumulators to packed bf16 pairs, to be stored or to be operand A of the next MMA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx import ptx
from pyptx.types import bf16x2, f32

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx.reg import Reg, RegArray


def round_pairs(pairs: Iterable[Reg], values: RegArray | Sequence[Reg]) -> None:
    """Round f32 to bf16x2, `values[2 * i]` in the lower half and `values[2 * i + 1]` in the upper: one `cvt` per pair.

    Rounded accumulators of an MMA have the register layout of operand A.
    """
    for i, pair in enumerate(pairs):
        ptx.cvt(bf16x2, f32, pair, values[2 * i + 1], values[2 * i], rounding="rn")
