"""Register fragments that the simulator keeps as whole matrices until operations complete (`Wave.deferred`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Distribution"]


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """Mapping of a matrix of `size` elements of `bits` bits to the 32-bit registers of several warps.

    `elements[register, thread, i]` is the index of element i of a register.
    """

    elements: NDArray[np.int64]
    size: int
    bits: int
