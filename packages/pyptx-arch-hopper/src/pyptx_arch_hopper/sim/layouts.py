"""Swizzles of matrices in shared memory, as layouts on which tensor copies and MMAs must agree.

A swizzle permutes chunks of a row. The tensor map defines the swizzle for a copy, the descriptor for an MMA. If the two
swizzles differ, the MMA reads the elements in the wrong order. Manual: "Swizzling Modes", "Canonical Layouts".
"""

from __future__ import annotations

from functools import lru_cache

from pyptx_sim.extension import AccessLayout


@lru_cache(maxsize=32)
def swizzle(mode: str, user: str, row: int = 0) -> AccessLayout:
    """Return the layout of a tensor map swizzle mode, such as "128B_atom_32B"; `user` is the opcode that uses it.

    `row` is the 128-byte row of addresses at which the swizzle pattern starts. For tensor copies it is 0, wherever the
    box starts in shared memory.
    """
    width, _, atom = mode.partition("_atom_")
    name = "no swizzle" if width == "none" else f"{width} swizzle"
    if atom:
        name += f" with {atom.replace('_', ' ')} atoms"
    if row:
        name += f" and base offset {row}"
    return AccessLayout(name=name, mismatch="wgmma-descriptor", user=user)
