"""Fused multiply-add with one rounding."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.numerics.directed import patched, perturbed
from pyptx_sim.numerics.exact import fma_exact
from pyptx_sim.numerics.rounding import (
    F32,
    F64,
    FACTOR_LIMIT,
    I64,
    PRODUCT_LEAST,
    product_error,
    sum_error,
    sum_to_odd,
    zero_sign,
)
from pyptx_sim.numerics.subnormals import has_subnormal

if TYPE_CHECKING:
    from pyptx_sim.operation import Array

_HALFWAY = np.iinfo(np.int64).min
_F32_TAIL = 35  # left shift that moves the 29 bits of a float64 that float32 drops to the top of the 64-bit word

_ADDEND_LIMIT = 2.0**1000


def fma_f32(a: Array, b: Array, c: Array) -> Array:
    """Return `a * b + c` in float32, rounded to nearest once.

    The product is exact in float64. Rounding its float64 sum with `c` again is wrong only if that sum is half-way
    between two floats, or is subnormal in float32. In these cases the sum is recomputed in float64 with rounding to
    odd.
    """
    product = a.astype(F64)
    product = product * b.astype(F64)
    addend = c.astype(F64)
    total = product + addend
    result = total.astype(F32)
    if np.minimum.reduce(total.view(I64) << _F32_TAIL, axis=None) == _HALFWAY or has_subnormal(result):
        return sum_to_odd(product, addend).astype(F32)
    return result


def fma_f64(a: Array, b: Array, c: Array, mode: str = "rn") -> Array:
    """Return `a * b + c` in float64, rounded once in direction `mode`; extreme exponents use exact integers."""
    a, b, c = np.broadcast_arrays(a, b, c)
    product = a * b
    error = product_error(a, b, product)
    low_sum = c + error
    tail = sum_error(c, error, low_sum)
    high_sum = product + low_sum
    high_tail = sum_error(product, low_sum, high_sum)
    rest = sum_to_odd(tail, high_tail)
    result = high_sum + rest
    # A zero in `rest` is positive, so a zero result takes its sign from `product + c` instead.
    result = np.where(result == 0, product + c, result)
    if mode != "rn":
        result = zero_sign(perturbed(result, sum_error(high_sum, rest, result), mode), product, c, mode)
    return _repaired(result, a, b, c, mode)


def _repaired(result: Array, a: Array, b: Array, c: Array, mode: str) -> Array:
    """Recompute the elements of `result` whose operands exceed the exponent range of Dekker's product."""
    size_a, size_b, size_c = np.abs(a), np.abs(b), np.abs(c)
    product = size_a * size_b
    fits = (size_a <= FACTOR_LIMIT) & (size_b <= FACTOR_LIMIT) & (size_c <= _ADDEND_LIMIT)
    fits &= (product >= PRODUCT_LEAST) | (size_a == 0) | (size_b == 0)
    if fits.all():
        return result
    finite = np.isfinite(product) | (np.isfinite(size_a) & np.isfinite(size_b))
    special = ~(finite & np.isfinite(size_c))
    # If a and b are finite and c is infinite, the result is c, even if `a * b` overflows.
    result = np.where(special, np.where(finite, c, a * b + c), result)
    return patched(result, ~(fits | special), partial(fma_exact, mode=mode), a, b, c)


def multiply_f64(a: Array, b: Array, mode: str) -> Array:
    """Return `a * b` in float64, rounded in direction `mode`: an FMA with a zero of the product's sign."""
    return fma_f64(a, b, np.copysign(0.0, a * b), mode)
