"""Approximate IEEE operations, within the manual's error bounds (9.7.3); callers canonicalize NaN results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.numerics.nan import F64_HIGH_NAN
from pyptx_sim.numerics.rounding import F64
from pyptx_sim.numerics.single import reciprocal

if TYPE_CHECKING:
    from pyptx_sim.operation import Array

_QUOTIENT_LIMIT = np.float32(2.0**126)
_HIGH_WORD = np.uint64(0xFFFFFFFF00000000)
_F64_NORMAL = 2.0**-1022


def rsqrt(a: Array) -> Array:
    """Return `1 / sqrt(a)`; the relative error of two roundings is below 2^-23 (the manual's bound: 2^-22.9)."""
    return reciprocal(np.sqrt(a))


def divide(a: Array, b: Array) -> Array:
    """Return `a / b` as `div.approx` does: a finite |b| above 2^126 gives zero, or NaN if a is infinite."""
    quotient = a / b
    size = np.abs(b)
    beyond = (size > _QUOTIENT_LIMIT) & (size < np.inf)
    if not beyond.any():
        return quotient
    return np.where(beyond, a * np.copysign(np.float32(0), b), quotient)


def _high_word(function: np.ufunc | None, a: Array) -> Array:
    """Return `1 / function(a)`, reading and writing only the upper 32 bits of float64; subnormals are flushed."""
    source = _flushed((a.view(np.uint64) & _HIGH_WORD).view(F64))
    result = _flushed(reciprocal(function(source) if function else source))
    bits = result.view(np.uint64) & _HIGH_WORD
    return np.where(np.isnan(result), np.uint64(F64_HIGH_NAN), bits).view(F64)


def _flushed(values: Array) -> Array:
    return np.where(np.abs(values) < _F64_NORMAL, np.copysign(0.0, values), values)


def reciprocal_high(a: Array) -> Array:
    """Return `1 / a` as `rcp.approx.ftz.f64` does, with 20 bits of mantissa."""
    return _high_word(None, a)


def rsqrt_high(a: Array) -> Array:
    """Return `1 / sqrt(a)` as `rsqrt.approx.ftz.f64` does, with 20 bits of mantissa."""
    return _high_word(np.sqrt, a)
