"""Swizzles of matrices in shared memory, as layouts on which tensor copies and MMAs must agree.

Manual: "Shared Memory Layout and Swizzling".
"""

from __future__ import annotations

from functools import lru_cache

from pyptx_sim.extension import AccessLayout
from pyptx_sim.extension.shared_matrices import CHUNK

__all__ = ["swizzle"]


@lru_cache(maxsize=16)
def swizzle(width: int, atom: int, user: str) -> AccessLayout:
    """Return the layout of a swizzle of `atom`-byte units in `width`-byte rows, as instruction `user` applies it."""
    name = "no swizzle" if width == CHUNK else f"{width}B swizzle"
    if atom != CHUNK:
        name += f" with {atom}B atoms"
    return AccessLayout(name=name, mismatch="tcgen05-descriptor", user=user)
