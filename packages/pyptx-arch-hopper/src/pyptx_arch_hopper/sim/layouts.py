"""Swizzles of matrices in shared memory, as layouts on which tensor copies and products have to agree.

Both say how chunks of 16 bytes are exchanged: the tensor map for a copy, the descriptor for a product. Where they
differ, the product multiplies the right elements in the wrong places. Manual: "Swizzling Modes", "Canonical Layouts".
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from pyptx_sim.extension import Layout

# Widths that are none: 0 stands for exchanges of larger chunks, which copies alone have, 16 for no exchange.
_NAMES: Final = {0: "a swizzle that no descriptor has", 16: "no swizzle"}


@lru_cache(maxsize=16)
def swizzle(width: int, user: str) -> Layout:
    """Return the layout of rows of `width` bytes inside which chunks are exchanged; `user` goes by it."""
    name = _NAMES.get(width) or f"a swizzle of {width} bytes"
    return Layout(name=name, mismatch="matrix-descriptor", user=user)
