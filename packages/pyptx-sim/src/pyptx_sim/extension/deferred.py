"""Matrices in registers, which the simulator keeps as matrices until work has completed (`Wave.deferred`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Distribution"]


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """How a matrix of `size` elements of `bits` bits is dealt out to the registers of some warps, of 32 bits each.

    `elements` is which element lies at each place: `[registers, threads, elements in a register]`.
    """

    elements: NDArray[np.int64]
    size: int
    bits: int
