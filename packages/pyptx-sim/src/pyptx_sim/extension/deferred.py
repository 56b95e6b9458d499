"""Register fragments, kept as whole matrices until asynchronous operations complete (`Wave.deferred`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Distribution"]


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """Distribution of a matrix of `size` elements of `bits` bits over the 32-bit registers of several warps.

    `elements[register, thread, i]` is the index in the matrix of element i of the thread's register.
    """

    elements: NDArray[np.int64]
    size: int
    bits: int
