"""Correctly rounded transcendental functions of float32, with the same result bits for every math library.

The last bits of NumPy's float64 functions depend on the CPU and the C library. These bits do not change the float32
result unless the float64 result is near the midpoint of two float32 numbers. Such results, about one in ten million,
are computed again in decimal arithmetic.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.numerics.directed import patched
from pyptx_sim.numerics.rounding import F32, F64
from pyptx_sim.numerics.subnormals import has_subnormal

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.operation import Array

_DIGITS: Final = 120
"""Digits of decimal arithmetic: 39 for the integral part of the largest float32, the rest for its sine."""
_UNITS: Final = 32
"""Maximum distance from a midpoint that counts as near, in ulp of float64; NumPy's functions err by at most 4 ulp."""
_RELATIVE: Final = _UNITS * 2.0**-52
_TAIL: Final = 35  # left shift that moves the 29 bits of a float64 that float32 drops to the top of the 64-bit word
_BELOW: Final = np.uint64((1 << 63) - (_UNITS << _TAIL))
_WIDTH: Final = np.uint64(2 * _UNITS << _TAIL)


def correctly_rounded(
    function: np.ufunc, exact: Callable[[float], Decimal], *, normal_above: float = math.inf
) -> Callable[[Array], Array]:
    """Return a float32 function that rounds the float64 result of `function`; near a midpoint, the result of `exact`.

    `normal_above`: for arguments above it, results are known to be normal numbers.
    """

    def settled(x: float) -> float:
        return _to_odd(exact(x))

    def compute(a: Array) -> Array:
        wide = np.asarray(function(a.astype(F64)))
        result = wide.astype(F32)
        # `tails` reuses `wide`: allocating a large temporary array takes longer than `function`
        tails = wide.view(np.uint64)
        tails <<= np.uint64(_TAIL)
        tails -= _BELOW
        if np.minimum.reduce(tails, axis=None) > _WIDTH and (
            np.minimum.reduce(a, axis=None) > normal_above or not has_subnormal(result)
        ):
            return result
        wide = np.asarray(function(a.astype(F64)))
        low, high = ((wide * (1 + error)).astype(F32) for error in (-_RELATIVE, _RELATIVE))
        return patched(result, (low != high) & ~np.isnan(wide), settled, a)

    return compute


def _to_odd(value: Decimal) -> float:
    """Return the value rounded to odd as float64, so that a further rounding to float32 is correct."""
    near = float(value)
    error = value - Decimal(near)
    if error == 0 or int(np.float64(near).view(np.int64)) & 1:
        return near
    return math.nextafter(near, math.inf if error > 0 else -math.inf)


# --- decimal arithmetic ---------------------------------------------------------------------------


def _precise(function: Callable[[Decimal], Decimal]) -> Callable[[float], Decimal]:
    def compute(x: float) -> Decimal:
        with localcontext(Context(prec=_DIGITS)):
            return function(Decimal(x))

    return compute


def _exp2(x: Decimal) -> Decimal:
    if x == x.to_integral_value():  # exactly: 2^-150 is the midpoint of 0 and the least float32
        return Decimal(math.ldexp(1.0, int(x)))
    return (x * Decimal(2).ln()).exp()


def _log2(x: Decimal) -> Decimal:
    return x.ln() / Decimal(2).ln()


def _tanh(x: Decimal) -> Decimal:
    power = (2 * x).exp()
    return (power - 1) / (power + 1)


def _sin(x: Decimal) -> Decimal:
    """Return the sine by its series, after reducing x modulo 2 pi."""
    x %= 2 * _pi()
    term = total = x
    for n in range(1, _DIGITS):
        term *= -x * x / (2 * n * (2 * n + 1))
        total += term
    return total


def _cos(x: Decimal) -> Decimal:
    return _sin(x + _pi() / 2)


@cache
def _pi() -> Decimal:
    """Return pi by Machin's formula."""
    return 4 * (4 * _arctan(5) - _arctan(239))


def _arctan(inverse: int) -> Decimal:
    """Return the arctangent of `1 / inverse` by its series."""
    power, total = Decimal(1) / inverse, Decimal(0)
    for n in range(_DIGITS):
        total += power / (2 * n + 1) * (-1) ** n
        power /= inverse * inverse
    return total


exp2 = correctly_rounded(np.exp2, _precise(_exp2), normal_above=-126.0)
log2 = correctly_rounded(np.log2, _precise(_log2), normal_above=-math.inf)
tanh = correctly_rounded(np.tanh, _precise(_tanh))
sin = correctly_rounded(np.sin, _precise(_sin))
cos = correctly_rounded(np.cos, _precise(_cos))
