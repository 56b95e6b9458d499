"""Stochastic rounding by given random bits. Manual: cvt (9.7.9.21), "Random bits semantics"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.numerics.rounding import F64, I64, overflowed, scales_of_units

if TYPE_CHECKING:
    from pyptx_sim.numerics.rounding import Precision
    from pyptx_sim.operation import Array


def rounded_by(values: Array, precision: Precision, random: Array, count: int) -> Array:
    """Return float32 `values` rounded stochastically to `precision`, by `count` random bits per value, as float64.

    The random bits are added to the `count` highest bits that rounding discards. If the addition carries, the value is
    rounded away from zero, otherwise toward zero. Overflow gives an infinity.
    """
    wide = values.astype(F64)
    down, up = scales_of_units(wide, precision)
    units = np.abs(wide) * down
    kept = np.floor(units)
    discarded = np.where(np.isfinite(units), np.ldexp(units - kept, count), 0).astype(I64)
    carries = (discarded + random.astype(I64)) >> count
    return overflowed(np.copysign((kept + carries) * up, wide), wide, precision.greatest, "rs")
