"""Undefined bits of 128-bit values as 64-bit words: each bit of a word represents two adjacent bits of the value.

The undefined bits of every register thus fit a NumPy integer; a defined bit next to an undefined one counts as
undefined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from pyptx_sim.operation import Array

__all__ = ["apart", "paired"]

# Steps that compact the even bits of a 64-bit word into 32 bits: shift distance, and mask of the bits that remain.
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
    """Return the undefined bits of 128-bit values, given as low and high 64-bit halves, as one 64-bit word each."""
    return np.asarray(_closed(low) | (_closed(high) << _HALF))


def apart(bits: Array) -> tuple[Array, Array]:
    """Return the words of `paired` as the undefined bits of both 64-bit halves, the low half first."""
    return _opened(bits & _STEPS[-1][1]), _opened(bits >> _HALF)


def _closed(bits: Array) -> Array:
    """Return 32 bits for each 64-bit word; bit i is set if bit 2i or bit 2i + 1 of the word is set."""
    bits = (bits | bits >> _ONE) & _EVEN
    for step, mask in _STEPS:
        bits = (bits | bits >> step) & mask
    return bits


def _opened(bits: Array) -> Array:
    """Return 64 bits for each 32-bit word: each bit of the word twice."""
    for (step, _), mask in zip(reversed(_STEPS), (*(each for _, each in reversed(_STEPS[:-1])), _EVEN), strict=True):
        bits = (bits | bits << step) & mask
    return np.asarray(bits | bits << _ONE)
