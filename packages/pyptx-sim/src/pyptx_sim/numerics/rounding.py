"""Exact sums, and rounding of float64 values to narrower formats in every mode.

Rounding to odd (an inexact result gets an odd last bit) preserves the information for a later rounding to a format with
at least two bits less, so no double rounding occurs. Boldo, Melquiond: "Emulation of FMA and correctly rounded sums:
proved algorithms using rounding to odd".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.operation import Array

F32, F64, I32, I64 = np.float32, np.float64, np.int32, np.int64

# Range in which Dekker's product neither overflows nor underflows.
FACTOR_LIMIT = 2.0**500
PRODUCT_LEAST = 2.0**-900
_SPLITTER = 134217729.0  # 2^27 + 1: splits a float64 significand into two halves (Veltkamp)


def sum_error(a: Array, b: Array, total: Array) -> Array:
    """Return `a + b - total` exactly, for `total = a + b` rounded to nearest (Knuth); NaN if `total` overflowed."""
    b_part = total - a
    result: Array = (a - (total - b_part)) + (b - b_part)
    return result


def product_error(a: Array, b: Array, product: Array) -> Array:
    """Return `a * b - product` exactly (Dekker), for float64 factors below 2^500 and products above 2^-900 or zero."""
    spread_a, spread_b = a * _SPLITTER, b * _SPLITTER
    a_high, b_high = spread_a - (spread_a - a), spread_b - (spread_b - b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _towards(values: Array, error: Array, bits_type: type[np.signedinteger]) -> Array:
    """Return `values`, moved one ulp toward the exact `values + error` if the last bit is even and `error` not 0."""
    bits = values.view(bits_type)
    even = (bits & bits_type(1)) == 0
    above, below = error > 0, error < 0
    step = np.where(above == (values > 0), bits_type(1), bits_type(-1))
    return np.where((above | below) & even, bits + step, bits).view(values.dtype)


def sum_to_odd(a: Array, b: Array) -> Array:
    """Return `a + b` in float64, rounded to odd."""
    total = a + b
    return _towards(total, sum_error(a, b, total), I64)


def narrowed_to_odd(values: Array) -> Array:
    """Return float64 `values` (exact, or rounded to odd) rounded to odd as float32."""
    near = values.astype(F32)
    return _towards(near, values - near.astype(F64), I32)


@dataclass(frozen=True, slots=True)
class Precision:
    """Parameters of a float format: significant bits, exponent of the smallest subnormal, greatest finite value."""

    bits: int
    least: int
    greatest: float


PRECISIONS: dict[str, Precision] = {
    "f16": Precision(11, -24, 65504.0),
    "bf16": Precision(8, -133, float.fromhex("0x1.fep127")),
    "tf32": Precision(11, -136, float.fromhex("0x1.ffcp127")),
    "f32": Precision(24, -149, float.fromhex("0x1.fffffep127")),
}


_INTEGRAL: dict[str, Callable[[Array], Array]] = {
    "rn": np.rint,
    "rz": np.trunc,
    "rm": np.floor,
    "rp": np.ceil,
}


def rounded(values: Array, target: str, mode: str) -> Array:
    """Return float64 `values` (exact, or rounded to odd) rounded to the precision of `target`, still as float64.

    Overflow gives an infinity or the greatest finite value, according to `mode`.
    """
    precision = PRECISIONS[target]
    down, up = scales_of_units(values, precision)
    result = _INTEGRAL[mode](values * down) * up
    return overflowed(result, values, precision.greatest, mode)


def scales_of_units(values: Array, precision: Precision) -> tuple[Array, Array]:
    """Return two factors per value: from float64 `values` to units in the last place of a format, and back."""
    exponent = ((values.view(I64) >> 52) & 0x7FF) - 1023
    unit = np.maximum(exponent - (precision.bits - 1), precision.least)
    return ((1023 - unit) << 52).view(F64), ((1023 + unit) << 52).view(F64)


def overflowed(result: Array, values: Array, greatest: float, mode: str) -> Array:
    """Replace results above `greatest` by `greatest` or infinity, as `mode` requires, unless the value is infinite."""
    over = (np.abs(result) > greatest) & np.isfinite(values)
    if not over.any():
        return result
    bound = np.float64(greatest)
    limits = {
        "rz": np.copysign(bound, result),
        "rm": np.where(result > 0, bound, -np.inf),
        "rp": np.where(result > 0, np.inf, -bound),
    }
    return np.where(over, limits.get(mode, np.copysign(np.inf, result)), result)


def to_f32(values: Array, mode: str) -> Array:
    """Return float64 `values` (exact, or rounded to odd) as float32, rounded in direction `mode`."""
    return values.astype(F32) if mode == "rn" else rounded(values, "f32", mode).astype(F32)


def zero_sign(total: Array, a: Array, b: Array, mode: str) -> Array:
    """Return `total`, the sum of `a` and `b`; if `mode` is `rm`, zeros from operands of opposite sign become negative.

    IEEE 754-2019, 6.3.
    """
    if mode != "rm":
        return total
    return np.where((total == 0) & (np.signbit(a) != np.signbit(b)), -0.0, total)
