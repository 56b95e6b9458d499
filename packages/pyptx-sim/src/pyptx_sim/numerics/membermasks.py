"""Membermasks: sets of lanes of a warp as the bits of a 32-bit word. Manual: "shfl.sync", "vote.sync"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LANE_BITS: Final = np.uint32(1) << np.arange(32, dtype=np.uint32)


def ballot(truth: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the lanes for which `truth`, bool `[rows, 32]`, holds, as the bits of a uint32 `[rows, 1]`."""
    return np.packbits(truth, axis=1, bitorder="little").view("<u4")
