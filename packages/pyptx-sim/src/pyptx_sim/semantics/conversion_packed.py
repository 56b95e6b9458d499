"""Conversions from and to packed values. Manual: "Data Movement and Conversion Instructions: cvt".

Values of one register stand in an axis of their own, `[…, n]`, the one in the lowest bits first; operands that come in
several registers name the one in the highest bits first.
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
_FIXED: Final = ("s2f6", 64, -128, 127)  # fixed point: how much is 1, and the numbers that there are


def packed(source: str, target: str) -> Bind | None:
    """Return what binds the conversion of one type to another of which one is packed; None if nothing does."""
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
    """Return the steps one after the other; None is no step."""
    present = tuple(step for step in steps if step is not None)
    if len(present) == 1:
        return present[0]

    def run(values: Array) -> Array:
        for step in present:
            values = step(values)
        return values

    return run


def limit(form: Bound, kind: str) -> Step | None:
    """Return what clamps values to the finite ones of a type, if the instruction says so."""
    return (lambda values: casts.limited(values, kind)) if "satfinite" in form.words else None


def rectify(form: Bound) -> Step | None:
    """Return what makes negative values zero, if the instruction says so."""
    return rectified if "relu" in form.words else None


def _stacked(*values: Array) -> Array:
    """Return values of several operands, the first of which goes to the highest bits, as those of one register."""
    return np.stack(np.broadcast_arrays(*values[::-1]), axis=-1)


# --- halves -------------------------------------------------------------------------------------


def _to_pair_of_halves(form: Bound) -> Operation:
    """Bind the conversion of two f32, the first to the upper half."""
    target, mode = form.type_of("d"), form.word("frnd")
    half = PACKED_HALVES[target]
    register, before = dtype_of(target), chain(rectify(form), limit(form, half.name))
    if "rs" in form.words:
        return _to_halves_by_chance(form, before)
    convert = chain(before, lambda v: casts.from_float(v, half.name, mode))
    return operation(form, lambda a, b: join(_stacked(convert(a), convert(b)), register))


def _to_halves_by_chance(form: Bound, before: Step) -> Operation:
    """Bind stochastic rounding; each value has half of the random bits, of which f16 takes the lower 13."""
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
    """Return the register of some codes, of which 4-bit ones share bytes."""
    if layout.bits == 4:
        codes = (codes[..., 1::2] << np.uint8(4)) | codes[..., ::2]
    return join(codes, np.dtype(f"<u{codes.shape[-1]}"))


def _codes_in(register: Array, layout: Minifloat) -> Array:
    if layout.bits == 4:
        return np.stack((register & np.uint8(15), register >> np.uint8(4)), axis=-1)
    return split(register, _BYTE)


def _to_minifloats(form: Bound) -> Operation:
    """Bind the conversion of two f32, or of a packed pair of halves, to minifloats."""
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
    """Bind stochastic rounding of four f32, by bits that two of them share.

    Of 8 and 6 bits, each value of a pair has the pair's half of `rbits`; of 4 bits, the upper one the pair's byte of
    the upper half, and the lower one that of the lower half. The manual's text gives the bits of each pair; how the two
    share them was concluded from the two instructions that ptxas 13.0 makes, which hand the bits on in one register.
    """
    count = 8 if layout.bits == 4 else 16
    # Of each value, the lowest first, where its random bits begin.
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
    """Bind the conversion to bf16, multiplied by a power of two of its own for each."""
    layout = MINIFLOATS[packed_element(form.type_of("a"))]
    return _scaled_up(form, lambda a: decode(_codes_in(a, layout), layout).view(np.float16))


def _scaled_up(form: Bound, values: Step) -> Operation:
    """Bind what multiplies values by their scales, if there are any, and rounds them to bf16."""
    half = PACKED_HALVES[form.type_of("d")]
    register = dtype_of(form.type_of("d"))
    finish = chain(rectify(form), limit(form, half.name), half.narrow)

    def compute(a: Array, *scale: Array) -> Array:
        return join(finish(values(a).astype(np.float64) * _factors(*scale)), register)

    return operation(form, compute)


def _factors(scale: Array | None = None) -> Array:
    """Return the powers of two in a register, 1 without one."""
    return np.ones(1) if scale is None else scales(split(scale, _BYTE), "ue8m0")


# --- fixed point --------------------------------------------------------------------------------


def _to_fixed(form: Bound) -> Operation:
    """Bind the conversion to two numbers with 6 bits behind the point, each divided by its scale; NaN is the most."""
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
    """Bind ue8m0 to bf16: the code is the exponent field, 0 stands for 2^-127 and 255 for NaN."""

    def compute(a: Array) -> Array:
        codes = split(a, _BYTE).astype(np.uint16)
        bits = np.where(codes == 0, np.uint16(0x0040), codes << np.uint16(7))
        return join(np.where(codes == 0xFF, np.uint16(0x7FFF), bits), np.dtype("<u4"))

    return operation(form, compute)


def _exponent_codes(values: Array, *, up: bool, satfinite: bool) -> Array:
    """Return the ue8m0 codes of float32 magnitudes: below 2^-127 is 0, and what is no finite number or too great 255.

    Signs are dropped. The manual leaves infinities and overflow open; this is what `cuda_fp8.hpp` computes for GPUs
    without the instruction.
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
    """Bind the conversion of two f32, or of a packed pair of bf16, to ue8m0."""
    up, satfinite = form.word("frnd3") == "rp", "satfinite" in form.words

    def joined(values: Array) -> Array:
        return join(_exponent_codes(values, up=up, satfinite=satfinite), np.dtype("<u2"))

    if form.type_of("a") == "f32":
        return operation(form, lambda a, b: joined(_stacked(a, b)))
    half = PACKED_HALVES[form.type_of("a")]
    return operation(form, lambda a: joined(half.widen(split(a, half.element))))
