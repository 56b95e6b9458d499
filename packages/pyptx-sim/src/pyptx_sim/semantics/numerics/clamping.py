"""Saturation of float results. Manual: `.sat` of 9.7.3 and 9.7.4, `.relu` of 9.7.4.4 and 9.7.9.21."""

from __future__ import annotations

import numpy as np

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_sim.operation import Array


def saturated(values: Array) -> Array:
    """Return float `values` clamped to [+0, 1]; NaN becomes +0. Adding zero makes -0 positive."""
    return np.fmin(np.fmax(values, 0.0), 1.0) + values.dtype.type(0)


def rectified(values: Array) -> Array:
    """Return float `values` with everything negative replaced by +0; NaN stays."""
    return np.maximum(values, 0.0) + values.dtype.type(0)
