"""IEEE arithmetic in every format, mode and modifier, compared with exact rounding of fractions, bit for bit."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import random
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from . import semantics_reference as ref

pytestmark = pytest.mark.scaled

MODES = ("rn", "rz", "rm", "rp")
HALF = ("f16", "bf16")
PACKED = {"f16x2": ("f16", 16), "bf16x2": ("bf16", 16), "f32x2": ("f32", 32)}


def finish(value, kind, *, mode="rn", ftz=False, sat=False, relu=False):
    """Return the bits of an exact result after saturation, relu, flushing and rounding."""
    if sat:
        value = ref.saturate(value)
    if relu:
        value = ref.rectify(value)
    if ftz and ref.is_tiny(value, kind, mode):
        return ref.encode("-0" if value < 0 else Fraction(0), kind)
    bits = ref.encode(value, kind, mode)
    return ref.NAN.get(kind, "nan") if bits == "nan" else bits


def ieee(name, kind, *, mode="rn", ftz=False, sat=False, relu=False):
    def compute(*bits):
        if ftz:
            bits = tuple(ref.flush(value, kind) for value in bits)
        return finish(ref.operate(name, kind, mode, *bits), kind, mode=mode, ftz=ftz, sat=sat, relu=relu)

    return compute


def in_pairs(function, size):
    def compute(*registers):
        rows = zip(*(ref.halves(register, size) for register in registers), strict=True)
        return ref.pack([function(*row) for row in rows], size)

    return compute


def canonical_f64(results, kind):
    """Return result columns with every double NaN replaced by "nan": its payload is unspecified."""
    if kind != "f64":
        return results
    return ["nan" if ref.decode(value, "f64") == "nan" else value for value in results]


def check_floats(text, reference, kind, columns):
    (actual,) = ref.run(text, *columns)
    for value, row in zip(canonical_f64(actual, kind), zip(*columns, strict=True), strict=True):
        expected = reference(*row)
        assert value == expected, f"{text}: {[hex(v) for v in row]} gave {value!r}, not {expected!r}"


def spelt(opcode, arity):
    return f"{opcode} %d, {', '.join(f'%s{i}' for i in range(arity))};"


ARITY = {"add": 2, "sub": 2, "mul": 2, "div": 2, "rcp": 1, "sqrt": 1, "fma": 3, "mad": 3}


def single_and_double():
    for name, arity in ARITY.items():
        implied = name in {"add", "sub", "mul"}
        for mode in MODES:
            yield f"{name}.{mode}.f32", arity, "f32", ieee(name, "f32", mode=mode)
            yield f"{name}.{mode}.ftz.f32", arity, "f32", ieee(name, "f32", mode=mode, ftz=True)
            yield f"{name}.{mode}.f64", arity, "f64", ieee(name, "f64", mode=mode)
            if name not in {"div", "rcp", "sqrt"}:
                yield f"{name}.{mode}.sat.f32", arity, "f32", ieee(name, "f32", mode=mode, sat=True)
        if implied:
            yield f"{name}.f32", arity, "f32", ieee(name, "f32")
            yield f"{name}.f64", arity, "f64", ieee(name, "f64")
            yield f"{name}.ftz.sat.f32", arity, "f32", ieee(name, "f32", ftz=True, sat=True)


def half_precision():
    for name in ("add", "sub", "mul", "fma"):
        rnd = ".rn" if name == "fma" else ""
        arity = ARITY[name]
        for kind in HALF:
            yield f"{name}.rn.{kind}", arity, kind, ieee(name, kind)
        yield f"{name}{rnd}.ftz.f16", arity, "f16", ieee(name, "f16", ftz=True)
        yield f"{name}{rnd}.sat.f16", arity, "f16", ieee(name, "f16", sat=True)
    yield "fma.rn.relu.f16", 3, "f16", ieee("fma", "f16", relu=True)
    yield "fma.rn.ftz.relu.f16", 3, "f16", ieee("fma", "f16", relu=True, ftz=True)
    yield "fma.rn.relu.bf16", 3, "bf16", ieee("fma", "bf16", relu=True)


CASES = [*single_and_double(), *half_precision()]


@pytest.mark.parametrize(("opcode", "arity", "kind", "reference"), CASES, ids=[case[0] for case in CASES])
def test_a_result_is_the_exact_one_rounded_once(opcode, arity, kind, reference):
    check_floats(spelt(opcode, arity), reference, kind, ref.float_columns(kind, arity, 200))


def packed_cases():
    for name in ("add", "sub", "mul", "fma"):
        for packed, (kind, size) in PACKED.items():
            yield f"{name}.rn.{packed}", ARITY[name], in_pairs(ieee(name, kind), size), packed
        yield f"{name}.rz.ftz.f32x2", ARITY[name], in_pairs(ieee(name, "f32", mode="rz", ftz=True), 32), "f32x2"
    yield "fma.rn.relu.bf16x2", 3, in_pairs(ieee("fma", "bf16", relu=True), 16), "bf16x2"
    yield "add.sat.f16x2", 2, in_pairs(ieee("add", "f16", sat=True), 16), "f16x2"


PACKED_CASES = list(packed_cases())


def packed_columns(packed, arity, count=300):
    kind, size = PACKED[packed]
    columns = ref.float_columns(kind, arity, 2 * count, seed=11)
    return [
        [ref.pack(pair, size) for pair in zip(c[-2 * count :: 2], c[-2 * count + 1 :: 2], strict=True)] for c in columns
    ]


@pytest.mark.parametrize(("opcode", "arity", "reference", "packed"), PACKED_CASES, ids=[c[0] for c in PACKED_CASES])
def test_a_packed_instruction_works_on_each_element(opcode, arity, reference, packed):
    ref.check(spelt(opcode, arity), reference, packed_columns(packed, arity))


OUT_OF_BOUNDS = 0x7FF7  # NaN that tensor copies store for out-of-bounds elements


@pytest.mark.parametrize("relu", ["", ".relu"])
@pytest.mark.parametrize("packed", ["f16x2", "bf16x2"])
def test_a_product_with_a_factor_out_of_bounds_is_zero(packed, relu):
    kind, size = PACKED[packed]
    inside = ieee("fma", kind, relu=bool(relu))

    def reference(a, b, c):
        return 0 if OUT_OF_BOUNDS in (a, b) else inside(a, b, c)

    columns = ref.float_columns(kind, 3, 200)
    for place, column in enumerate(columns):
        column[place::5] = [OUT_OF_BOUNDS] * len(column[place::5])
    ref.check(f"fma.rn.oob{relu}.{kind} %d, %a, %b, %c;", reference, columns)
    pairs = [[ref.pack(pair, size) for pair in pairwise(c)] for c in columns]
    ref.check(f"fma.rn.oob{relu}.{packed} %d, %a, %b, %c;", in_pairs(reference, size), pairs)


def test_a_packed_register_broadcasts_against_uniform_ones():
    operation = ref.bind("fma.rn.f16x2 %d, %a, %b, %c;")
    a, b, c = (np.arange(64, dtype=np.uint32).reshape(2, 32) * 0x00010203, *np.full((2, 1, 1), 0x3C003C00, np.uint32))
    with np.errstate(all="ignore"):
        whole = operation.compute(a, np.broadcast_to(b, a.shape), np.broadcast_to(c, a.shape))
        assert (operation.compute(a, b, c) == whole).all()
    assert whole.shape == (2, 32)


# --- fused multiply-add in bulk -----------------------------------------------------------------


def hard_triples(count, mantissa, seed):
    """Yield operands of fma: results near midpoints, canceling sums, subnormal results, and random ones."""
    source = random.Random(seed)
    unit = 2.0**-mantissa
    for _ in range(count):
        style = source.randrange(5)
        if style == 0:
            scale = 2.0 ** -(mantissa // 2 + 1)
            yield (
                scale * (1 + unit * source.randrange(8)),
                scale * (1 - unit * source.randrange(8)),
                source.choice((1, -1)) * (1 + source.randrange(2**20) * unit),
            )
        elif style == 1:
            a, b = source.randint(-(2**12), 2**12), source.randint(-(2**12), 2**12)
            yield float(a), float(b), source.randint(-(2**23), 2**23) * 2.0 ** source.randint(-30, 30)
        elif style == 2:
            a, b = source.gauss(0, 1), source.gauss(0, 1)
            yield a, b, -a * b
        elif style == 3:
            low = -70 if mantissa == 23 else -530
            tail = -135 if mantissa == 23 else -1060
            yield source.gauss(0, 1) * 2.0**low, source.gauss(0, 1) * 2.0**low, source.gauss(0, 1) * 2.0**tail
        else:
            yield source.gauss(0, 1), source.gauss(0, 1), source.gauss(0, 1) * 2.0 ** source.randint(-60, 60)


@pytest.mark.parametrize(("kind", "function"), [("f32", "fmaf"), ("f64", "fma")])
def test_fma_equals_the_c_library_on_hard_cases(kind, function):
    dtype, c_type = (np.float32, ctypes.c_float) if kind == "f32" else (np.float64, ctypes.c_double)
    rows = np.array(list(hard_triples(6000, 23 if kind == "f32" else 52, 5))).astype(dtype)
    fma = getattr(ctypes.CDLL(ctypes.util.find_library("m")), function)
    fma.argtypes, fma.restype = [c_type] * 3, c_type
    expected = np.array([fma(*map(float, row)) for row in rows], dtype)
    with np.errstate(all="ignore"):
        actual = ref.bind(f"fma.rn.{kind} %d, %a, %b, %c;").compute(*(rows[None, :, i].copy() for i in range(3)))
    assert actual[0].tobytes() == expected.tobytes()
    naive = (rows[:, 0].astype(np.float64) * rows[:, 1] + rows[:, 2]).astype(dtype)
    assert (naive != expected).any(), "no case distinguishes fma from a rounded product"


@given(st.lists(st.tuples(*[st.floats(width=32)] * 3), min_size=1, max_size=16))
@settings(deadline=None)
def test_fma_f32_rounds_once_whatever_the_inputs(rows):
    columns = [[int(np.float32(value).view(np.uint32)) for value in column] for column in zip(*rows, strict=True)]
    check_floats("fma.rn.f32 %d, %a, %b, %c;", ieee("fma", "f32"), "f32", columns)


@given(st.lists(st.tuples(*[st.floats(width=64)] * 3), min_size=1, max_size=8), st.sampled_from(MODES))
@settings(deadline=None)
def test_fma_f64_rounds_once_whatever_the_inputs(rows, mode):
    columns = [[int(np.float64(value).view(np.uint64)) for value in column] for column in zip(*rows, strict=True)]
    check_floats(f"fma.{mode}.f64 %d, %a, %b, %c;", ieee("fma", "f64", mode=mode), "f64", columns)


def test_a_product_is_flushed_if_it_is_tiny_before_it_meets_the_subnormal_grid():
    """Expected values are from constant folding by ptxas 13.0."""
    below, rounds_up = (0x3F7FFFFF, 0x00800000), (0x3F000400, 0x00FFF800)
    assert ref.run("mul.rn.f32 %d, %a, %b;", *zip(below, rounds_up, strict=True))[0] == [0x00800000, 0x00800000]
    assert ref.run("mul.rn.ftz.f32 %d, %a, %b;", *zip(below, rounds_up, strict=True))[0] == [0, 0x00800000]
    assert ref.run("fma.rn.ftz.f32 %d, %a, %b, %c;", *zip((*below, 0), (*rounds_up, 0), strict=True))[0] == [
        0,
        0x00800000,
    ]


# --- mixed precision ----------------------------------------------------------------------------


def mixed_cases():
    for name, inputs in (("add", 1), ("sub", 1), ("fma", 2)):
        for half in HALF:
            for mode in MODES:
                for sat in ("", ".sat"):
                    yield f"{name}.{mode}{sat}.f32.{half}", name, inputs, half, mode, bool(sat)


MIXED_CASES = list(mixed_cases())


@pytest.mark.parametrize(
    ("opcode", "name", "inputs", "half", "mode", "sat"), MIXED_CASES, ids=[c[0] for c in MIXED_CASES]
)
def test_mixed_precision_converts_first(opcode, name, inputs, half, mode, sat):
    columns = [ref.float_columns(half, 1, 100, seed=i)[0] for i in range(inputs)] + ref.float_columns("f32", 1, 100)
    rows = min(map(len, columns))
    columns = [column[:rows] for column in columns]

    def reference(*bits):
        widened = [ref.encode(ref.decode(value, half), "f32") for value in bits[:-1]]
        widened = [0x7FC00000 if value == "nan" else value for value in widened]
        return finish(ref.operate(name, "f32", mode, *widened, bits[-1]), "f32", mode=mode, sat=sat)

    check_floats(spelt(opcode, inputs + 1), reference, "f32", columns)


# --- minimum, maximum, sign ---------------------------------------------------------------------


def extreme(name, kind, *, nan=False, magnitude=False, xorsign=False, ftz=False):
    sign = 1 << (ref.FORMATS[kind][0] - 1)

    def key(bits):  # sort key of float bits: total order of numbers, with -0 less than +0
        return -(bits & ~sign) - 1 if bits & sign else bits

    def is_nan(bits):
        return ref.decode(bits, kind) == "nan"

    def compute(*inputs):
        bits = [ref.flush(value, kind) if ftz else value for value in inputs]
        product = (bits[0] ^ bits[1]) & sign
        if magnitude:
            bits = [value & ~sign for value in bits]
        numbers = [value for value in bits if not is_nan(value)]
        if not numbers or (nan and len(numbers) < len(bits)):
            return ref.NAN.get(kind, "nan")
        result = (min if name == "min" else max)(numbers, key=key)
        return (result & ~sign) | product if xorsign else result

    return compute


def extreme_cases():
    for name in ("min", "max"):
        for kind in ("f32", "f16", "bf16"):
            flushes = ("", ".ftz") if kind != "bf16" else ("",)
            for ftz in flushes:
                for nan in ("", ".NaN"):
                    for sign in ("", ".xorsign.abs"):
                        flags = {"nan": bool(nan), "magnitude": bool(sign), "xorsign": bool(sign), "ftz": bool(ftz)}
                        yield f"{name}{ftz}{nan}{sign}.{kind}", 2, kind, extreme(name, kind, **flags)
        for nan in ("", ".NaN"):
            for absolute in ("", ".abs"):
                flags = {"nan": bool(nan), "magnitude": bool(absolute)}
                yield f"{name}{nan}{absolute}.f32", 3, "f32", extreme(name, "f32", **flags)
        yield f"{name}.f64", 2, "f64", extreme(name, "f64")


EXTREME_CASES = list(extreme_cases())


@pytest.mark.parametrize(
    ("opcode", "arity", "kind", "reference"), EXTREME_CASES, ids=[f"{c[0]}-{c[1]}" for c in EXTREME_CASES]
)
def test_minimum_and_maximum_order_zeros_and_treat_nan_as_told(opcode, arity, kind, reference):
    check_floats(spelt(opcode, arity), reference, kind, ref.float_columns(kind, arity, 400))


@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "bf16", "f16x2", "bf16x2"])
@pytest.mark.parametrize("ftz", ["", ".ftz"])
@pytest.mark.parametrize("name", ["neg", "abs"])
def test_neg_and_abs_change_the_sign_of_numbers_only(name, ftz, kind):
    if ftz and kind in {"f64", "bf16", "bf16x2"}:
        with pytest.raises(ref.NoSemantics):
            ref.bind(f"{name}.ftz.{kind} %d, %a;")
        return
    element, size = PACKED.get(kind, (kind, ref.width(kind)))
    sign = 1 << (size - 1)

    def reference(bits):
        bits = ref.flush(bits, element) if ftz else bits
        if element != "f64" and ref.decode(bits, element) == "nan":
            return ref.NAN[element]
        return bits ^ sign if name == "neg" else bits & ~sign

    columns = packed_columns(kind, 1) if kind in PACKED else ref.float_columns(kind, 1)
    ref.check(f"{name}{ftz}.{kind} %d, %a;", in_pairs(reference, size) if kind in PACKED else reference, columns)


SIGN_CASES = [f"copysign.{kind}" for kind in ("f32", "f64")]


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_copysign_takes_the_sign_of_its_first_source(kind):
    sign = 1 << (ref.FORMATS[kind][0] - 1)
    ref.check(f"copysign.{kind} %d, %a, %b;", lambda a, b: (a & sign) | (b & ~sign), ref.float_columns(kind, 2))


CLASSES = {
    "finite": lambda bits, kind: ref.decode(bits, kind) not in {"nan", "inf", "-inf"},
    "infinite": lambda bits, kind: ref.decode(bits, kind) in {"inf", "-inf"},
    "number": lambda bits, kind: ref.decode(bits, kind) != "nan",
    "notanumber": lambda bits, kind: ref.decode(bits, kind) == "nan",
    "normal": lambda bits, kind: (
        ref.decode(bits, kind) not in {"nan", "inf", "-inf"} and not ref.is_subnormal(bits, kind)
    ),
    "subnormal": ref.is_subnormal,
}


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", CLASSES)
def test_testp_knows_the_class_of_a_number(name, kind):
    ref.check(f"testp.{name}.{kind} %p, %a;", lambda bits: CLASSES[name](bits, kind), ref.float_columns(kind, 1))


# --- comparisons --------------------------------------------------------------------------------

ORDERED = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
BOOLEAN = {"and": lambda t, c: t and c, "or": lambda t, c: t or c, "xor": lambda t, c: t != c}
FLOATS = ("f32", "f64", "f16", "bf16")


def float_truth(operator, kind, *, ftz=False):
    @cache
    def truth(a, b):
        a, b = (ref.to_float(ref.flush(v, kind) if ftz else v, kind) for v in (a, b))
        unordered = math.isnan(a) or math.isnan(b)
        if operator in {"num", "nan"}:
            return unordered == (operator == "nan")
        if unordered:
            return operator.endswith("u")
        return ORDERED[operator.removesuffix("u")](a, b)

    return truth


FLOAT_OPERATORS = (*ORDERED, *(f"{name}u" for name in ORDERED), "num", "nan")


def truth_cases():
    for kind in FLOATS:
        for operator in FLOAT_OPERATORS:
            yield operator, "", kind, float_truth(operator, kind)
    for kind in ("f32", "f16"):
        yield "gt", ".ftz", kind, float_truth("gt", kind, ftz=True)
    for kind in ("u16", "u32", "u64", "s16", "s32", "s64", "b16", "b32", "b64"):
        for operator, function in ORDERED.items():
            if kind[0] != "b" or operator in {"eq", "ne"}:
                yield operator, "", kind, function
    for kind in ("u16", "u32", "u64"):
        for operator, same in UNSIGNED.items():
            yield operator, "", kind, ORDERED[same]


TRUTH_CASES = list(truth_cases())


def compared_columns(kind):
    columns = ref.float_columns(kind, 2, 150) if kind in FLOATS else ref.integer_columns((kind, kind), 150)
    return [*columns, [i % 3 == 0 for i in range(len(columns[0]))]]


# Destination type of the instruction `set` -> its result for a true comparison.
SET_TARGETS = {
    "u16": 0xFFFF,
    "s16": -1,
    "u32": 0xFFFFFFFF,
    "s32": -1,
    "f16": 0x3C00,
    "bf16": 0x3F80,
    "f32": 0x3F800000,
}


@pytest.mark.parametrize(
    ("operator", "ftz", "kind", "truth"), TRUTH_CASES, ids=[f"{c[0]}{c[1]}.{c[2]}" for c in TRUTH_CASES]
)
def test_setp_and_set_agree_with_the_comparison(operator, ftz, kind, truth):
    a, b, c = compared_columns(kind)
    ref.check(f"setp.{operator}{ftz}.{kind} %p, %a, %b;", truth, [a, b])
    for name, combine in BOOLEAN.items():
        one = lambda x, y, z, f=combine: f(truth(x, y), z)
        ref.check(f"setp.{operator}.{name}{ftz}.{kind} %p, %a, %b, %c;", one, [a, b, c])
        pair = lambda x, y, z, f=combine: (f(truth(x, y), z), f(not truth(x, y), z))
        if kind not in HALF:
            ref.check(f"setp.{operator}.{name}{ftz}.{kind} %p|%q, %a, %b, %c;", pair, [a, b, c])
    for target, true in SET_TARGETS.items():
        if not ref.is_form(f"set.{operator}{ftz}.{target}.{kind} %d, %a, %b;"):
            continue
        plain = lambda x, y, t=true: t if truth(x, y) else 0
        ref.check(f"set.{operator}{ftz}.{target}.{kind} %d, %a, %b;", plain, [a, b])
        combined = lambda x, y, z, t=true: t if truth(x, y) != z else 0
        ref.check(f"set.{operator}.xor{ftz}.{target}.{kind} %d, %a, %b, %c;", combined, [a, b, c])


@pytest.mark.parametrize("packed", ["f16x2", "bf16x2"])
@pytest.mark.parametrize("operator", FLOAT_OPERATORS)
def test_a_packed_comparison_gives_one_truth_per_half(packed, operator):
    kind = PACKED[packed][0]
    truth, (a, b) = float_truth(operator, kind), packed_columns(packed, 2)
    c = [i % 2 == 0 for i in range(len(a))]
    both = lambda x, y: tuple(truth(*row) for row in zip(ref.halves(x), ref.halves(y), strict=True))
    ref.check(f"setp.{operator}.{packed} %p|%q, %a, %b;", both, [a, b])
    (lower, _) = ref.run(f"setp.{operator}.{packed} %p, %a, %b;", a, b)
    assert lower == [both(x, y)[0] for x, y in zip(a, b, strict=True)]
    ref.check(
        f"setp.{operator}.or.{packed} %p|%q, %a, %b, %c;", lambda x, y, z: tuple(t or z for t in both(x, y)), [a, b, c]
    )
    one = ref.encode(Fraction(1), kind)
    ref.check(
        f"set.{operator}.{packed}.{packed} %d, %a, %b;", lambda x, y: ref.pack(one * t for t in both(x, y)), [a, b]
    )
    ref.check(f"set.{operator}.u32.{packed} %d, %a, %b;", lambda x, y: ref.pack(0xFFFF * t for t in both(x, y)), [a, b])
    for target, true in ((packed, one), ("u32", 0xFFFF)):
        combined = lambda x, y, z, one=true: ref.pack(one * (t and z) for t in both(x, y))
        ref.check(f"set.{operator}.and.{target}.{packed} %d, %a, %b, %c;", combined, [a, b, c])


@pytest.mark.parametrize("ftz", ["", ".ftz"])
@pytest.mark.parametrize("kind", ["b16", "u64", "f32", "f64"])
def test_slct_asks_for_the_sign_of_a_float(kind, ftz):
    c = ref.float_columns("f32", 1, 100)[0]
    a, b = list(range(len(c))), list(range(1000, 1000 + len(c)))

    def reference(x, y, z):
        value = ref.to_float(ref.flush(z, "f32") if ftz else z, "f32")
        return x if value >= 0 else y

    ref.check(f"slct{ftz}.{kind}.f32 %d, %a, %b, %c;", reference, [a, b, c])


@pytest.mark.parametrize("kind", ["b16", "f32", "f64", "u64"])
def test_selp_copies_bits_and_nan_payloads_too(kind):
    bits = ref.width(kind)
    a, b = [(1 << bits) - 5] * 4, [(1 << bits) - 9] * 4
    ref.check(f"selp.{kind} %d, %a, %b, %p;", lambda x, y, z: x if z else y, [a, b, [True, False, True, False]])
