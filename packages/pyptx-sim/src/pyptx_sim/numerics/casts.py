"""Conversions between integers and floats, with the manual's clamping. Manual: cvt (9.7.9.21)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.numerics.directed import perturbed
from pyptx_sim.numerics.formats import HALVES
from pyptx_sim.numerics.nan import F32_NAN, canonical
from pyptx_sim.numerics.rounding import F32, F64, PRECISIONS, rounded, sum_error, sum_to_odd, to_f32

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.operation import Array
    from pyptx_sim.types import DType

INTEGRAL: dict[str, Callable[[Array], Array]] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def clamped(values: Array, target: DType) -> Array:
    """Return integers clamped to the range of `target`."""
    source, limits = np.iinfo(values.dtype), np.iinfo(target)
    low, high = max(source.min, limits.min), min(source.max, limits.max)
    return np.clip(values, values.dtype.type(low), values.dtype.type(high)).astype(target)


def to_integer(values: Array, target: DType, nan: int) -> Array:
    """Return integral floats as integers clamped to the range of `target`; NaN becomes `nan`."""
    limits = np.iinfo(target)
    inside = (values >= float(limits.min)) & (values < float(limits.max + 1))
    if inside.all():
        return values.astype(target)
    result = np.where(inside, values, values.dtype.type(0)).astype(target)
    result = np.where(values >= float(limits.max + 1), target.type(limits.max), result)
    result = np.where(values < float(limits.min), target.type(limits.min), result)
    return np.where(np.isnan(values), target.type(nan), result)


def _halves_of(values: Array) -> tuple[Array, Array]:
    """Return two float64 arrays whose exact sum is `values`, an array of 64-bit integers."""
    high = (values >> values.dtype.type(32)).astype(F64) * 2.0**32
    return high, (values & values.dtype.type(0xFFFFFFFF)).astype(F64)


def from_integer(values: Array, target: str, mode: str) -> Array:
    """Return integers as the float type `target` (bits for bf16), rounded in direction `mode`."""
    if mode == "rn" and target in {"f32", "f64"}:
        return values.astype(F32 if target == "f32" else F64)
    if values.dtype.itemsize < 8:
        return from_float(values.astype(F64), target, mode)
    high, low = _halves_of(values)
    if target == "f64":
        total = high + low
        return perturbed(total, sum_error(high, low, total), mode)
    return from_float(sum_to_odd(high, low), target, mode)


def from_float(values: Array, target: str, mode: str) -> Array:
    """Return float32 or float64 `values` as the float type `target` (bits for bf16), rounded in direction `mode`.

    A NaN payload is preserved from float64 to float32; every other NaN becomes canonical.
    """
    if target == "f64":
        return values.astype(F64)
    if target == "f32":
        return canonical(values.copy()) if values.dtype == F32 else to_f32(values, mode)
    half = HALVES[target]
    return half.narrow(values if mode == "rn" else rounded(values.astype(F64), target, mode))


def limited(values: Array, target: str) -> Array:
    """Return `values` clamped to the finite range of `target`; NaN is unchanged."""
    greatest = values.dtype.type(PRECISIONS[target].greatest)
    return np.clip(values, -greatest, greatest)


# tf32 drops the lower 13 bits of an f32.
_TF32_MASK = np.uint32(0xFFFFE000)
_TF32_SHIFT = np.uint32(13)


def to_tf32(values: Array, mode: str) -> Array:
    """Return float32 `values` as tf32 bits; a carry out of the mantissa increments the exponent.

    NaN becomes canonical. With rounding mode `rna`, the NaN payload is truncated instead: GPUs execute `rna` as an
    integer addition and a mask.
    """
    bits = values.view(np.uint32)
    nan = np.isnan(values)
    if mode == "rna":
        return np.where(nan, bits, bits + np.uint32(0x1000)) & _TF32_MASK
    if mode == "rn":
        bits = bits + (((bits >> _TF32_SHIFT) & np.uint32(1)) + np.uint32(0xFFF))
    return np.where(nan, np.uint32(F32_NAN), bits & _TF32_MASK)
