"""float32 arithmetic in every rounding mode; callers canonicalize NaN results.

Rounding to nearest is NumPy's. The directed modes use float64, in which products are exact and sums are rounded to odd.
A float64 quotient or root of float32 numbers is never so close to a float32 number that its rounding could hide the
direction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pyptx_sim.numerics.fused import fma_f32
from pyptx_sim.numerics.rounding import F64, sum_to_odd, to_f32, zero_sign
from pyptx_sim.numerics.subnormals import flushed, reaches_least_normal
from pyptx_sim.operation import Array

Core: TypeAlias = Callable[..., Array]


def reciprocal(a: Array) -> Array:
    """Return `1 / a` rounded to nearest."""
    result: Array = a.dtype.type(1) / a
    return result


def _sum(a: Array, b: Array, mode: str) -> Array:
    return zero_sign(sum_to_odd(a, b), a, b, mode)


def _difference(a: Array, b: Array, mode: str) -> Array:
    return _sum(a, -b, mode)


def _product(a: Array, b: Array, _mode: str) -> Array:
    result: Array = a * b
    return result


def _fused(a: Array, b: Array, c: Array, mode: str) -> Array:
    return _sum(a * b, c, mode)


def _quotient(a: Array, b: Array, _mode: str) -> Array:
    result: Array = a / b
    return result


def _inverse(a: Array, _mode: str) -> Array:
    return reciprocal(a)


def _root(a: Array, _mode: str) -> Array:
    return np.sqrt(a)


_NEAREST: dict[str, Core] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "fma": fma_f32,
    "div": np.divide,
    "rcp": reciprocal,
    "sqrt": np.sqrt,
}

# Float64 functions of widened float32 inputs, accurate enough to be rounded to float32 in any direction.
_EXACT: dict[str, Core] = {
    "add": _sum,
    "sub": _difference,
    "mul": _product,
    "fma": _fused,
    "div": _quotient,
    "rcp": _inverse,
    "sqrt": _root,
}


def _wide(sources: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(source.astype(F64) for source in sources)


def single(operation: str, mode: str) -> Core:
    """Return the float32 function of `operation` in rounding `mode`."""
    if mode == "rn":
        return _NEAREST[operation]
    exact = _EXACT[operation]
    return lambda *sources: to_f32(exact(*_wide(sources), mode), mode)


# Factor by which results near the least normal float32 are scaled before rounding, which then gives no subnormals.
_SCALE = 2.0**60
_SCALED_NORMAL = np.float32(2.0**-66)


def single_flushed(operation: str, mode: str) -> Core:
    """Return the float32 function of `operation` that flushes subnormal inputs and results to zero.

    A result is flushed if rounding with unbounded exponents gives a subnormal number, as in the constant folding of
    ptxas: 2^-126 - 2^-150 is flushed, although it would be rounded up to the least normal number.
    """
    core, exact = single(operation, mode), _EXACT[operation]

    def compute(*sources: Array) -> Array:
        inputs = tuple(map(flushed, sources))
        result = core(*inputs)
        if not reaches_least_normal(result):
            return result
        value = exact(*_wide(inputs), mode)
        tiny = np.abs(to_f32(value * _SCALE, mode)) < _SCALED_NORMAL
        return np.where(tiny, np.copysign(np.float32(0), value.astype(np.float32)), result)

    return compute
