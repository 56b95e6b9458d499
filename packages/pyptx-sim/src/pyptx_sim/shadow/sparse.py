"""Large arrays of zeros that use memory only for the pages that are written."""

from __future__ import annotations

import math
import mmap
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_sim.mapping import private

if TYPE_CHECKING:
    from numpy.typing import NDArray

# From this size in bytes on, a mapping costs less than zeroing memory that the C library has kept (`heap.py`); from
# 4 MiB on, NumPy uses pages of 2 MiB, which Linux zeros as a whole at the first access to a byte.
_LARGE: Final = 1 << 20


def zeros(shape: int | tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    """Return zeros like `numpy.zeros`; a large array uses memory only for its accessed 4 KiB pages."""
    size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * np.dtype(dtype).itemsize
    if size < _LARGE:
        return np.zeros(shape, dtype)
    pages = private(size)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, dtype).reshape(shape)
