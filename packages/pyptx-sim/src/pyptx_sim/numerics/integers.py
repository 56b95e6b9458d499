"""Integer arithmetic that NumPy lacks: high halves, truncated division, bit positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pyptx_sim.operation import Array
    from pyptx_sim.types import DType

_U64_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_DOUBLE: dict[str, DType] = {
    "i2": np.dtype(np.int32),
    "u2": np.dtype(np.uint32),
    "i4": np.dtype(np.int64),
    "u4": np.dtype(np.uint64),
}


def double_width(dtype: DType) -> DType:
    """Return the integer dtype of twice the size of `dtype`."""
    return _DOUBLE[dtype.str[1:]]


def multiply_high_u64(a: Array, b: Array) -> Array:
    """Return the high 64 bits of products of uint64 arrays, from four products of 32-bit halves."""
    a_low, a_high, b_low, b_high = a & _U64_LOW, a >> _32, b & _U64_LOW, b >> _32
    middle = a_high * b_low + ((a_low * b_low) >> _32)
    other = a_low * b_high + (middle & _U64_LOW)
    result: Array = a_high * b_high + (middle >> _32) + (other >> _32)
    return result


def multiply_high_s64(a: Array, b: Array) -> Array:
    """Return the high 64 bits of products of int64 arrays: the unsigned result with a correction for the signs."""
    high = multiply_high_u64(a.view(np.uint64), b.view(np.uint64)).view(np.int64)
    result: Array = high - ((a >> 63) & b) - ((b >> 63) & a)
    return result


def multiply_high(a: Array, b: Array) -> Array:
    """Return the upper half of the double-width product, in the dtype of the operands."""
    if a.dtype.itemsize == 8:
        return multiply_high_u64(a, b) if a.dtype.kind == "u" else multiply_high_s64(a, b)
    wide = double_width(a.dtype)
    result: Array = ((a.astype(wide) * b.astype(wide)) >> (8 * a.dtype.itemsize)).astype(a.dtype)
    return result


def divide(a: Array, b: Array) -> Array:
    """Return the quotient truncated toward zero; all ones if the divisor is zero."""
    zero = b == 0
    if zero.any():
        return np.where(zero, ~a.dtype.type(0), divide(a, np.where(zero, a.dtype.type(1), b)))
    if a.dtype.kind == "u":
        return np.asarray(a // b)
    if a.dtype.itemsize < 8:
        # Exact: a quotient of 32-bit integers is an integer, or at least 2^-31 away from one.
        return np.asarray(np.true_divide(a, b, dtype=np.float64).astype(np.int64).astype(a.dtype))
    size = _magnitude(a) // _magnitude(b)
    return np.where((a ^ b) < 0, -size.view(np.int64), size.view(np.int64))


def _magnitude(values: Array) -> Array:
    return np.where(values < 0, -values, values).view(np.uint64)


def remainder(a: Array, b: Array) -> Array:
    """Return the remainder of truncated division, with the sign of `a`; all ones if the divisor is zero."""
    result: Array = a - divide(a, b) * b
    zero = b == 0
    return np.where(zero, ~a.dtype.type(0), result) if zero.any() else result


def top_bit(values: Array) -> Array:
    """Return the position of the highest set bit of each unsigned integer as int64; -1 for zero.

    Clearing every bit below another set bit keeps the highest one, and prevents rounding to float64 from changing it.
    """
    sparse = values & ~(values >> values.dtype.type(1))
    exponent = (sparse.astype(np.float64).view(np.int64) >> 52) - 1023
    result: Array = np.maximum(exponent, -1)
    return result


def count_ones(values: Array) -> Array:
    """Return the number of set bits of each unsigned 32-bit or 64-bit integer as uint32."""
    if hasattr(np, "bitwise_count"):  # `np.bitwise_count` exists since NumPy 2.0
        return np.bitwise_count(values).astype(np.uint32)
    kind = values.dtype.type
    every = kind((1 << (8 * values.dtype.itemsize)) - 1)
    count = values - ((values >> kind(1)) & (every // kind(3)))
    count = (count & (every // kind(5))) + ((count >> kind(2)) & (every // kind(5)))
    count = (count + (count >> kind(4))) & (every // kind(17))
    result: Array = ((count * (every // kind(255))) >> kind(8 * values.dtype.itemsize - 8)).astype(np.uint32)
    return result
