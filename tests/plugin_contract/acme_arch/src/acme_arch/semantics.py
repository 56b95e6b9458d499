"""Semantics of acme.frob on the simulator's arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def frob(a: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the bit-reversed value of each lane plus one, modulo 2^32."""
    result = np.zeros_like(a)
    for bit in range(32):
        result |= ((a >> np.uint32(bit)) & np.uint32(1)) << np.uint32(31 - bit)
    return result + np.uint32(1)
