"""Sums in f32 on their way to memory, or to be the factor of another product: two to a register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx import ptx
from pyptx.types import bf16x2, f32

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx.reg import Reg, RegArray


def round_pairs(pairs: Iterable[Reg], values: RegArray | Sequence[Reg]) -> None:
    """Round f32 to bf16, two neighbours to a register, the lower one in the lower half: one instruction a pair.

    Sums of a product lie then as its first factor would.
    """
    for i, pair in enumerate(pairs):
        ptx.cvt(bf16x2, f32, pair, values[2 * i + 1], values[2 * i], rounding="rn")
