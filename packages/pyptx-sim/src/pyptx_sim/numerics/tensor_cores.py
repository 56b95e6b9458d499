"""Bit-exact tensor core arithmetic: dot products with truncated alignment to the largest exponent.

The products of several adjacent elements and the addend are aligned to the largest exponent among them, truncated to a
fixed number of bits below that exponent, and added exactly. The sum is rounded: toward zero to f32, to nearest to f16.
Longer dot products continue with this result as the addend of the next elements. The model and its parameters were
measured in arXiv 2511.10909 and 2512.07004. The parameters of sm_90 and of warpgroups give every bit of an H200 and an
H100 (`tests/golden`); the other parameters are unverified.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_ir.plugins.targets import find_target
from pyptx_sim.numerics.formats import HALVES
from pyptx_sim.numerics.nan import canonical

if TYPE_CHECKING:
    from pyptx_sim.operation import Array

_F64 = np.float64


@dataclass(frozen=True, slots=True)
class Core:
    """Tensor cores of targets from sm_`since` on: they add the products of `bytes` bytes of a row of A at once.

    Terms are truncated to `fraction` bits below the largest exponent.
    """

    since: int
    fraction: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Model:
    """Summation model of one kind of MMA: `length` products are added at once; the sum has `mantissa` fraction bits.

    Terms are truncated to `fraction` bits below the largest exponent. With scale factors and `group` > 1, the products
    of `group` adjacent elements are added exactly and then scaled; the alignment depends on the exponents of the scale
    factors only.
    """

    fraction: int
    length: int
    mantissa: int = 23
    group: int = 1


_CORES: Final = (Core(0, 23, 8), Core(75, 24, 16), Core(90, 25, 32))
# Ada accumulates 8-bit floats with 14 bits of significand, including the implicit bit.
_ADA, _ADA_FP8 = 89, Model(13, 16, 13)
# Hopper's warpgroup MMA of 8-bit floats also has 14 bits of significand, and adds all of K = 32 at once.
_WARPGROUP_FP8 = Model(13, 32, 13)
_BYTES: Final = {"f16": 2, "bf16": 2, "tf32": 4, **dict.fromkeys(("e4m3", "e5m2", "e3m2", "e2m3", "e2m1"), 1)}
_SCALED_LENGTH: Final = 128  # number of products that a block-scaled MMA adds at once: its maximum K
_SCALED_FOUR_BITS: Final = Model(35, _SCALED_LENGTH, group=16)
# By format: exponent of the smallest normal number, with which subnormal operands and addends are aligned.
_LEAST: Final = {
    **dict.fromkeys(("bf16", "tf32", "f32"), -126),
    **dict.fromkeys(("f16", "e5m2"), -14),
    "e4m3": -6,
    "e3m2": -2,
    **dict.fromkeys(("e2m3", "e2m1", "b4"), 0),
}
_ZERO: Final = -126
_F32_BITS = 23
_F32_END = 2.0**128


def model_of(target: str, element: str, *, warpgroup: bool = False) -> Model:
    """Return the summation `Model` of a target (`sm_90a`) for MMAs with `element` operands, by warp or warpgroup."""
    if warpgroup and _BYTES[element] == 1:
        return _WARPGROUP_FP8
    number = find_target(target).number
    if number == _ADA and _BYTES[element] == 1:
        return _ADA_FP8
    core = max((core for core in _CORES if core.since <= number), key=lambda core: core.since)
    return Model(core.fraction, core.bytes // _BYTES[element])


def model_of_scaled(element: str) -> Model:
    """Return the summation `Model` of block-scaled MMAs, which adds all of K at once, 4-bit elements in groups of 16.

    The model was measured on fifth-generation MMAs with K = 32 and 64 (arXiv 2511.10909); it is assumed to apply to
    `mma` as well.
    """
    return _SCALED_FOUR_BITS if element == "b4" else Model(_CORES[-1].fraction, _SCALED_LENGTH)


def exact_sum(
    a: Array,
    b: Array,
    c: Array,
    types: tuple[str, str, str, str],
    model: Model,
    scales: tuple[Array, Array] | None = None,
) -> Array:
    """Return `c` plus the dot products over the last axis of `a` and `b`, as float32, rounded to the type of d.

    `types`: element types of d, a, b, c. `a` and `b` broadcast to `[…, rows, columns, k]`, `c` is `[…, rows, columns]`.
    `scales`: float64 scale factors of a and of b, one per element along the last axis.
    """
    d_type, a_type, b_type, c_type = types
    total, kind = c, c_type
    least: tuple[Array | int, Array | int] = _LEAST[a_type], _LEAST[b_type]
    if scales is not None and model.group == 1:
        a, b = a * scales[0], b * scales[1]
        least = least[0] + _powers_of_two(scales[0]), least[1] + _powers_of_two(scales[1])
    for start in range(0, a.shape[-1], model.length):
        part = slice(start, start + model.length)
        if scales is not None and model.group > 1:
            terms = _groups(a[..., part], b[..., part], (scales[0][..., part], scales[1][..., part]), model.group)
        else:
            terms = _products((a[..., part], _part(least[0], part)), (b[..., part], _part(least[1], part)))
        wide = _aligned_sum(*terms, (total, _LEAST[kind]), model.fraction)
        total = _to_half(wide) if d_type == "f16" else canonical(_toward_zero(wide, model.mantissa))
        kind = d_type
    return total


def _part(least: Array | int, part: slice) -> Array | int:
    return least if isinstance(least, int) else least[..., part]


def _powers_of_two(scales: Array) -> Array:
    """Return the exponents of scale factors: -126 for a zero, 0 for an infinity or NaN."""
    exponents = np.frexp(np.where(np.isfinite(scales), scales, 1))[1] - 1
    return np.where(scales == 0, _ZERO, exponents)


def _exponents(values: Array, least: Array | int) -> Array:
    """Return the binary exponents of values, but at least `least`; arbitrary for a zero."""
    return np.asarray(np.maximum(np.frexp(values)[1] - 1, least))


def _products(a: tuple[Array, Array | int], b: tuple[Array, Array | int]) -> tuple[Array, Array]:
    """Return the products of a and b and their exponents.

    Each operand is a pair: values, and the least exponent of their format.
    """
    products = a[0].astype(_F64) * b[0]
    return products, np.where(products != 0, _exponents(*a) + _exponents(*b), _ZERO)


def _groups(a: Array, b: Array, scales: tuple[Array, Array], group: int) -> tuple[Array, Array]:
    """Return the sum of each `group` adjacent products times their scale factors, and the scale factors' exponents."""
    products = a.astype(_F64) * b
    sums = products.reshape(*products.shape[:-1], -1, group).sum(axis=-1)
    of_a, of_b = (each[..., ::group] for each in scales)
    exponents = np.broadcast_to(_powers_of_two(of_a) + _powers_of_two(of_b), sums.shape)
    return sums * (of_a * of_b), exponents


def _aligned_sum(terms: Array, exponents: Array, c: tuple[Array, int], fraction: int) -> Array:
    """Return the sum of the aligned and truncated `terms` and of the addend.

    `c` is a pair: addend, and the least exponent of its format.
    """
    addend = c[0].astype(_F64)
    plain = terms.sum(axis=-1) + addend
    greatest = np.maximum(exponents.max(axis=-1), np.where(addend != 0, _exponents(*c), _ZERO))
    shift = fraction - greatest
    total = np.trunc(np.ldexp(terms, shift[..., None])).sum(axis=-1) + np.trunc(np.ldexp(addend, shift))
    result: Array = np.where(np.isfinite(plain), np.ldexp(total, -shift), plain)
    return result


def _toward_zero(values: Array, mantissa: int) -> Array:
    """Return float64 values as float32 with `mantissa` fraction bits, rounded toward zero."""
    result = values.astype(np.float32)
    away = (np.abs(result.astype(_F64)) > np.abs(values)) & (np.abs(values) < _F32_END)
    result = np.where(away, np.nextafter(result, np.float32(0)), result)
    if mantissa < _F32_BITS:
        cut = (result.view(np.uint32) & np.uint32(-1 << (_F32_BITS - mantissa) & 0xFFFFFFFF)).view(np.float32)
        result = np.where(np.isnan(result), result, cut)
    return result


def _to_half(values: Array) -> Array:
    """Return float64 values rounded to f16; values that underflow lose their sign, as measured on an H100."""
    halves = values.astype(np.float16).astype(np.float32)
    return np.where((halves == 0) & (values != 0), np.float32(0), halves)


def rounded(values: Array, element: str) -> Array:
    """Return float32 sums as elements of the result type; NaN is canonical."""
    return HALVES["f16"].narrow(values) if element == "f16" else canonical(values)
