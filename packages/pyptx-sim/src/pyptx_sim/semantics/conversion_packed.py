"""Conversions from and to packed values. Manual: "Data Movement and Conversion Instructions: cvt".

The values of one register have their own axis, `[…, n]`, lowest bits first. If several source operands are packed, the
first gets the highest bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_sim.numerics import casts
from pyptx_sim.numerics.clamping import rectified
from pyptx_sim.numerics.formats import PACKED_HALVES
from pyptx_sim.numerics.minifloats import MINIFLOATS, Minifloat, decode, encode
from pyptx_sim.numerics.packed import join, split
from pyptx_sim.numerics.rounding import PRECISIONS
from pyptx_sim.numerics.scales import scales
from pyptx_sim.numerics.stochastic import rounded_by
from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.operations import operation
from pyptx_sim.types import dtype_of, packed_element

if TYPE_CHECKING:
    from pyptx_ir.isa.binding import Bound

Step: TypeAlias = Callable[[Array], Array]
Bind: TypeAlias = "Callable[[Bound], Operation]"

_BYTE: Final = np.dtype("<u1")
_FIXED: Final = ("s2f6", 64, -128, 127)  # fixed-point format s2f6: code of the value 1.0, lowest code, highest code


def packed(source: str, target: str) -> Bind | None:
    """Return the function that makes the `Operation` of a conversion from or to a packed type; None: not simulated."""
    if target == "ue8m0x2":
        return _to_exponents
    if source == "ue8m0x2":
        return _from_exponents
    if "s2f6x2" in (source, target):
        return _to_fixed if target == "s2f6x2" else _from_fixed
    if target in PACKED_HALVES and source == "f32":
        return _to_pair_of_halves
    if packed_element(target) in MINIFLOATS:
        return _to_minifloats
    if packed_element(source) in MINIFLOATS:
        return _from_minifloats_to_f16 if target == "f16x2" else _from_minifloats
    return None


def chain(*steps: Step | None) -> Step:
    """Return a function that applies `steps` one after the other; None among `steps` is skipped."""
    present = tuple(step for step in steps if step is not None)
    if len(present) == 1:
        return present[0]

    def run(values: Array) -> Array:
        for step in present:
            values = step(values)
        return values

    return run


def limit(form: Bound, kind: str) -> Step | None:
    """Return a function that clamps values to the finite range of type `kind`; None without `.satfinite`."""
    return (lambda values: casts.limited(values, kind)) if "satfinite" in form.words else None


def rectify(form: Bound) -> Step | None:
    """Return a function that replaces negative values by zero; None without `.relu`."""
    return rectified if "relu" in form.words else None


def _stacked(*values: Array) -> Array:
    """Return the values of several operands as an array `[…, n]`; the first operand, with the highest bits, is last."""
    return np.stack(np.broadcast_arrays(*values[::-1]), axis=-1)


# --- halves -------------------------------------------------------------------------------------


def _to_pair_of_halves(form: Bound) -> Operation:
    """Return the `Operation` that converts two f32 values to f16x2 or bf16x2; the first value is the upper half."""
    target, mode = form.type_of("d"), form.word("frnd")
    half = PACKED_HALVES[target]
    register, before = dtype_of(target), chain(rectify(form), limit(form, half.name))
    if "rs" in form.words:
        return _to_halves_by_chance(form, before)
    convert = chain(before, lambda v: casts.from_float(v, half.name, mode))
    return operation(form, lambda a, b: join(_stacked(convert(a), convert(b)), register))


def _to_halves_by_chance(form: Bound, before: Step) -> Operation:
    """Return the `Operation` of stochastic rounding to f16x2 or bf16x2.

    Each value has 16 of the 32 random bits; f16 uses only the lower 13 of its 16 bits.
    """
    half = PACKED_HALVES[form.type_of("d")]
    count = 13 if half.name == "f16" else 16
    register, precision = dtype_of(form.type_of("d")), PRECISIONS[half.name]
    taken = np.uint16((1 << count) - 1)

    def compute(a: Array, b: Array, rbits: Array) -> Array:
        random = split(rbits, np.dtype("<u2")) & taken
        return join(half.narrow(rounded_by(before(_stacked(a, b)), precision, random, count)), register)

    return operation(form, compute)


# --- formats of 8, 6 and 4 bits -----------------------------------------------------------------


def _register_of(codes: Array, layout: Minifloat) -> Array:
    """Return a register packed from minifloat codes, lowest bits first; two 4-bit codes share a byte."""
    if layout.bits == 4:
        codes = (codes[..., 1::2] << np.uint8(4)) | codes[..., ::2]
    return join(codes, np.dtype(f"<u{codes.shape[-1]}"))


def _codes_in(register: Array, layout: Minifloat) -> Array:
    if layout.bits == 4:
        return np.stack((register & np.uint8(15), register >> np.uint8(4)), axis=-1)
    return split(register, _BYTE)


def _to_minifloats(form: Bound) -> Operation:
    """Return the `Operation` that converts two f32 values, or f16x2 or bf16x2, to 8-, 6- or 4-bit floats."""
    source, layout = form.type_of("a"), MINIFLOATS[packed_element(form.type_of("d"))]
    before = rectify(form)
    convert = chain(before, lambda values: encode(values, layout))
    if "rs" in form.words:
        return _to_minifloats_by_chance(form, layout, before)
    if source == "f32":
        return operation(form, lambda a, b: _register_of(_stacked(convert(a), convert(b)), layout))
    half = PACKED_HALVES[source]
    return operation(form, lambda a: _register_of(convert(half.widen(split(a, half.element))), layout))


def _to_minifloats_by_chance(form: Bound, layout: Minifloat, before: Step | None) -> Operation:
    """Return the `Operation` of stochastic rounding of four f32 values to 8-, 6- or 4-bit floats.

    The operand `rbits` has 32 random bits. For 8-bit and 6-bit results, both values of a pair use the same half of
    `rbits`. For 4-bit results, the upper value of a pair uses a byte of the upper half of `rbits`, and the lower value
    a byte of the lower half. The manual specifies only the bits of each pair. The use of the bits within a pair is
    inferred from ptxas 13.0, which emits two instructions and passes both the same register with random bits.
    """
    count = 8 if layout.bits == 4 else 16
    # Bit position, in `rbits`, of the random bits of each value, lowest value first.
    shifts = np.array([0, 16, 8, 24] if layout.bits == 4 else [0, 0, 16, 16], np.uint32)
    prepare, taken, precision = chain(before), np.uint32((1 << count) - 1), layout.precision

    def compute(a: Array, b: Array, e: Array, f: Array, rbits: Array) -> Array:
        random = (rbits[..., None] >> shifts) & taken
        values = rounded_by(prepare(_stacked(a, b, e, f)), precision, random, count)
        return _register_of(encode(values.astype(np.float32), layout), layout)

    return operation(form, compute)


def _from_minifloats_to_f16(form: Bound) -> Operation:
    layout = MINIFLOATS[packed_element(form.type_of("a"))]
    register = dtype_of(form.type_of("d"))
    relu = "relu" in form.words

    def compute(a: Array) -> Array:
        halves = decode(_codes_in(a, layout), layout)
        if relu:
            halves = np.where((halves & np.uint16(0x8000)) != 0, np.uint16(0), halves)
        return join(halves, register)

    return operation(form, compute)


def _from_minifloats(form: Bound) -> Operation:
    """Return the `Operation` that converts minifloats to bf16x2, multiplied by scale factors (powers of two)."""
    layout = MINIFLOATS[packed_element(form.type_of("a"))]
    return _scaled_up(form, lambda a: decode(_codes_in(a, layout), layout).view(np.float16))


def _scaled_up(form: Bound, values: Step) -> Operation:
    """Return an `Operation` that multiplies the results of `values` by scale factors, if any, and rounds to bf16."""
    half = PACKED_HALVES[form.type_of("d")]
    register = dtype_of(form.type_of("d"))
    finish = chain(rectify(form), limit(form, half.name), half.narrow)

    def compute(a: Array, *scale: Array) -> Array:
        return join(finish(values(a).astype(np.float64) * _factors(*scale)), register)

    return operation(form, compute)


def _factors(scale: Array | None = None) -> Array:
    """Return the scale factors (powers of two) in a register of ue8m0 codes; 1 without a register."""
    return np.ones(1) if scale is None else scales(split(scale, _BYTE), "ue8m0")


# --- fixed point --------------------------------------------------------------------------------


def _to_fixed(form: Bound) -> Operation:
    """Return the `Operation` that divides two values by scale factors and converts them to s2f6x2 (6 fraction bits).

    NaN gives the greatest s2f6 value.
    """
    _, one, least, most = _FIXED
    count = 2 if form.type_of("a") == "f32" else 1
    half = PACKED_HALVES.get(form.type_of("a"))
    before, whole = chain(rectify(form)), np.trunc if "rz" in form.words else np.rint

    def compute(*sources: Array) -> Array:
        values = _stacked(*sources[:count]) if half is None else half.widen(split(sources[0], half.element))
        numbers = whole(before(values.astype(np.float64) / _factors(*sources[count:])) * one)
        codes = np.where(np.isnan(numbers), most, np.clip(numbers, least, most))
        return join(codes.astype(np.int8), np.dtype("<u2"))

    return operation(form, compute)


def _from_fixed(form: Bound) -> Operation:
    _, one, _, _ = _FIXED
    return _scaled_up(form, lambda a: split(a, np.dtype("<i1")) / np.float64(one))


# --- powers of two ------------------------------------------------------------------------------


def _from_exponents(form: Bound) -> Operation:
    """Return the `Operation` that converts ue8m0x2 to bf16x2.

    A ue8m0 code is the exponent field; 0 represents 2^-127 and 255 NaN.
    """

    def compute(a: Array) -> Array:
        codes = split(a, _BYTE).astype(np.uint16)
        bits = np.where(codes == 0, np.uint16(0x0040), codes << np.uint16(7))
        return join(np.where(codes == 0xFF, np.uint16(0x7FFF), bits), np.dtype("<u4"))

    return operation(form, compute)


def _exponent_codes(values: Array, *, up: bool, satfinite: bool) -> Array:
    """Return the ue8m0 codes of float32 magnitudes: 0 below 2^-127; 255 for NaN, infinity and overflow.

    Signs are ignored. The manual does not specify the results of infinities and overflow; the simulator returns those
    of `cuda_fp8.hpp` for GPUs without the instruction.
    """
    magnitude = np.ascontiguousarray(values).view(np.uint32) & np.uint32(0x7FFFFFFF)
    infinite = np.uint32(0x7F800000)
    codes = magnitude >> np.uint32(23)
    if up:
        between = (magnitude & np.uint32(0x7FFFFF) != 0) & (magnitude > np.uint32(0x400000)) & (magnitude < infinite)
        codes = codes + between
    if satfinite:
        codes = np.where(magnitude <= infinite, np.minimum(codes, np.uint32(0xFE)), codes)
    return codes.astype(np.uint8)


def _to_exponents(form: Bound) -> Operation:
    """Return the `Operation` that converts two f32 values, or bf16x2, to ue8m0x2."""
    up, satfinite = form.word("frnd3") == "rp", "satfinite" in form.words

    def joined(values: Array) -> Array:
        return join(_exponent_codes(values, up=up, satfinite=satfinite), np.dtype("<u2"))

    if form.type_of("a") == "f32":
        return operation(form, lambda a, b: joined(_stacked(a, b)))
    half = PACKED_HALVES[form.type_of("a")]
    return operation(form, lambda a: joined(half.widen(split(a, half.element))))
