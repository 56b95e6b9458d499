"""float64 arithmetic in every rounding mode; NaN results have the payload of the first NaN operand, as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pyptx_sim.numerics.directed import add_f64, divide_f64, sqrt_f64
from pyptx_sim.numerics.fused import fma_f64, multiply_f64
from pyptx_sim.numerics.single import reciprocal
from pyptx_sim.operation import Array

Core: TypeAlias = Callable[..., Array]

_ONE = np.float64(1.0)


def _subtract(a: Array, b: Array, mode: str) -> Array:
    return add_f64(a, -b, mode)


def _reciprocal(a: Array, mode: str) -> Array:
    return divide_f64(np.full_like(a, _ONE), a, mode)


# By .f64 operation: function that rounds to nearest; function that rounds in the direction of its last argument.
_CORES: dict[str, tuple[Core, Core]] = {
    "add": (np.add, add_f64),
    "sub": (np.subtract, _subtract),
    "mul": (np.multiply, multiply_f64),
    "fma": (fma_f64, fma_f64),
    "div": (np.divide, divide_f64),
    "rcp": (reciprocal, _reciprocal),
    "sqrt": (np.sqrt, sqrt_f64),
}


def double(operation: str, mode: str) -> Core:
    """Return the float64 function of `operation` in rounding `mode`."""
    nearest, directed = _CORES[operation]
    if mode == "rn":
        return nearest
    return lambda *sources: directed(*sources, mode)
