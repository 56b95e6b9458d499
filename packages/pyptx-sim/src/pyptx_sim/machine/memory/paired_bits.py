"""Undefined bits of what is 128 bits wide, as words of 64: each bit stands for two that lie side by side.

So they are of one integer type whatever the register, and one undefined bit spoils no more than its neighbour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from pyptx_sim.operation import Array

__all__ = ["apart", "paired"]

# How far the bits of each step move, and which stay where they belong.
_STEPS: Final = tuple(
    (np.uint64(step), np.uint64(mask))
    for step, mask in (
        (1, 0x3333333333333333),
        (2, 0x0F0F0F0F0F0F0F0F),
        (4, 0x00FF00FF00FF00FF),
        (8, 0x0000FFFF0000FFFF),
        (16, 0x00000000FFFFFFFF),
    )
)
_EVEN: Final = np.uint64(0x5555555555555555)
_ONE: Final = np.uint64(1)
_HALF: Final = np.uint64(32)


def paired(low: Array, high: Array) -> Array:
    """Return the undefined bits of a low and of a high half, 64 bits each, as one word."""
    return np.asarray(_closed(low) | (_closed(high) << _HALF))


def apart(bits: Array) -> tuple[Array, Array]:
    """Return the undefined bits of both halves, the low one first."""
    return _opened(bits & _STEPS[-1][1]), _opened(bits >> _HALF)


def _closed(bits: Array) -> Array:
    """Return 32 bits, each set where one of two is."""
    bits = (bits | bits >> _ONE) & _EVEN
    for step, mask in _STEPS:
        bits = (bits | bits >> step) & mask
    return bits


def _opened(bits: Array) -> Array:
    """Return 64 bits, two for each of 32."""
    for (step, _), mask in zip(reversed(_STEPS), (*(each for _, each in reversed(_STEPS[:-1])), _EVEN), strict=True):
        bits = (bits | bits << step) & mask
    return np.asarray(bits | bits << _ONE)
