"""Where the state spaces lie among generic addresses.

Each window but the global one is 4 GiB wide, so that the upper 32 bits of a generic address name it. Addresses of the
global space are generic addresses themselves, as on hardware; those of shared, local and const count from the start of
their window. A 32-bit shared address holds the rank of its CTA within the cluster in the top byte, which makes every
`shared::cta` address a valid `shared::cluster` one. Manual: "State Spaces", "Generic Addressing", "mapa".
"""

from __future__ import annotations

from typing import Final

SHARED_WINDOW: Final = 1 << 32
LOCAL_WINDOW: Final = 2 << 32
CONST_WINDOW: Final = 3 << 32
PARAM_WINDOW: Final = 4 << 32
CODE_WINDOW: Final = 5 << 32
# Below all that a process of Linux on x86-64 maps by itself: so memory of the host can stand at these very addresses.
GLOBAL_WINDOW: Final = 0x7E00_0000_0000

WINDOWS: Final = {
    "shared": SHARED_WINDOW,
    "local": LOCAL_WINDOW,
    "const": CONST_WINDOW,
    "param": PARAM_WINDOW,
    "code": CODE_WINDOW,
    "global": GLOBAL_WINDOW,
}

# CUDA reserves the first KiB of shared memory on sm_90 and later; so no user variable has the address 0.
SHARED_BASE: Final = 0x400
RANK_SHIFT: Final = 24

# The first bytes of the const and the local window stay unused, for the same reason.
FIRST_OFFSET: Final = 0x100

# Function addresses count in steps of an instruction bundle.
CODE_STRIDE: Final = 16


def generic_address(space: str, offset: int) -> int:
    """Return the generic address of `offset` in `space`."""
    return WINDOWS[space] + offset


def space_of(address: int) -> str | None:
    """Return the space in whose window a generic `address` lies."""
    if address >= GLOBAL_WINDOW:
        return "global"
    for space in ("shared", "local", "const", "param", "code"):
        if address >> 32 == WINDOWS[space] >> 32:
            return space
    return None
