"""Swizzles of matrices in shared memory, as layouts on which tensor copies and MMAs must agree.

A swizzle permutes chunks of a row. The tensor map defines the swizzle for a copy, the descriptor for an MMA. If the two
swizzles differ, the MMA reads the elements in the wrong order. Manual: "Swizzling Modes", "Canonical Layouts".
"""

from __future__ import annotations

from functools import lru_cache

from pyptx_sim.extension import AccessLayout


@lru_cache(maxsize=32)
def swizzle(mode: str, user: str) -> AccessLayout:
    """Return the layout of a tensor map swizzle mode, such as "128B_atom_32B"; `user` is the opcode that uses it."""
    width, _, atom = mode.partition("_atom_")
    name = "no swizzle" if width == "none" else f"{width} swizzle"
    if atom:
        name += f" with {atom.replace('_', ' ')} atoms"
    return AccessLayout(name=name, mismatch="wgmma-descriptor", user=user)
