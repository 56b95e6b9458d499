"""Windows of the state spaces in the generic address space.

Each window except the global one is 4 GiB wide; the upper 32 bits of a generic address identify its window. Addresses
of the global space are generic addresses, as on hardware; shared, local and const addresses are relative to their
window. A 32-bit shared address has the rank of its CTA in the cluster in the top byte, so every `shared::cta` address
is a valid `shared::cluster` address. Manual: "State Spaces", "Generic Addressing", "mapa".
"""

from __future__ import annotations

from typing import Final

SHARED_WINDOW: Final = 1 << 32
LOCAL_WINDOW: Final = 2 << 32
CONST_WINDOW: Final = 3 << 32
PARAM_WINDOW: Final = 4 << 32
CODE_WINDOW: Final = 5 << 32
# Lower than all addresses at which Linux on x86-64 maps memory by default, so host arrays are in the global window.
GLOBAL_WINDOW: Final = 0x7E00_0000_0000

WINDOWS: Final = {
    "shared": SHARED_WINDOW,
    "local": LOCAL_WINDOW,
    "const": CONST_WINDOW,
    "param": PARAM_WINDOW,
    "code": CODE_WINDOW,
    "global": GLOBAL_WINDOW,
}


# CUDA reserves the first KiB of shared memory on sm_90 and later, so no user variable has address 0.
SHARED_BASE: Final = 0x400
RANK_SHIFT: Final = 24

# The first bytes of the const and the local window stay unused, so no variable has address 0.
FIRST_OFFSET: Final = 0x100

# Distance in bytes between the addresses of consecutive functions: one machine instruction.
CODE_STRIDE: Final = 16


def generic_address(space: str, offset: int) -> int:
    """Return the generic address of the byte at `offset` in the window of `space`."""
    return WINDOWS[space] + offset


def memory_name(space: str) -> str:
    """Return the name of the memory of a space, for messages: `shared memory`, or the name of an extension's space."""
    return f"{space} memory" if space in WINDOWS else space


def space_of(address: int) -> str | None:
    """Return the state space whose window contains a generic `address`; None outside all windows."""
    if address >= GLOBAL_WINDOW:
        return "global"
    for space in ("shared", "local", "const", "param", "code"):
        if address >> 32 == WINDOWS[space] >> 32:
            return space
    return None
