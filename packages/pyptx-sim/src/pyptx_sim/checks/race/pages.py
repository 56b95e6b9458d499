"""Which pages of a memory somebody has touched: what works on kilobytes at once looks there first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.observer import Offsets

PAGE_BITS: Final = 10
PAGE: Final = 1 << PAGE_BITS
"""Bytes of a page."""


class Pages:
    """The pages of a memory that somebody has touched."""

    def __init__(self, size: int) -> None:
        """Begin with memory of so many bytes that nobody has touched."""
        self._touched: NDArray[np.bool_] = np.zeros((size >> PAGE_BITS) + 2, np.bool_)  # the last page only ends ranges
        self._fresh = True

    def clear(self) -> None:
        """Forget who has touched what."""
        self._touched[:] = False
        self._fresh = True

    def mark(self, at: NDArray[np.int64], granule: int) -> None:
        """Note that granules, of so many bytes, are touched."""
        self._touched[at >> PAGE_BITS + 1 - granule.bit_length()] = True
        self._fresh = False

    def misses(self, offsets: Offsets, size: int) -> bool:
        """Tell at a glance that nobody has touched any of `size` bytes at each of some offsets; False says nothing."""
        if self._fresh:
            return True
        first, last = offsets >> PAGE_BITS, offsets + (size - 1) >> PAGE_BITS
        if size <= PAGE:
            return not (self._touched.take(first).any() or self._touched.take(last).any())
        bounds = np.stack([first, last + 1], axis=1).reshape(-1)
        return not np.logical_or.reduceat(self._touched, bounds)[::2].any()
