"""Saturation of float results. Manual: `.sat` of 9.7.3 and 9.7.4, `.relu` of 9.7.4.4 and 9.7.9.21."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.numerics.nan import has_nan

if TYPE_CHECKING:
    from pyptx_sim.operation import Array


def saturated(values: Array) -> Array:
    """Return float `values` clamped to [+0, 1]; NaN becomes +0. Adding zero makes -0 positive."""
    result: Array = np.minimum(np.maximum(values, 0.0), 1.0) + values.dtype.type(0)
    return np.where(np.isnan(result), values.dtype.type(0), result) if has_nan(result) else result


def rectified(values: Array) -> Array:
    """Return float `values` with negative values replaced by +0; NaN is unchanged."""
    result: Array = np.maximum(values, 0.0) + values.dtype.type(0)
    return result
