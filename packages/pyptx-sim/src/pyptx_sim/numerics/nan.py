"""Canonical NaNs. Manual: "Floating Point Instructions": single precision results are 0x7fffffff, half 0x7fff."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pyptx_sim.operation import Array

F32_NAN = 0x7FFFFFFF
F16_NAN = 0x7FFF
# What tensor copies put out of bounds, measured on an H200 (`tests/golden`), and fma.oob looks for; the manual ("Out of
# Boundary Access") gives the special NaN no value.
OUT_OF_BOUNDS = 0x7FF7
F64_HIGH_NAN = 0x7FFFFFFF00000000  # of rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64


def has_nan(values: Array) -> bool:
    """Tell whether any of the floats is NaN; one SIMD pass, since a maximum hands on NaN."""
    greatest = np.maximum.reduce(values, axis=None)
    return bool(greatest != greatest)  # noqa: PLR0124 - the test for NaN


def canonical(values: Array) -> Array:
    """Replace in place every NaN of the float32 array `values`, the caller's own, by the canonical one."""
    if has_nan(values):
        values.view(np.uint32)[np.isnan(values)] = F32_NAN
    return values
