"""Arrays whose addresses are not aligned for wide copies."""

from __future__ import annotations

from typing import Any

import numpy as np


def misplaced(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a copy of an array that starts one element past a multiple of 16 bytes."""
    room = np.empty(array.size + 16, array.dtype)
    start = -room.ctypes.data % 16 // array.itemsize + 1
    copy = room[start : start + array.size].reshape(array.shape)
    copy[...] = array
    return copy
