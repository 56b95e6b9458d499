"""Rows of tensor memory that move down by one: `tcgen05.shift`, and `.ashift` of products.

Manual: "tcgen05.shift": the elements of 32 bytes of all rows but the last move. That the last row keeps what it has is
what the shape, 31x256b for each warp's lanes, says; which way is down is not confirmed by hardware here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_arch_blackwell.sim.tensor_memory import Words

__all__ = ["shifted"]


def shifted(words: Words) -> Words:
    """Return rows, `[n, rows, columns]`, each with what the next one holds; the last one stays."""
    found = words.copy()
    found[:, :-1] = words[:, 1:]
    return found
