"""Swizzles of matrices in shared memory, as layouts on which tensor copies and MMAs must agree.

A swizzle permutes 16-byte chunks: the tensor map defines it for a copy, the descriptor for an MMA. If they differ, the
MMA reads the elements in the wrong order. Manual: "Swizzling Modes", "Canonical Layouts".
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from pyptx_sim.extension import Layout

# Not widths: 0 is a swizzle of larger chunks, which only copies have; 16 means that nothing is swizzled.
_NAMES: Final = {0: "a swizzle that no descriptor has", 16: "no swizzle"}


@lru_cache(maxsize=16)
def swizzle(width: int, user: str) -> Layout:
    """Return the layout of `width`-byte rows with permuted chunks; `user` is the kind of instruction that uses it."""
    name = _NAMES.get(width) or f"a swizzle of {width} bytes"
    return Layout(name=name, mismatch="wgmma-descriptor", user=user)
