"""Swizzles of matrices in shared memory, as layouts on which tensor copies and MMAs must agree.

Manual: "Shared Memory Layout and Swizzling".
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pyptx_sim.extension import AccessLayout
from pyptx_sim.extension.shared_matrices import CHUNK, ROW_BYTES

if TYPE_CHECKING:
    from pyptx_sim.extension.shared_matrices import SharedMatrix

__all__ = ["swizzle"]


def swizzle(matrix: SharedMatrix, user: str) -> AccessLayout:
    """Return the layout of a matrix in shared memory, as instruction `user` reads it."""
    rows = matrix.swizzle // matrix.atom
    return _layout(matrix.swizzle, matrix.atom, user, matrix.start // ROW_BYTES % rows, matrix.base % rows)


@lru_cache(maxsize=128)
def _layout(width: int, atom: int, user: str, row: int, base: int) -> AccessLayout:
    name = "no swizzle" if width == CHUNK else f"{width}B swizzle"
    if atom != CHUNK:
        name += f" with {atom}B atoms"
    return AccessLayout(name=name, mismatch="tcgen05-descriptor", user=user, row=row, base=base)
