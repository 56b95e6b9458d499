"""cvt of every pair of types in every rounding mode, compared with exact fractions, bit for bit."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache
from itertools import pairwise

import pytest

from . import semantics_reference as ref

pytestmark = pytest.mark.scaled

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
MODES = ("rn", "rz", "rm", "rp")
INTEGRAL = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}
HALF = ("f16", "bf16")


def bits_or_nan(value, kind, mode="rn"):
    bits = ref.encode(value, kind, mode)
    return ref.NAN.get(kind, "nan") if bits == "nan" else bits


def check_floats(text, reference, target, columns):
    (actual,) = ref.run(text, *columns)
    for value, row in zip(actual, zip(*columns, strict=True), strict=True):
        expected = reference(*row)
        spelt = "nan" if expected == "nan" and ref.decode(value, target) == "nan" else value
        assert spelt == expected, f"{text}: {[hex(v) for v in row]} gave {spelt!r}, not {expected!r}"


# --- floats to floats ---------------------------------------------------------------------------


def narrows(target, source):
    return ref.width(target) < ref.width(source) or {target, source} == {"f16", "bf16"}


def modes_of(target, source):
    """Return the rounding modifiers of a conversion; between f16 and bf16, ptxas rounds to nearest without one."""
    if not narrows(target, source):
        return ("",)
    return ("", *MODES) if ref.width(target) == ref.width(source) else MODES


def float_cases():
    for source in FLOATS:
        for target in FLOATS:
            if source == target:
                continue
            for mode in modes_of(target, source):
                yield f"cvt{'.' * bool(mode)}{mode}.{target}.{source}", source, target, mode or "rn"


FLOAT_CASES = list(float_cases())


def near_half_way(source, target, count=150):
    """Return bits of `source` at and near the midpoints between adjacent values of `target`."""
    picker = random.Random(f"{source}{target}")
    total, _ = ref.FORMATS[target]
    bits = []
    while len(bits) < count:
        low = picker.getrandbits(total)
        value, following = ref.decode(low, target), ref.decode((low + 1) % (1 << total), target)
        if isinstance(value, str) or isinstance(following, str):
            continue
        middle = (value + following) / 2
        bits += [ref.encode(middle, source, mode) for mode in MODES] + [ref.encode(middle, source) ^ 1]
    return bits


@pytest.mark.parametrize(("opcode", "source", "target", "mode"), FLOAT_CASES, ids=[case[0] for case in FLOAT_CASES])
def test_a_float_is_rounded_once_to_another_format(opcode, source, target, mode):
    column = ref.float_columns(source, 1)[0] + near_half_way(source, target)
    for sat in ("", ".sat"):
        text = f"{opcode.replace(f'.{target}.', f'{sat}.{target}.', 1)} %d, %a;"
        if not ref.is_form(text):
            continue

        def reference(bits, sat=sat):
            value = ref.decode(bits, source)
            if value == "nan" and not sat and (source, target) == ("f64", "f32"):
                return "nan"  # another test compares the payload of a NaN result
            return bits_or_nan(ref.saturate(value) if sat else value, target, mode)

        check_floats(text, reference, target, [column])


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("mode", INTEGRAL)
def test_a_float_is_rounded_to_an_integral_one(kind, mode):
    def reference(bits):
        value = ref.decode(bits, kind)
        if isinstance(value, str):
            return bits_or_nan(value, kind)
        return bits_or_nan(integral(value, mode) or ("-0" if value < 0 else Fraction(0)), kind)

    column = ref.float_columns(kind, 1)[0] + small_numbers(kind)
    check_floats(f"cvt.{mode}.{kind}.{kind} %d, %a;", reference, kind, [column])


def integral(value, mode):
    """Return a fraction rounded to an integer."""
    count, rest = divmod(abs(value), 1)
    if ref.round_up(count, Fraction(rest), INTEGRAL[mode], negative=value < 0):
        count += 1
    return Fraction(-count if value < 0 else count)


def small_numbers(kind):
    """Return multiples of 1/2, and numbers next to the limits of the integer types, as bits of `kind`."""
    values = [Fraction(n, 2) for n in range(-9, 10)]
    values += [
        sign * (Fraction(2) ** power + offset)
        for power in (7, 8, 15, 16, 31, 32, 63, 64)
        for offset in (-1, 0, 1, Fraction(1, 2))
        for sign in (1, -1)
    ]
    near = [ref.encode(value, kind) for value in values]
    top = (1 << ref.FORMATS[kind][0]) - 1
    return [min(max(bits + step, 0), top) for bits in near for step in (-1, 0, 1)]


def test_ftz_flushes_what_is_f32_before_and_after():
    tiny = [1, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000]
    flushed = lambda bits: ref.flush(bits, "f32")
    ref.check("cvt.ftz.f32.f32 %d, %a;", flushed, [tiny])
    ref.check("cvt.rpi.ftz.f32.f32 %d, %a;", lambda b: 0x3F800000 if flushed(b) & 0x7FFFFFFF else flushed(b), [tiny])
    ref.check("cvt.rpi.ftz.s32.f32 %d, %a;", lambda b: int(bool(flushed(b) & 0x7FFFFFFF)), [tiny])
    ref.check("cvt.rpi.s32.f32 %d, %a;", lambda b: int(b < 0x80000000), [tiny])
    doubles = [ref.encode(Fraction(2) ** -power, "f64") for power in (125, 126, 127, 140, 160)]
    ref.check("cvt.rn.ftz.f32.f64 %d, %a;", lambda b: flushed(ref.encode(ref.decode(b, "f64"), "f32")), [doubles])
    ref.check("cvt.ftz.f32.bf16 %d, %a;", lambda b: flushed(b << 16), [[1, 0x7F, 0x80, 0x8001, 0x3F80]])


@pytest.mark.parametrize("target", HALF)
@pytest.mark.parametrize("mode", ["rn", "rz"])
@pytest.mark.parametrize("flags", ["", ".relu", ".satfinite", ".relu.satfinite"])
def test_relu_and_satfinite_limit_single_and_packed_halves(target, mode, flags):
    column = ref.float_columns("f32", 1)[0] + near_half_way("f32", target, 150)
    greatest = ref.decode(0x7BFF if target == "f16" else 0x7F7F, target)

    def reference(bits):
        value = ref.decode(bits, "f32")
        if "relu" in flags:
            value = ref.rectify(value)
        if "satfinite" in flags and value != "nan":
            sign = -1 if ref._negative(value) else 1
            beyond = value in {"inf", "-inf"} or (value != "-0" and abs(value) > greatest)
            value = sign * greatest if beyond else value
        return bits_or_nan(value, target, mode)

    ref.check(f"cvt.{mode}{flags}.{target}.f32 %d, %a;", reference, [column])
    pair = lambda a, b: ref.pack([reference(b), reference(a)])
    ref.check(f"cvt.{mode}{flags}.{target}x2.f32 %d, %a, %b;", pair, [column, column[::-1]])


@pytest.mark.parametrize(
    ("mode", "flags"),
    [(m, f) for m in ("rna", "rn", "rz") for f in ("", ".satfinite", ".relu") if m != "rna" or f != ".relu"],
)
def test_tf32_keeps_ten_bits_of_mantissa(mode, flags):
    column = ref.float_columns("f32", 1)[0] + [0x3F801000 + offset for offset in (-1, 0, 1, 0x2000, 0x2FFF)]

    def reference(bits):
        value = ref.decode(bits, "f32")
        if value == "nan":
            return bits & 0xFFFFE000 if mode == "rna" else 0x7FFFFFFF
        if flags == ".relu" and ref._negative(value):
            return 0
        sign, size = bits & 0x80000000, bits & 0x7FFFFFFF
        count, rest = divmod(size, 1 << 13)
        count += ref.round_up(count, Fraction(rest, 1 << 13), mode, negative=bool(sign))
        size = min(count << 13, 0x7F7FE000 if flags == ".satfinite" else 0x7F800000)
        return size | sign

    ref.check(f"cvt.{mode}{flags}.tf32.f32 %d, %a;", reference, [column])


def test_nan_payloads_go_where_ptxas_folds_them():
    """Expected values are from ptxas 13.0's constant folding: cvt.f32.f32 is a move, with .ftz an addition."""
    f64 = [0x7FF8000000001000, 0xFFFC000080001000]
    assert ref.run("cvt.rn.f32.f64 %d, %a;", f64)[0] == [0x7FC00000, 0xFFE00004]
    assert ref.run("cvt.f64.f32 %d, %a;", [0x7FC00001, 0xFFE00001])[0] == [0x7FF8000020000000, 0xFFFC000020000000]
    assert ref.run("cvt.f64.f16 %d, %a;", [0x7C01])[0] == [0x7FFFFFFFE0000000]
    assert ref.run("cvt.f32.f16 %d, %a;", [0x7C01])[0] == [0x7FFFFFFF]
    assert ref.run("cvt.f32.bf16 %d, %a;", [0x7F81])[0] == [0x7FFFFFFF]
    assert ref.run("cvt.f32.f32 %d, %a;", [0xFFC00001, 1])[0] == [0xFFC00001, 1]
    assert ref.run("cvt.ftz.f32.f32 %d, %a;", [0xFFC00001, 1])[0] == [0x7FFFFFFF, 0]
    for target, source in (("f16", "f32"), ("bf16", "f32"), ("f16", "f64")):
        nan = [0xFFC00001] if source == "f32" else [0xFFFC000080001000]
        assert ref.run(f"cvt.rn.{target}.{source} %d, %a;", nan)[0] == [0x7FFF]


# --- floats and integers ------------------------------------------------------------------------


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", INTEGERS)
def test_a_float_becomes_an_integer_within_its_range(source, target):
    column = ref.float_columns(source, 1)[0] + small_numbers(source)
    low, high = ref.limits(target)
    # Manual, 9.7.9.21: NaN gives zero, but 1 << (bits - 1) if the source is f64 or the destination has 64 bits.
    top = ref.wrap(1 << (ref.width(target) - 1), target)
    nan = top if source == "f64" or ref.width(target) == 64 else 0

    for mode in INTEGRAL:

        def reference(bits, mode=mode):
            value = ref.decode(bits, source)
            special = {"nan": nan, "inf": high, "-inf": low, "-0": 0}
            return special[value] if isinstance(value, str) else ref.clamp(int(integral(value, mode)), target)

        ref.check(f"cvt.{mode}.{target}.{source} %d, %a;", reference, [column])
    if ref.is_form(f"cvt.rzi.sat.{target}.{source} %d, %a;"):
        ref.check(f"cvt.rzi.sat.{target}.{source} %d, %a;", lambda bits: reference(bits, "rzi"), [column])


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", FLOATS)
def test_an_integer_is_rounded_once_to_a_float(source, target):
    low, high = ref.limits(source)
    picker = random.Random(f"{source}{target}")
    column = ref.integer_edges(source) + [picker.randint(low, high) for _ in range(100)]
    digits = ref.FORMATS[target][1]
    for power in range(digits, ref.width(source)):
        middle = (1 << power) + (1 << max(power - digits - 1, 0))
        column += [number for number in (middle - 1, middle, middle + 1, -middle) if low <= number <= high]
    for mode in MODES:
        for sat in ("", ".sat"):

            def reference(number, mode=mode, sat=sat):
                value = Fraction(number)
                return bits_or_nan(ref.saturate(value) if sat else value, target, mode)

            text = f"cvt.{mode}{sat}.{target}.{source} %d, %a;"
            if ref.is_form(text):
                ref.check(text, reference, [column])


# --- eight, six and four bits --------------------------------------------------------------------

# Format -> (exponent bits, mantissa bits, exponent bias, nonnegative finite codes, NaN code or None). Manual: 5.2.3.
SMALL = {
    "e4m3": (4, 3, 7, 0x7F, 0x7F),
    "e5m2": (5, 2, 15, 0x7C, 0x7F),
    "e2m3": (2, 3, 1, 0x20, None),
    "e3m2": (3, 2, 3, 0x20, None),
    "e2m1": (2, 1, 1, 0x08, None),
}


@cache
def small_value(code, name):
    _, mantissa_bits, bias, _, _ = SMALL[name]
    exponent, mantissa = code >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
    if exponent == 0:
        return mantissa * ref.power(1 - bias - mantissa_bits)
    return ((1 << mantissa_bits) + mantissa) * ref.power(exponent - bias - mantissa_bits)


def small_code(value, name, *, relu=False):
    """Return the code nearest to a value, found by trying all codes; ties go to the even code."""
    exponent_bits, mantissa_bits, _, finite, nan = SMALL[name]
    sign_bit = 1 << (exponent_bits + mantissa_bits)
    if value == "nan":
        return finite - 1 if nan is None else nan
    negative = ref._negative(value)
    if relu and negative:
        return 0
    if value in {"inf", "-inf"}:
        code = finite - 1
    else:
        size = abs(ref._number(value))
        code = min(range(finite), key=lambda c: (abs(small_value(c, name) - size), c % 2))
    return code | (sign_bit if negative else 0)


def small_pack(high, low, name):
    return high << 4 | low if name == "e2m1" else high << 8 | low


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("relu", ["", ".relu"])
def test_small_formats_take_the_nearest_value_and_saturate(name, relu):
    finite = SMALL[name][3]
    values = [small_value(code, name) for code in range(finite)]
    middles = [(a + b) / 2 for a, b in pairwise(values)]
    greatest = values[-1]
    numbers = values + middles + [greatest * 17 / 16, greatest * 4, Fraction(1, 3)]
    f32 = [ref.encode(value, "f32") for value in numbers]
    f32 = [bits + step for bits in f32[:: len(f32) // 40 or 1] for step in (0, 1, -1) if bits + step >= 0]
    f32 += [bits | 0x80000000 for bits in f32] + [0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000]
    codes = {bits: small_code(ref.decode(bits, "f32"), name, relu=bool(relu)) for bits in f32}
    ref.check(
        f"cvt.rn.satfinite{relu}.{name}x2.f32 %d, %a, %b;",
        lambda a, b: small_pack(codes[a], codes[b], name),
        [f32, f32[::-1]],
    )
    for half in HALF:
        bits = [b if isinstance(b, int) else 0x7FFF for b in (ref.encode(ref.decode(x, "f32"), half) for x in f32[::3])]
        codes16 = {b: small_code(ref.decode(b, half), name, relu=bool(relu)) for b in bits}
        packed = [ref.pack(pair) for pair in zip(bits, bits[::-1], strict=True)]
        ref.check(
            f"cvt.rn.satfinite{relu}.{name}x2.{half}x2 %d, %a;",
            lambda x, table=codes16: small_pack(table[ref.halves(x)[1]], table[ref.halves(x)[0]], name),
            [packed],
        )


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("relu", ["", ".relu"])
def test_every_code_of_a_small_format_widens_exactly(name, relu):
    exponent_bits, mantissa_bits, _, finite, _ = SMALL[name]
    sign_bit = 1 << (exponent_bits + mantissa_bits)

    def widened(code):
        size = code & (sign_bit - 1)
        negative = bool(code & sign_bit)
        if size >= finite and not (name == "e5m2" and size == finite):
            return 0x7FFF
        if relu and negative:
            return 0
        bits = 0x7C00 if size >= finite else ref.encode(small_value(size, name), "f16")
        return bits | (0x8000 if negative else 0)

    codes = list(range(2 * sign_bit))
    packed = [small_pack(code, codes[-1 - code], name) for code in codes]
    ref.check(
        f"cvt.rn{relu}.f16x2.{name}x2 %d, %a;",
        lambda x: ref.pack([widened(part) for part in (ref.halves(x, 4) if name == "e2m1" else ref.halves(x, 8))]),
        [packed],
    )


def test_every_exponent_of_ue8m0_widens_to_bf16():
    def widened(code):
        return 0x7FFF if code == 255 else ref.encode(Fraction(2) ** (code - 127), "bf16")

    packed = [ref.pack((code, 255 - code), 8) for code in range(256)]
    ref.check("cvt.rn.bf16x2.ue8m0x2 %d, %a;", lambda x: ref.pack(map(widened, ref.halves(x, 8))), [packed])


def exponent_code(bits, *, up, satfinite):
    """Return the ue8m0 code of float32 `bits`: the nearest power of two not above (`up`: not below) the magnitude."""
    bits &= 0x7FFFFFFF
    if bits >= 0x7F800000:
        return 0xFE if satfinite and bits == 0x7F800000 else 0xFF
    value = ref.decode(bits, "f32")
    powers = [ref.power(code - 127) for code in range(255)]
    fitting = [code for code, power in enumerate(powers) if (power >= value if up else power <= value)]
    if up:
        return fitting[0] if fitting else 0xFE if satfinite else 0xFF
    return fitting[-1] if fitting else 0


EDGES = [0, 1, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFF, 0x800000, 0x800001, 0x3F800000, 0x3F800001, 0x7F000000]
EDGES += [0x7F000001, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0xBF800001, 0xFF800000, 0x4049_0FDB, 0x3DCC_CCCD]


@pytest.mark.parametrize("mode", ["rz", "rp"])
@pytest.mark.parametrize("satfinite", ["", ".satfinite"])
def test_ue8m0_takes_the_power_of_two_on_the_side_of_its_rounding(mode, satfinite):
    flags = {"up": mode == "rp", "satfinite": bool(satfinite)}
    ref.check(
        f"cvt.{mode}{satfinite}.ue8m0x2.f32 %d, %a, %b;",
        lambda a, b: ref.pack([exponent_code(b, **flags), exponent_code(a, **flags)], 8),
        [EDGES, EDGES[::-1]],
    )
    halves = [edge >> 16 for edge in EDGES]
    ref.check(
        f"cvt.{mode}{satfinite}.ue8m0x2.bf16x2 %d, %a;",
        lambda x: ref.pack([exponent_code(part << 16, **flags) for part in ref.halves(x)], 8),
        [[ref.pack(pair, 16) for pair in zip(halves, halves[::-1], strict=True)]],
    )


@pytest.mark.parametrize(
    "text",
    [
        "cvt.f16.f32 %d, %a;",
        "cvt.f32.f64 %d, %a;",
        "cvt.rni.f32.f64 %d, %a;",
        "cvt.s32.f32 %d, %a;",
        "cvt.rn.s32.f32 %d, %a;",
        "cvt.rs.f16x2.f32 %d, %a, %b;",
        "cvt.rn.e4m3x2.f32 %d, %a, %b;",
        "cvt.rzi.satfinite.s32.f32 %d, %a;",
    ],
)
def test_a_conversion_without_meaning_is_refused_by_its_full_name(text):
    with pytest.raises(ref.NoSemantics, match=text.split()[0].replace(".", r"\.")):
        ref.bind(text)


CASES = [(opcode, None) for opcode, *_ in FLOAT_CASES]
