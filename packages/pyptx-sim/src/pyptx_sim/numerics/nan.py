"""Canonical NaNs. Manual: "Floating Point Instructions": single precision results are 0x7fffffff, half 0x7fff."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pyptx_sim.operation import Array

F32_NAN = 0x7FFFFFFF
F16_NAN = 0x7FFF
# Out-of-bounds value of tensor copies, which fma.oob recognizes; measured on an H200 (`tests/golden`). The manual ("Out
# of Boundary Access") does not specify the bits of this NaN.
OUT_OF_BOUNDS = 0x7FF7
F64_HIGH_NAN = 0x7FFFFFFF00000000  # NaN of rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64


def has_nan(values: Array) -> bool:
    """Return whether any of the floats is NaN; one SIMD pass, since a maximum propagates NaN."""
    greatest = np.maximum.reduce(values, axis=None)
    return bool(greatest != greatest)  # noqa: PLR0124 - the test for NaN


def canonical(values: Array) -> Array:
    """Replace every NaN in the float32 array `values` by the canonical NaN, in place; return `values`."""
    if has_nan(values):
        values.view(np.uint32)[np.isnan(values)] = F32_NAN
    return values
