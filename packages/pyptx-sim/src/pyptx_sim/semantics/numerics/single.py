"""float32 arithmetic in every rounding mode; NaN results are not canonical yet.

Rounding to nearest is NumPy's own. The directed modes go through float64, where products are exact, sums are rounded to
odd, and a quotient or root of floats is never so near to a float that its own rounding could hide on which side it lies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pyptx_sim.operation import Array
from pyptx_sim.semantics.numerics.fused import fma_f32, fma_f32_directed
from pyptx_sim.semantics.numerics.rounding import F64, sum_to_odd, to_f32, zero_sign

Core: TypeAlias = Callable[..., Array]


def _add(a: Array, b: Array, mode: str) -> Array:
    left, right = a.astype(F64), b.astype(F64)
    return to_f32(zero_sign(sum_to_odd(left, right), left, right, mode), mode)


def _subtract(a: Array, b: Array, mode: str) -> Array:
    return _add(a, -b, mode)


def _multiply(a: Array, b: Array, mode: str) -> Array:
    return to_f32(a.astype(F64) * b.astype(F64), mode)


def _divide(a: Array, b: Array, mode: str) -> Array:
    return to_f32(a.astype(F64) / b.astype(F64), mode)


def _reciprocal(a: Array, mode: str) -> Array:
    return to_f32(1.0 / a.astype(F64), mode)


def _root(a: Array, mode: str) -> Array:
    return to_f32(np.sqrt(a.astype(F64)), mode)


def reciprocal(a: Array) -> Array:
    """Return `1 / a` rounded to nearest."""
    return a.dtype.type(1) / a


# Operation -> (rounded to nearest, rounded in a direction).
_CORES: dict[str, tuple[Core, Core]] = {
    "add": (np.add, _add),
    "sub": (np.subtract, _subtract),
    "mul": (np.multiply, _multiply),
    "fma": (fma_f32, fma_f32_directed),
    "mad": (fma_f32, fma_f32_directed),
    "div": (np.divide, _divide),
    "rcp": (reciprocal, _reciprocal),
    "sqrt": (np.sqrt, _root),
}


def single(operation: str, mode: str) -> Core:
    """Return the float32 function of `operation` in rounding `mode` (empty: to nearest)."""
    nearest, directed = _CORES[operation]
    if mode in {"", "rn"}:
        return nearest
    return lambda *sources: directed(*sources, mode)
