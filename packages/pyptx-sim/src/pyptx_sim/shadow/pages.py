"""Pages of 1 KiB of an arena that have been accessed, for a fast test of accesses to kilobytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.observer import Offsets

PAGE_BITS: Final = 10
PAGE: Final = 1 << PAGE_BITS
"""Size of a page in bytes."""


class Pages:
    """Set of the pages of an arena with at least one recorded access."""

    def __init__(self, size: int) -> None:
        """Start with an arena of `size` bytes without accesses."""
        # One page more than the arena has is never accessed, so that every range of accessed pages ends before it.
        self._touched: NDArray[np.bool_] = np.zeros((size >> PAGE_BITS) + 2, np.bool_)
        self._fresh = True

    def clear(self) -> None:
        """Forget all accesses."""
        self._touched[:] = False
        self._fresh = True

    def mark(self, at: NDArray[np.int64], granule: int) -> None:
        """Record accesses to the granules (aligned pieces of `granule` bytes) with the numbers `at`."""
        self._touched[at >> PAGE_BITS + 1 - granule.bit_length()] = True
        self._fresh = False

    def misses(self, offsets: Offsets, size: int) -> bool:
        """Return True if none of the 1 KiB pages of `size` bytes at each of `offsets` has been accessed.

        False: other bytes of such a page, or these bytes, have been accessed.
        """
        if self._fresh:
            return True
        first, last = offsets >> PAGE_BITS, offsets + (size - 1) >> PAGE_BITS
        if size <= PAGE:
            return not (self._touched.take(first).any() or self._touched.take(last).any())
        bounds = np.stack([first, last + 1], axis=1).reshape(-1)
        return not np.logical_or.reduceat(self._touched, bounds)[::2].any()
