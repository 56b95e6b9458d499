"""Dot products of MMAs that a target's tensor cores lack; ptxas emulates such MMAs by other MMAs and scalar arithmetic.

The instruction sequences are from the machine code of ptxas 13.0. For sm_90 the results were measured on an H200
(`tests/golden`); the same results are assumed for the other targets.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_ir.plugins.targets import find_target
from pyptx_sim.numerics.dot_products import Sum, exact_float, paired, summing
from pyptx_sim.numerics.tensor_cores import Model, exact_sum, model_of, rounded

if TYPE_CHECKING:
    from pyptx_sim.operation import Array

_QUADS, _WITHOUT_QUADS = "m8n8k4", 80
"""MMA shape of Volta's quarter-warps, and the first target (sm_80) for which ptxas emulates it by scalar code."""

_WITHOUT_FP8 = range(90, 120)
"""Targets that convert 8-bit floats to f16 for `mma`. sm_89 and sm_120 have native instructions (QMMA)."""
_FP8: Final = {"e4m3", "e5m2"}
_WORD, _HALF_WORD = 4, 2  # number of 8-bit elements per 32-bit register, and per conversion to f16x2

_SPLIT, _SPLIT_LENGTH = "m16n16k8", 4
"""Shape of `wmma` with tf32, and the K of each of the two MMAs that execute it."""


def exact_warp_float(types: tuple[str, str, str, str], shape: str, target: str) -> Sum:
    """Return a target's dot product function for a warp's MMA of `shape`; `types`: element types of d, a, b and c."""
    number = find_target(target).number
    if shape == _QUADS and number >= _WITHOUT_QUADS:
        return _by_pairs if types[0] == "f16" else _in_order
    if number in _WITHOUT_FP8 and {types[1], types[2]} <= _FP8:
        return _as_halves(types[0], model_of(target, "f16"))
    if shape == _SPLIT:
        model = model_of(target, types[1])
        return summing(types, replace(model, length=min(model.length, _SPLIT_LENGTH)))
    return exact_float(types, target)


def _in_order(a: Array, b: Array, c: Array) -> Array:
    """Return the dot products by f32 FMAs in the order of k from 0 on, with `c` added last."""
    products = np.multiply(*paired(a, b))  # exact: products of f16 values fit f32
    total = np.zeros_like(c)
    for k in range(products.shape[-1]):
        total = total + products[..., k]
    return rounded(total + c, "f32")


def _by_pairs(a: Array, b: Array, c: Array) -> Array:
    """Return the dot products rounded to f16: in f32, `c` plus the sum of each pair of adjacent products."""
    products = np.multiply(*paired(a, b))
    for k in range(0, products.shape[-1], 2):
        c = c + (products[..., k] + products[..., k + 1])
    return rounded(c, "f16")


def _as_halves(result: str, model: Model) -> Sum:
    """Return the dot product function of 8-bit floats converted to f16, as ptxas emulates it with two f16 MMAs.

    The MMAs add the elements in low halves of registers, then those in high halves; `c` is added last. Each of the
    three sums is rounded to the type of the result.
    """
    types = (result, "f16", "f16", result)

    def total(a: Array, b: Array, c: Array) -> Array:
        left, right = paired(a, b)
        high: Array = np.arange(a.shape[-1]) % _WORD >= _HALF_WORD
        low = exact_sum(left[..., ~high], right[..., ~high], np.zeros_like(c), types, model)
        return rounded(exact_sum(left[..., high], right[..., high], low, types, model) + c, result)

    return total
