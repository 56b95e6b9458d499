"""Large tables of which most stays zero."""

from __future__ import annotations

import math
import mmap
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# From here on NumPy asks for pages of 2 MiB, which Linux clears as a whole at the first touch of any byte.
_LARGE: Final = 1 << 22


def zeros(shape: int | tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    """Return zeros as `numpy.zeros` does; of a large table only those small pages cost memory that are touched."""
    size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * np.dtype(dtype).itemsize
    if size < _LARGE:
        return np.zeros(shape, dtype)
    pages = mmap.mmap(-1, size)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, dtype).reshape(shape)
