"""Directed rounding of float64 results: round to nearest, compute the sign of the error, adjust by one ulp."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.numerics.exact import divide_exact, fma_exact, sqrt_exact
from pyptx_sim.numerics.rounding import FACTOR_LIMIT, PRODUCT_LEAST, product_error, sum_error, zero_sign

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.operation import Array


def perturbed(result: Array, error: Array, mode: str) -> Array:
    """Return `result`, or the adjacent float64 toward the exact value `result + error` if `mode` requires it."""
    down, up = error < 0, error > 0
    if mode == "rz":
        return np.where(((result > 0) & down) | ((result < 0) & up), np.nextafter(result, 0.0), result)
    if mode == "rm":
        return np.where(down, np.nextafter(result, -np.inf), result)
    return np.where(up, np.nextafter(result, np.inf), result)


def patched(result: Array, where: Array, function: Callable[..., float], *sources: Array) -> Array:
    """Return `result` with the elements selected by `where` recomputed one at a time: `function` of the `sources`."""
    if not where.any():
        return result
    result = result.copy()
    whole = [np.broadcast_to(source, result.shape) for source in sources]
    for place in np.argwhere(where):
        index = tuple(place)
        result[index] = function(*(float(source[index]) for source in whole))
    return result


def add_f64(a: Array, b: Array, mode: str) -> Array:
    """Return `a + b` rounded in direction `mode`."""
    total = a + b
    result = zero_sign(perturbed(total, sum_error(a, b, total), mode), a, b, mode)
    overflow = ~np.isfinite(total) & np.isfinite(a) & np.isfinite(b)
    return patched(result, overflow, partial(fma_exact, mode=mode), a, np.ones_like(a), b)


def divide_f64(a: Array, b: Array, mode: str) -> Array:
    """Return `a / b` rounded in direction `mode`."""
    quotient = a / b
    product = quotient * b
    residue = (a - product) - product_error(quotient, b, product)
    result = perturbed(quotient, np.where(b < 0, -residue, residue), mode)
    size_a, size_b, size_q = np.abs(a), np.abs(b), np.abs(quotient)
    plain = ~np.isfinite(size_a) | ~np.isfinite(size_b) | (size_a == 0) | (size_b == 0)
    fits = (size_b <= FACTOR_LIMIT) & (size_q <= FACTOR_LIMIT) & (size_a >= PRODUCT_LEAST) & (size_q >= PRODUCT_LEAST)
    result = np.where(plain, quotient, result)
    return patched(result, ~(plain | fits), partial(divide_exact, mode=mode), a, b)


def sqrt_f64(a: Array, mode: str) -> Array:
    """Return the square root of `a` rounded in direction `mode`."""
    root = np.sqrt(a)
    square = root * root
    result = perturbed(root, (a - square) - product_error(root, root, square), mode)
    plain = ~(np.isfinite(a) & (a > 0))
    fits = (root <= FACTOR_LIMIT) & (a >= PRODUCT_LEAST)
    return patched(np.where(plain, root, result), ~(plain | fits), partial(sqrt_exact, mode=mode), a)
