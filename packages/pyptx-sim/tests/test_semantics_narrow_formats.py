"""Conversions of every 8-, 6- and 4-bit code to and from f16 and bf16, compared with ml_dtypes.

They include scale factors and random bits (stochastic rounding).
"""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from . import semantics_reference as ref

pytestmark = pytest.mark.scaled

KINDS = {
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
}
BITS = {"e4m3": 8, "e5m2": 8, "e2m3": 6, "e3m2": 6, "e2m1": 4}
HALVES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
NAN = 0x7FFF  # canonical NaN of f16 and bf16


def run(text, *sources):
    """Run a conversion on columns of values; return the results as unsigned numbers."""
    operation = ref.exercise(text)
    columns = [
        np.asarray(source).view(f"<u{np.asarray(source).itemsize}").astype(f"<u{ref.dtype_of(kind).itemsize}")
        for source, kind in zip(sources, operation.sources, strict=True)
    ]
    with np.errstate(all="ignore"):
        result = operation.compute(
            *(column.view(ref.dtype_of(kind))[None] for column, kind in zip(columns, operation.sources, strict=True))
        )
    return result.view(f"<u{result.itemsize}")[0]


def joined(lower, upper, bits):
    return lower.astype(np.uint32) | upper.astype(np.uint32) << np.uint32(bits)


def doubles(bits, half):
    with np.errstate(invalid="ignore"):  # NumPy warns about conversions of signaling NaNs
        return bits.view(HALVES[half]).astype(np.float64)


def every_code(name):
    codes = np.arange(1 << BITS[name], dtype=np.uint8)
    return codes, codes.view(KINDS[name]).astype(np.float64)


def halves(values, half, *, satfinite=False):
    """Return the bits of values rounded to nearest in f16 or bf16."""
    values = values.astype(np.float64)
    if satfinite:
        greatest = float(ml_dtypes.finfo(HALVES[half]).max)
        values = np.clip(values, -greatest, greatest)
    with np.errstate(all="ignore"):
        bits = values.astype(HALVES[half]).view(np.uint16)
    return np.where(np.isnan(values), np.uint16(NAN), bits)


def codes_of(values, name):
    """Return the codes nearest to values, saturated; a NaN becomes the format's NaN, or its greatest value."""
    kind = KINDS[name]
    greatest = float(ml_dtypes.finfo(kind).max)
    codes = np.clip(np.where(np.isnan(values), 0, values), -greatest, greatest).astype(kind).view(np.uint8)
    nan = 0x7F if BITS[name] == 8 else np.array(greatest).astype(kind).view(np.uint8)
    return np.where(np.isnan(values), np.uint8(nan), codes)


def rectified(values, relu):
    return np.where(values <= 0, 0.0, values) if relu else values


@pytest.mark.parametrize("relu", ["", ".relu"])
@pytest.mark.parametrize("satfinite", ["", ".satfinite"])
@pytest.mark.parametrize("name", KINDS)
def test_every_code_becomes_bf16(name, satfinite, relu):
    codes, values = every_code(name)
    width = 4 if name == "e2m1" else 8
    packed = joined(codes, codes[::-1], width)
    wanted = halves(rectified(values, relu), "bf16", satfinite=bool(satfinite))
    actual = run(f"cvt.rn{relu}{satfinite}.bf16x2.{name}x2 %d, %a;", packed)
    np.testing.assert_array_equal(actual, joined(wanted, wanted[::-1], 16))


@pytest.mark.parametrize("name", KINDS)
def test_every_code_is_multiplied_by_every_scale(name):
    codes, values = every_code(name)
    code, scale = (each.reshape(-1) for each in np.meshgrid(codes, np.arange(256, dtype=np.uint8)))
    width = 4 if name == "e2m1" else 8
    text = f"cvt.rn.scaled::n2::ue8m0.bf16x2.{name}x2 %d, %a, %s;"
    actual = run(text, joined(code, code, width), joined(scale, scale[::-1], 8))
    factors = scale.view(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    with np.errstate(invalid="ignore"):
        lower, upper = (halves(values[code] * each, "bf16") for each in (factors, factors[::-1]))
    np.testing.assert_array_equal(actual, joined(lower, upper, 16))


@pytest.mark.parametrize("relu", ["", ".relu"])
@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("name", KINDS)
def test_every_half_becomes_the_nearest_code(name, half, relu):
    bits = np.arange(1 << 16, dtype=np.uint16)
    values = doubles(bits, half)
    codes = codes_of(rectified(values, relu), name)
    actual = run(f"cvt.rn.satfinite{relu}.{name}x2.{half}x2 %d, %a;", joined(bits, bits[::-1], 16))
    np.testing.assert_array_equal(actual, joined(codes, codes[::-1], 4 if name == "e2m1" else 8))


# --- fixed point --------------------------------------------------------------------------------


def fixed(values, relu):
    with np.errstate(invalid="ignore"):
        numbers = np.rint(rectified(values, relu) * 64)
    return np.where(np.isnan(numbers), 127, np.clip(numbers, -128, 127)).astype(np.int8).view(np.uint8)


@pytest.mark.parametrize("relu", ["", ".relu"])
def test_every_bf16_becomes_fixed_point(relu):
    bits = np.arange(1 << 16, dtype=np.uint16)
    values = doubles(bits, "bf16")
    codes = fixed(values, relu)
    packed = joined(bits, bits[::-1], 16)
    actual = run(f"cvt.rn.satfinite{relu}.s2f6x2.bf16x2 %d, %a;", packed)
    np.testing.assert_array_equal(actual, joined(codes, codes[::-1], 8))
    scales = np.full(len(bits), 0x857D, np.uint16)  # ue8m0 scales: 2^6 in the upper byte, 2^-2 in the lower
    actual = run(f"cvt.rn.satfinite{relu}.scaled::n2::ue8m0.s2f6x2.bf16x2 %d, %a, %s;", packed, scales)
    lower, upper = fixed(values * 4, relu), fixed(values[::-1] / 64, relu)
    np.testing.assert_array_equal(actual, joined(lower, upper, 8))


def test_single_precision_becomes_fixed_point_rounded_to_even():
    values = (np.arange(-300, 300) / 128).astype(np.float32)
    codes = fixed(values.astype(np.float64), "")
    actual = run("cvt.rn.satfinite.s2f6x2.f32 %d, %a, %b;", values, values[::-1].copy())
    np.testing.assert_array_equal(actual, joined(codes[::-1], codes, 8))
    assert codes.min() == 0
    assert set(codes.view(np.int8)) == set(range(-128, 128))


def test_fixed_point_is_rounded_to_zero_where_the_instruction_says_so():
    values = np.array([0.5, 0.0275, -0.0275, 3, -3], np.float32)  # in s2f6's unit of 1/64: 32, ±1.76, ±192
    codes = np.array([32, 1, -1, 127, -128], np.int8).view(np.uint8)
    actual = run("cvt.rz.satfinite.s2f6x2.f32 %d, %a, %b;", values, values)
    np.testing.assert_array_equal(actual, joined(codes, codes, 8))
    bits = values.astype(ml_dtypes.bfloat16).view(np.uint16)
    actual = run("cvt.rz.satfinite.s2f6x2.bf16x2 %d, %a;", joined(bits, bits, 16))
    np.testing.assert_array_equal(actual & 0xFFFF, joined(codes, codes, 8))


@pytest.mark.parametrize("text", ["cvt.rz.satfinite", "cvt.rn.satfinite.pzo", "cvt.rn.satfinite.scaled::n1::ue8m0"])
def test_conversions_of_later_targets_are_refused(text):
    scale = ", %s" if "scaled" in text else ""
    with pytest.raises(ref.NoSemantics):
        ref.bind(f"{text}.e4m3x2.f32 %d, %a, %b{scale};")


def test_every_number_of_fixed_point_becomes_bf16_by_every_scale():
    codes = np.arange(256, dtype=np.uint8)
    code, scale = (each.reshape(-1) for each in np.meshgrid(codes, codes))
    factors = scale.view(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    wanted = halves(code.view(np.int8) / 64 * factors, "bf16", satfinite=True)
    text = "cvt.rn.satfinite.scaled::n2::ue8m0.bf16x2.s2f6x2 %d, %a, %s;"
    actual = run(text, joined(code, code, 8), joined(scale, scale, 8))
    np.testing.assert_array_equal(actual, joined(wanted, wanted, 16))
    plain = halves(codes.view(np.int8) / 64, "bf16")
    actual = run("cvt.rn.bf16x2.s2f6x2 %d, %a;", joined(codes, codes[::-1], 8))
    np.testing.assert_array_equal(actual, joined(plain, plain[::-1], 16))


# --- stochastic rounding ------------------------------------------------------------------------

# Format -> mantissa bits, exponent of the smallest positive number (a power of 2), and largest value.
PRECISIONS = {
    "f16": (10, -24, 65504),
    "bf16": (7, -133, float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)),
    "e4m3": (3, -9, 448),
    "e5m2": (2, -16, 57344),
    "e2m3": (3, -3, 7.5),
    "e3m2": (2, -4, 28),
    "e2m1": (1, -1, 6),
}


def by_chance(value, random, count, name):
    """Return a float rounded by random bits, as a fraction; computed with integers only."""
    digits, least, _ = PRECISIONS[name]
    size = abs(Fraction(value))
    exponent = -1000 if not size else size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size and size < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - digits, least)
    kept, rest = divmod(size, unit)
    top = int(rest / unit * (1 << count))
    return (kept + (top + random >> count)) * unit * (-1 if value < 0 else 1)


def numbers(name, count=400):
    """Return f32 numbers from below a format's least subnormal to its greatest value, and random bits."""
    chance = np.random.default_rng(len(name))
    _, least, greatest = PRECISIONS[name]
    exponents = chance.uniform(least - 3, np.log2(greatest), count)
    values = chance.choice([-1, 1], count) * 2.0**exponents
    return values.astype(np.float32), chance.integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32)


@pytest.mark.parametrize(("half", "count"), [("f16", 13), ("bf16", 16)])
@pytest.mark.parametrize("flags", ["", ".relu", ".satfinite", ".relu.satfinite"])
def test_random_bits_round_halves(half, count, flags):
    (a, random), (b, _) = numbers(half), numbers(half)
    b = b[::-1].copy()
    taken = (1 << count) - 1

    def wanted(values, chances):
        exact = [by_chance(float(v), int(r) & taken, count, half) for v, r in zip(values, chances, strict=True)]
        exact = np.copysign([float(each) for each in exact], values)
        return halves(rectified(exact, "relu" in flags), half, satfinite="satfinite" in flags)

    expected = joined(wanted(b, random & np.uint32(0xFFFF)), wanted(a, random >> np.uint32(16)), 16)
    actual = run(f"cvt.rs{flags}.{half}x2.f32 %d, %a, %b, %r;", a, b, random)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("relu", ["", ".relu"])
def test_random_bits_round_to_narrow_formats(name, relu):
    values, random = numbers(name)
    four = [np.roll(values, turn * 17) for turn in range(4)]
    if name == "e2m1":
        chances = [random >> np.uint32(shift) & np.uint32(0xFF) for shift in (24, 8, 16, 0)]
        count = 8
    else:
        chances = [random >> np.uint32(shift) & np.uint32(0xFFFF) for shift in (16, 16, 0, 0)]
        count = 16
    expected = np.zeros(len(random), np.uint32)
    for values, bits in zip(four, chances, strict=True):
        exact = [float(by_chance(float(v), int(r), count, name)) for v, r in zip(values, bits, strict=True)]
        exact = np.copysign(exact, values)
        width = 4 if name == "e2m1" else 8
        expected = expected << np.uint32(width) | codes_of(rectified(exact, relu), name)
    actual = run(f"cvt.rs{relu}.satfinite.{name}x4.f32 %d, {{%a, %b, %e, %f}}, %r;", *four, random)
    np.testing.assert_array_equal(actual, expected)


def test_random_bits_round_up_as_often_as_they_should():
    """A value a third of the way between two e4m3 values is rounded up for a third of all random bits."""
    random = np.arange(1 << 16, dtype=np.uint32)
    value = np.full(len(random), 1 + 1 / 24, np.float32)
    ups = run("cvt.rs.satfinite.e4m3x4.f32 %d, {%a, %b, %e, %f}, %r;", *[value] * 4, random) & np.uint32(0xFF)
    assert set(ups) == {0x38, 0x39}
    assert abs(np.mean(ups == 0x39) - 1 / 3) < 1e-4


@pytest.mark.parametrize(("value", "code"), [(np.nan, 0x7F), (np.inf, 0x7E), (-np.inf, 0xFE), (-0.0, 0x80), (0.0, 0)])
def test_random_bits_leave_alone_what_has_nothing_to_round(value, code):
    column = np.full(4, value, np.float32)
    random = np.array([0, 1, 0x7FFFFFFF, 0xFFFFFFFF], np.uint32)
    actual = run("cvt.rs.satfinite.e4m3x4.f32 %d, {%a, %b, %e, %f}, %r;", *[column] * 4, random)
    np.testing.assert_array_equal(actual, [code * 0x01010101] * 4)
