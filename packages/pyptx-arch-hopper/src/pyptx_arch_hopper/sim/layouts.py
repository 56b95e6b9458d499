"""Swizzles of matrices in shared memory, as layouts on which tensor copies and MMAs must agree.

A swizzle permutes chunks of a row. The tensor map defines the swizzle for a copy, the descriptor for an MMA. If the two
swizzles differ, the MMA reads the elements in the wrong order. Manual: "Swizzling Modes", "Canonical Layouts".
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from pyptx_sim.extension import AccessLayout
from pyptx_sim.extension.shared_matrices import ROW_BYTES

_ROWS: Final = {
    "none": 1,
    "32B": 2,
    "64B": 4,
    "128B": 8,
    "128B_atom_32B": 4,
    "128B_atom_32B_flip_8B": 4,
    "128B_atom_64B": 2,
}
"""Number of rows of each swizzle pattern."""


def swizzle(mode: str, user: str, start: int, base: int = 0) -> AccessLayout:
    """Return the layout of a tensor map swizzle mode, such as "128B_atom_32B"; `user` is the opcode that uses it.

    `start` is the address of the box or matrix in shared memory. `base` is the 128-byte row of addresses at which the
    pattern starts; a tensor copy starts it at a multiple of 1024 bytes, row 0, wherever its box starts.
    """
    rows = _ROWS[mode]
    return _layout(mode, user, start // ROW_BYTES % rows, base % rows)


@lru_cache(maxsize=128)
def _layout(mode: str, user: str, row: int, base: int) -> AccessLayout:
    width, _, atom = mode.partition("_atom_")
    name = "no swizzle" if width == "none" else f"{width} swizzle"
    if atom:
        name += f" with {atom.replace('_', ' ')} atoms"
    return AccessLayout(name=name, mismatch="wgmma-descriptor", user=user, row=row, base=base)
