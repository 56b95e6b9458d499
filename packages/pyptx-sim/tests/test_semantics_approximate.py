"""Approximate functions: the manual's error bounds (9.7.3, 9.7.4), and its special values bit for bit."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from . import semantics_reference as ref

pytestmark = pytest.mark.scaled

INF, NAN = math.inf, math.nan
F32 = np.float32


def bits_of(value, kind="f32"):
    bits = ref.from_f64(value, kind)
    return ref.NAN.get(kind, "nan") if bits == "nan" else bits


def results(text, *columns):
    """Return the results of `text` on Python floats, as float64."""
    dtype = np.float64 if text.split()[0].endswith("f64") else F32
    arrays = [np.array(column).astype(dtype)[None, :] for column in columns]
    with np.errstate(all="ignore"):
        return ref.bind(text).compute(*arrays)[0].astype(np.float64)


def ulp(value):
    """Return the ulp of float32 at `value` (an array of float64)."""
    exponent = np.frexp(np.abs(value))[1] - 24
    return np.ldexp(1.0, np.maximum(exponent, -149))


def sample(low, high, count=4000, seed=1):
    picker = random.Random(seed)
    return np.array([picker.uniform(low, high) for _ in range(count)]).astype(F32).astype(np.float64)


def magnitudes(low, high, count=4000, seed=2, *, signs=True):
    """Return float32 numbers spread evenly over powers of two from 2**low to 2**high."""
    picker = random.Random(seed)
    numbers = [picker.choice((1, -1) if signs else (1,)) * 2.0 ** picker.uniform(low, high) for _ in range(count)]
    return np.array(numbers).astype(F32).astype(np.float64)


def relative(actual, exact):
    return np.abs(actual - exact) / np.abs(exact)


# Cases: instruction, inputs, exact function in float64, error bound, and its kind (ulp, relative or absolute).
BOUNDS = [
    ("rcp.approx.f32", magnitudes(-126, 126), lambda x: 1 / x, 1.0, "ulp"),
    ("rcp.approx.f32", magnitudes(-127.9, 127.9), lambda x: 1 / x, 1.0, "ulp"),
    ("sqrt.approx.f32", magnitudes(-149, 127.9, signs=False), np.sqrt, 2.0**-23, "relative"),
    ("rsqrt.approx.f32", magnitudes(-149, 127.9, signs=False), lambda x: 1 / np.sqrt(x), 2.0**-22.9, "relative"),
    ("lg2.approx.f32", sample(0.5, 2), np.log2, 2.0**-22, "absolute"),
    ("lg2.approx.f32", magnitudes(1.001, 127.9, signs=False), np.log2, 2.0**-22, "relative"),
    ("lg2.approx.f32", magnitudes(-149, -1.001, signs=False), np.log2, 2.0**-22, "relative"),
    ("ex2.approx.f32", sample(-149, 128), np.exp2, 2.0, "ulp"),
    ("ex2.approx.f32", magnitudes(-40, 6), np.exp2, 2.0, "ulp"),
    ("sin.approx.f32", sample(-2 * math.pi, 2 * math.pi), np.sin, 2.0**-20.5, "absolute"),
    ("sin.approx.f32", sample(-100 * math.pi, 100 * math.pi), np.sin, 2.0**-14.7, "absolute"),
    ("cos.approx.f32", sample(-2 * math.pi, 2 * math.pi), np.cos, 2.0**-20.5, "absolute"),
    ("cos.approx.f32", sample(-100 * math.pi, 100 * math.pi), np.cos, 2.0**-14.7, "absolute"),
    ("tanh.approx.f32", magnitudes(-140, 6), np.tanh, 2.0**-11, "relative"),
    ("rsqrt.approx.f64", magnitudes(-126, 126, signs=False), lambda x: 1 / np.sqrt(x), 2.0**-51, "relative"),
    ("rcp.approx.ftz.f64", magnitudes(-126, 126), lambda x: 1 / x, 2.0**-19, "relative"),
    ("rsqrt.approx.ftz.f64", magnitudes(-126, 126, signs=False), lambda x: 1 / np.sqrt(x), 2.0**-19, "relative"),
]


@pytest.mark.parametrize(
    ("opcode", "inputs", "exact", "bound", "measure"), BOUNDS, ids=[f"{b[0]}-{b[4]}" for b in BOUNDS]
)
def test_the_error_stays_within_the_manuals_bound(opcode, inputs, exact, bound, measure):
    actual, expected = results(f"{opcode} %d, %a;", inputs), exact(inputs)
    error = np.abs(actual - expected)
    if measure == "relative":
        error = error / np.abs(expected)
    elif measure == "ulp":
        error = error / ulp(expected)
    worst = error.argmax()
    assert error.max() <= bound, f"{opcode} of {inputs[worst]!r} is off by {error[worst]}, allowed {bound}"


@pytest.mark.parametrize("name", ["div.approx.f32", "div.full.f32"])
def test_approximate_quotients_are_within_two_ulp(name):
    a, b = magnitudes(-60, 60, seed=5), magnitudes(-60, 60, seed=6)
    assert (np.abs(results(f"{name} %d, %a, %b;", a, b) - a / b) <= 2 * ulp(a / b)).all()


def test_div_approx_by_a_huge_divisor_gives_zero_or_nan():
    huge = 1.5 * 2.0**126
    actual = ref.run(
        "div.approx.f32 %d, %a, %b;",
        *[[bits_of(v) for v in c] for c in ((1, -1, 1, INF, -INF, NAN), (huge, huge, -huge, huge, huge, huge))],
    )[0]
    assert actual == [0, 0x80000000, 0x80000000, 0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF]
    assert ref.run("div.approx.f32 %d, %a, %b;", [bits_of(1.0)], [bits_of(INF)])[0] == [0]


# Instruction -> (input, result) pairs from the manual's tables of special values.
SPECIAL = {
    "rcp.approx.f32": ((-INF, -0.0), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN)),
    "rcp.approx.ftz.f32": ((-1e-40, -INF), (1e-40, INF), (2.0**127, 0.0), (-(2.0**127), -0.0)),
    "rcp.approx.ftz.f64": ((-INF, -0.0), (-1e-310, -INF), (-0.0, -INF), (0.0, INF), (1e-310, INF), (INF, 0.0)),
    "sqrt.approx.f32": ((-INF, NAN), (-1.0, NAN), (-0.0, -0.0), (0.0, 0.0), (INF, INF), (NAN, NAN)),
    "sqrt.approx.ftz.f32": ((1e-40, 0.0), (-1e-40, -0.0)),
    "rsqrt.approx.f32": ((-INF, NAN), (-1.0, NAN), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN)),
    "rsqrt.approx.ftz.f32": ((1e-40, INF), (-1e-40, -INF)),
    "rsqrt.approx.f64": ((-INF, NAN), (-1.0, NAN), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN)),
    "rsqrt.approx.ftz.f64": ((-INF, NAN), (-1e-310, -INF), (-0.0, -INF), (0.0, INF), (1e-310, INF), (INF, 0.0)),
    "sin.approx.f32": ((-INF, NAN), (-0.0, -0.0), (0.0, 0.0), (INF, NAN), (NAN, NAN)),
    "sin.approx.ftz.f32": ((1e-40, 0.0), (-1e-40, -0.0)),
    "cos.approx.f32": ((-INF, NAN), (-0.0, 1.0), (0.0, 1.0), (INF, NAN), (NAN, NAN)),
    "cos.approx.ftz.f32": ((1e-40, 1.0),),
    "lg2.approx.f32": ((-INF, NAN), (-1.0, NAN), (-0.0, -INF), (0.0, -INF), (INF, INF), (NAN, NAN),
                       (1.0, 0.0), (8.0, 3.0)),
    "lg2.approx.ftz.f32": ((1e-40, -INF),),
    "ex2.approx.f32": ((-INF, 0.0), (-0.0, 1.0), (0.0, 1.0), (INF, INF), (NAN, NAN),
                       (1e-40, 1.0), (10.0, 1024.0), (128.0, INF), (-140.0, 2.0**-140)),
    "ex2.approx.ftz.f32": ((-140.0, 0.0), (1e-40, 1.0)),
    "tanh.approx.f32": ((-INF, -1.0), (-0.0, -0.0), (0.0, 0.0), (INF, 1.0), (NAN, NAN), (1e-40, 1e-40)),
    "div.full.f32": (),
    "div.full.ftz.f32": (),
    "div.approx.ftz.f32": (),
}  # fmt: skip


@pytest.mark.parametrize("opcode", [name for name, table in SPECIAL.items() if table])
def test_special_values_are_those_of_the_manuals_table(opcode):
    kind = "f64" if opcode.endswith("f64") else "f32"
    for value, expected in SPECIAL[opcode]:
        (actual,) = ref.run(
            f"{opcode} %d, %a;", [bits_of(value, kind) if not math.isnan(value) else ref.float_edges(kind)[-1]]
        )[0]
        if kind == "f64" and math.isnan(expected):
            assert ref.decode(actual, kind) == "nan", (opcode, value)
        else:
            assert actual == bits_of(expected, kind), (opcode, value, hex(actual))


@pytest.mark.parametrize("opcode", ["rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64"])
def test_the_high_word_approximations_read_and_write_the_high_word_only(opcode):
    source = [bits & 0xFFFFFFFF00000000 for bits in ref.float_columns("f64", 1)[0]]
    plain = ref.run(f"{opcode} %d, %a;", source)[0]
    # Only the upper 32 bits count: an infinity with a nonzero low word encodes a NaN, but has an infinity's result.
    assert ref.run(f"{opcode} %d, %a;", [bits | 0xDEADBEEF for bits in source])[0] == plain
    assert not any(bits & 0xFFFFFFFF for bits in plain)
    nans = {result for bits, result in zip(source, plain, strict=True) if ref.decode(bits, "f64") == "nan"}
    assert nans == {0x7FFFFFFF00000000}


def test_flushing_quotients_flush_inputs_and_results():
    tiny, one = 1, bits_of(1.0)
    for name in ("div.full.ftz.f32", "div.approx.ftz.f32"):
        assert ref.run(f"{name} %d, %a, %b;", [tiny, one, bits_of(2.0**-100)], [one, tiny, bits_of(2.0**40)])[0] == [
            0,
            bits_of(INF),
            0,
        ]


# --- half precision -----------------------------------------------------------------------------

HALF_BOUNDS = [
    ("tanh.approx.f16", np.tanh, 2.0**-10.987, "absolute"),
    ("tanh.approx.bf16", np.tanh, 2.0**-8, "absolute"),
    ("ex2.approx.f16", np.exp2, 2.0**-9.9, "relative"),
    ("ex2.approx.ftz.bf16", np.exp2, 2.0**-7, "relative"),
]


def halves(bits, kind):
    """Return f16 or bf16 bits as float64."""
    if kind == "f16":
        return np.array(bits, np.uint16).view(np.float16).astype(np.float64)
    return (np.array(bits, np.uint32) << 16).view(F32).astype(np.float64)


@pytest.mark.parametrize(("opcode", "exact", "bound", "measure"), HALF_BOUNDS, ids=[case[0] for case in HALF_BOUNDS])
def test_every_half_is_within_the_bound(opcode, exact, bound, measure):
    kind = opcode.split(".")[-1]
    source = list(range(1 << 16))
    actual = ref.run(f"{opcode} %d, %a;", source)[0]
    with np.errstate(all="ignore"):
        values, got = halves(source, kind), halves(actual, kind)
        expected = exact(values)
    least = 2.0**-14 if kind == "f16" else 2.0**-126
    normal = np.isfinite(values) & (np.abs(expected) >= least) & (np.abs(expected) < (65504 if kind == "f16" else 3e38))
    error = np.abs(got[normal] - expected[normal])
    assert (error / (np.abs(expected[normal]) if measure == "relative" else 1)).max() <= bound
    nans = np.isnan(values)
    assert set(np.array(actual)[nans]) == {0x7FFF}
    packed = ref.run(f"{opcode}x2 %d, %a;", [ref.pack((bits, source[-1 - bits])) for bits in source[::7]])[0]
    assert packed == [ref.pack((actual[bits], actual[source[-1 - bits]])) for bits in source[::7]]


HALF_SPECIAL = {
    "ex2.approx.ftz.bf16": {
        0xFF80: 0,
        0x8001: 0x3F80,
        0x8000: 0x3F80,
        0: 0x3F80,
        1: 0x3F80,
        0x7F80: 0x7F80,
        0x7FC1: 0x7FFF,
    },
    "ex2.approx.f16": {0xFC00: 0, 0x8000: 0x3C00, 0: 0x3C00, 0x7C00: 0x7C00, 0x7E01: 0x7FFF},
    "tanh.approx.f16": {0xFC00: 0xBC00, 0x8000: 0x8000, 0: 0, 0x7C00: 0x3C00, 0x7E01: 0x7FFF},
    "tanh.approx.bf16": {0xFF80: 0xBF80, 0x8000: 0x8000, 0: 0, 0x7F80: 0x3F80, 0x7FC1: 0x7FFF},
}


@pytest.mark.parametrize("opcode", HALF_SPECIAL)
def test_special_halves_are_those_of_the_manuals_table(opcode):
    table = HALF_SPECIAL[opcode]
    assert ref.run(f"{opcode} %d, %a;", list(table))[0] == list(table.values())
