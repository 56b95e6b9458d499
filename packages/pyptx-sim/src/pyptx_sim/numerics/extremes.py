"""Minimum and maximum of floats in the manual's order: -0 is less than +0; NaN is ignored or propagated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.numerics.nan import has_nan

if TYPE_CHECKING:
    from pyptx_sim.operation import Array


@dataclass(frozen=True, slots=True)
class Extreme:
    """Float minimum or maximum, callable with two or three arrays of one float dtype.

    `nan`: a NaN input gives NaN. `magnitude`: compare absolute values. `xorsign`: the result's sign is the exclusive or
    of the signs of two inputs. Callers canonicalize NaN results.
    """

    largest: bool
    nan: bool = False
    magnitude: bool = False
    xorsign: bool = False

    def __call__(self, a: Array, b: Array, *third: Array) -> Array:
        """Return the elementwise minimum or maximum of two or three arrays."""
        inputs = tuple(np.abs(source) for source in (a, b, *third)) if self.magnitude else (a, b, *third)
        result = self._pair(inputs[0], inputs[1])
        for source in inputs[2:]:
            result = self._pair(result, source)
        return np.copysign(result, _sign_product(a, b)) if self.xorsign else result

    def _pair(self, a: Array, b: Array) -> Array:
        result = np.maximum(a, b) if self.largest else np.minimum(a, b)
        if not self.nan and has_nan(result):
            # np.fmin is not used: whether it returns a signaling NaN depends on the C library.
            result = np.where(np.isnan(a), b, np.where(np.isnan(b), a, result))
        same = a == b
        if not np.count_nonzero(same):
            return result
        # Equal numbers have equal bits except zeros, for which the sign bits determine the result.
        bits = np.dtype(f"<u{a.dtype.itemsize}")
        merge = np.bitwise_and if self.largest else np.bitwise_or
        return np.where(same, merge(a.view(bits), b.view(bits)), result.view(bits)).view(a.dtype)


def _sign_product(a: Array, b: Array) -> Array:
    """Return floats whose sign bit is the exclusive or of the sign bits of `a` and `b`; other bits are arbitrary."""
    bits = np.dtype(f"<u{a.dtype.itemsize}")
    result: Array = (a.view(bits) ^ b.view(bits)).view(a.dtype)
    return result
