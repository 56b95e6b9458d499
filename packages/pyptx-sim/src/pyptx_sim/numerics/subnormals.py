"""Flushing of subnormal numbers to zeros of the same sign. Manual: "Floating Point Instructions", `.ftz`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pyptx_sim.operation import Array

_SIGN = np.uint32(0x80000000)
_EXPONENT = np.uint32(0x7F800000)
_ONE = np.uint32(1)
_SMALLEST_NORMAL = 0x00FFFFFF  # `_least` of the least normal float32, 0x00800000: 2 * 0x00800000 - 1

_HALF_SIGN = np.uint16(0x8000)
_HALF_EXPONENT = np.uint16(0x7C00)


def has_subnormal(values: Array) -> bool:
    """Return whether any element of the float32 array is subnormal."""
    return bool(_least(values) < _SMALLEST_NORMAL)


def reaches_least_normal(values: Array) -> bool:
    """Return whether any element of the float32 array is subnormal or the least normal number, so a flush may apply."""
    return bool(_least(values) <= _SMALLEST_NORMAL)


def _least(values: Array) -> np.uint32:
    """Return `2 * bits - 1` for the least nonzero magnitude (its float32 bits); 0xffffffff if all values are zeros."""
    bits = values.view(np.uint32) << _ONE
    bits -= _ONE
    least: np.uint32 = np.minimum.reduce(bits, axis=None)
    return least


def flushed(values: Array) -> Array:
    """Return the float32 array with subnormals replaced by zeros of the same sign; the array itself if it has none."""
    if not has_subnormal(values):
        return values
    bits = values.view(np.uint32)
    return np.where(bits & _EXPONENT, bits, bits & _SIGN).view(np.float32)


def flushed_half(values: Array) -> Array:
    """Return the float16 array with subnormals replaced by zeros of the same sign."""
    bits = values.view(np.uint16)
    return np.where(bits & _HALF_EXPONENT, bits, bits & _HALF_SIGN).view(np.float16)
