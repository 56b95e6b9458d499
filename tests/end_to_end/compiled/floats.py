"""The math libraries, half precision, bfloat16 and the narrow float types, as nvcc compiles them."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from .problem import F4, F8, Array, Fresh, Near, Problem, Row, draws

if TYPE_CHECKING:
    from collections.abc import Callable

F2, B2 = np.float16, ml_dtypes.bfloat16
EPS4, EPS8 = 2.0**-23, 2.0**-52


def _bessel_j0(x: float) -> float:
    total = term = 1.0
    for n in range(1, 60):
        term *= -(x * x) / (4 * n * n)
        total += term
    return total


def _round(x: float) -> float:
    return math.copysign(math.floor(abs(x) + 0.5), x)


# name: (reference function of a double, range of the inputs, error in ulp, absolute error). The errors are from the
# table of the CUDA guide, plus 2 ulp for the simulator's approximations.
SINGLE: dict[str, tuple[Callable[[float], float], tuple[float, float], float, float]] = {
    "sin": (math.sin, (-40, 40), 4, 1e-12),
    "cos": (math.cos, (-40, 40), 4, 1e-12),
    "tan": (math.tan, (-40, 40), 6, 1e-12),
    "asin": (math.asin, (-1, 1), 6, 0),
    "atan": (math.atan, (-40, 40), 4, 0),
    "sinh": (math.sinh, (-8, 8), 5, 0),
    "tanh": (math.tanh, (-8, 8), 4, 0),
    "exp": (math.exp, (-80, 80), 4, 0),
    "exp2": (lambda x: 2.0**x, (-100, 100), 4, 0),
    "expm1": (math.expm1, (-8, 8), 3, 0),
    "log": (math.log, (1e-6, 1e6), 3, 0),
    "log2": (math.log2, (1e-6, 1e6), 3, 0),
    "log1p": (math.log1p, (-0.9, 50), 3, 0),
    "sqrt": (math.sqrt, (0, 1e6), 0.5, 0),
    "cbrt": (lambda x: math.copysign(abs(x) ** (1 / 3), x), (-1e6, 1e6), 3, 0),
    "rsqrt": (lambda x: 1 / math.sqrt(x), (1e-6, 1e6), 4, 0),
    "floor": (math.floor, (-99, 99), 0, 0),
    "ceil": (math.ceil, (-99, 99), 0, 0),
    "round": (_round, (-99, 99), 0, 0),
    "rint": (round, (-99, 99), 0, 0),
    "trunc": (math.trunc, (-99, 99), 0, 0),
    "fabs": (math.fabs, (-99, 99), 0, 0),
    "erf": (math.erf, (-4, 4), 4, 0),
    "erfc": (math.erfc, (-4, 8), 6, 0),
    "tgamma": (math.gamma, (0.1, 20), 9, 0),
    "lgamma": (math.lgamma, (3, 60), 8, 0),
    "j0": (_bessel_j0, (0, 7), 9, 1e-6),
    "normcdf": (lambda x: 0.5 * math.erfc(-x / math.sqrt(2)), (-4, 4), 7, 0),
}


def single(name: str) -> Problem:
    function, (low, high), units, absolute = SINGLE[name]
    x = draws(80).uniform(low, high, 96).astype(F4)
    if name in {"round", "rint", "floor", "ceil", "trunc"}:
        x[:9] = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.0, -4.0, 0.49999997]
    exact = np.array([function(float(value)) for value in x], F8)
    fast = {"sin": 2.0**-14, "cos": 2.0**-14, "tan": 2.0**-9, "exp": 2.0**-15}.get(name, 2.0**-19)
    return Problem((x,), {0: Near(exact, units * EPS4, absolute, fast=fast)}, block=96)


def _remainder(x: float, y: float) -> float:
    return math.remainder(x, y)


def binary_functions() -> Problem:
    random = draws(81)
    x, y = random.uniform(0.6, 6, 64).astype(F4), random.uniform(0.3, 3, 64).astype(F4)
    exact, whole_part = [], []
    for a, b in zip(x.astype(F8).tolist(), y.astype(F8).tolist(), strict=True):
        r = a**b + math.atan2(a, b) + math.fmod(a, b) + math.hypot(a, b)
        r += max(a, b) - min(a, b) + a + max(a - b, 0) + a + _remainder(a, b)
        fraction, exponent = math.frexp(a)
        r += fraction + math.ldexp(r, exponent) + 2 * math.floor(math.log2(r))
        part, whole = math.modf(r)
        whole_part.append(abs(r))
        r += part
        exact.append(r + whole + math.sin(math.pi * r) * math.cos(math.pi * r))
    # Errors grow with |r|. sin(πr)·cos(πr) has slope π, so an error of r's fraction may count up to eight times.
    bound = 64 * EPS4 * np.array(whole_part)
    return Problem((x, y), {0: Near(np.array(exact), 0, bound, fast=math.inf)}, block=64)


def fast_intrinsics() -> Problem:
    random = draws(82)
    x, y = random.uniform(0.3, 1.4, 64).astype(F4), random.uniform(0.5, 2, 64).astype(F4)
    a, b = x.astype(F8), y.astype(F8)
    r = np.sin(a) + np.cos(a) + np.exp(a) + 10**a + np.log(a) + np.log10(a) + a**b + a / b + np.minimum(a, 1)
    product = a * b
    r += (a + b) + product + (product + r) + 1 / a + np.sqrt(a) + a / b + 1 / np.sqrt(a) + np.tan(a) + np.tanh(a)
    return Problem((x, y), {0: Near(r, 2e-5, 1e-5)}, block=64)


def trigonometry() -> Problem:
    x = draws(83).uniform(-30, 30, 96)
    x[:32] = draws(84).uniform(-1e8, 1e8, 32)
    exact = [math.sin(a) * math.cos(b) + math.tan(c) for a, b, c in zip(x[:32], x[32:64], x[64:], strict=True)]
    return Problem((x,), {0: Near(np.concatenate([exact, x[32:]]), 8 * EPS8, 4 * EPS8)})


def exponentials() -> Problem:
    x = draws(85).uniform(0.01, 20, 64)
    exact = np.array([math.exp(a) + math.log(b) + math.pow(a, 1.7) for a, b in zip(x[:32], x[32:], strict=True)])
    return Problem((x,), {0: Near(np.concatenate([exact, x[32:]]), 6 * EPS8)})


def roots() -> Problem:
    x = draws(86).uniform(0.01, 2000, 96)
    triples = zip(x[:32].tolist(), x[32:64].tolist(), x[64:].tolist(), strict=True)
    exact = [math.sqrt(a) / b + 1 / math.sqrt(c) + a ** (1 / 3) for a, b, c in triples]
    return Problem((x,), {0: Near(np.concatenate([exact, x[32:]]), 4 * EPS8)})


def special() -> Problem:
    x = draws(87).uniform(0.1, 9, 96)
    triples = zip(x[:32].tolist(), x[32:64].tolist(), x[64:].tolist(), strict=True)
    exact = [math.erf(a) + math.gamma(b) + math.atan2(a, c) for a, b, c in triples]
    return Problem((x,), {0: Near(np.concatenate([exact, x[32:]]), 12 * EPS8)})


def rounding() -> Problem:
    x = draws(88).uniform(0.1, 1e6, 32)
    terms = [np.floor(x), np.rint(x), x + 1, x * 3, x * x + 1, 1 / x, x / 7, np.sqrt(x)]
    bits = x.view(np.int64)
    low = (bits & 0xFFFFFFFF).astype(np.uint32).view(np.int32).astype(np.int64)
    n = np.rint(x).astype(np.int64) + np.floor(x).astype(np.int64) + bits + (bits >> 32) + low
    exact = np.sum(terms, axis=0)
    # Partial sums of `terms` are smaller than the final sum, so each addition errs by at most one ulp of the final sum.
    return Problem((x, Fresh(32, np.int64)), {0: Near(exact, 10 * EPS8), 1: n})


def h(value: Any) -> Array:
    """Round doubles to half precision; return the results as doubles."""
    return np.asarray(value, F8).astype(F2).astype(F8)


def halves() -> Problem:
    random = draws(89)
    x = random.uniform(0.25, 2, 64).astype(F2)
    f = random.uniform(-9, 9, 64).astype(F4)
    a, b = x[:32].astype(F8), x[32:].astype(F8)
    r = h(a + b)
    r = h(r * a + b)
    r = np.clip(h(h(r * a) - -b), 0, 1)
    r = np.where(a > b, np.maximum(r, a), np.minimum(r, b))
    r = h(r / b)
    out = np.zeros(96)
    out[:32] = h(h(np.sqrt(r)) + h(np.exp(h(np.log2(r)))))
    zero_rounded = np.array(
        [
            np.nextafter(v, F2(0)) if abs(F8(v)) > abs(F8(w)) else v
            for v, w in zip(f[32:].astype(F2), f[32:], strict=True)
        ]
    )
    out[32:64] = zero_rounded.astype(F8)
    out[64:] = 1 + 2 * np.arange(32)
    single = r + h(1 / a) + np.rint(b) + np.trunc(a) + np.ceil(b)
    expected_f = np.concatenate([single, f[32:]])
    bound = np.concatenate([np.full(32, 2.0**-9), np.zeros(64)])
    return Problem(
        (Fresh(96, F2), x, f),
        {0: Near(out, 2.0**-9 * (np.arange(96) < 32), bound), 2: Near(expected_f, 2.0**-9 * (np.arange(64) < 32))},
    )


def half_pairs() -> Problem:
    x = draws(90).uniform(-1.5, 1.5, (64, 2)).astype(F2)
    x[5], x[37] = x[37], x[37]
    a, b = x[:32].astype(F8), x[32:].astype(F8)
    out = np.zeros((160, 2))
    out[:32] = h(a * b + h(a + b))
    low_times_high = np.stack([a[:, 0] * a[:, 1], b[:, 0] * b[:, 1]], axis=1)
    out[32:64] = np.maximum(h(low_times_high + np.tanh(a)), 0)
    out[64:96] = np.clip(h(np.repeat(a[:, :1], 2, 1) * -b), 0, 1)
    out[96:128] = 2 ** h(np.sin(a))
    start = draws(91).integers(-8, 8, (160, 2)).astype(F2)
    out[128:] = h(start[128:].astype(F8) + b)
    equal, less = a == b, a < b
    masks = [sum(0xFFFF << 16 * i for i in range(2) if row[i]) for row in equal.tolist()]
    flags = [(int(e.all()) + int(s.all()) + m) % 2**32 for e, s, m in zip(equal, less, masks, strict=True)]
    bound = np.zeros((160, 1))
    bound[32:64], bound[96:128] = 2.0**-9, 2.0**-9
    expected = {0: Near(out, 0, bound), 2: np.array(flags, np.uint32).view(np.int32)}
    return Problem((start, x, Fresh(32, np.int32)), expected)


def b(value: Any) -> Array:
    """Round to bfloat16 (through single precision, which does not change the test values); return doubles."""
    return np.asarray(value, F8).astype(F4).astype(B2).astype(F8)


def brain_floats() -> Problem:
    random = draws(92)
    x, f = random.uniform(0.1, 4, 64).astype(B2), random.uniform(-9, 9, 64).astype(F4)
    p, q = x[:32].astype(F8), x[32:].astype(F8)
    out = np.concatenate(
        [
            b(p * q + b(p + q)),
            np.where(p < q, b(p * q), b(p - q)),
            f[32:].astype(B2).astype(F8),
            b(3.25 * np.arange(32)),
        ]
    )
    single = np.concatenate([p + b(1 / np.sqrt(q)), f[32:]])
    args = (Fresh(128, np.uint16), x.view(np.uint16), f)
    words = out.astype(B2).view(np.uint16)
    return Problem(args, {0: words, 2: Near(single, 2.0**-8 * (np.arange(64) < 32))})


def brain_pairs() -> Problem:
    random = draws(93)
    x, f = random.uniform(-4, 4, (64, 2)).astype(B2), np.zeros((32, 2), F4)
    p, q = x[:32].astype(F8), x[32:].astype(F8)
    start = random.integers(-8, 8, (128, 2)).astype(B2)
    out = np.concatenate([b(p * q + np.maximum(p, q)), p, np.zeros((32, 2)), b(start[96:].astype(F8) + p)])
    words = np.ma.masked_array(out.astype(B2).view(np.uint16), mask=np.zeros((128, 2), bool))
    words[64:96] = np.ma.masked
    args = (start.view(np.uint16), x.view(np.uint16), f)
    return Problem(args, {0: words, 2: p.astype(F4)})


def calls_with_halves() -> Problem:
    x, y = np.array([[0, 0], [1.5, -2.25]], F2), np.array([1.75], B2)
    after = np.stack([x[1] * F2(1.75), x[1]])
    return Problem((x, y.view(np.uint16)), {0: after}, block=1)


E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


def _codes(values: Array, dtype: Any) -> Array:
    return np.asarray(values.astype(dtype).view(np.uint8))


def eights() -> Problem:
    random = draws(94)
    f = (random.standard_normal(32) * 10.0 ** random.integers(-2, 3, 32)).astype(F4).clip(-440, 440)
    hs, d = random.uniform(-400, 400, 32).astype(F2), random.uniform(-40000, 40000, 32)
    codes = [_codes(f, E4M3), _codes(f, E5M2), _codes(hs, E4M3), _codes(d.astype(F4), E5M2)]
    after = f.astype(E4M3).astype(F4) + f.astype(E5M2).astype(F4)
    return Problem((Fresh(128, np.uint8), f, hs, d), {0: np.concatenate(codes), 1: after})


def eights_in_pairs() -> Problem:
    random = draws(95)
    f, hs = random.uniform(-440, 440, (32, 2)).astype(F4), random.uniform(-40000, 40000, (32, 2)).astype(F2)
    q = random.uniform(-440, 440, (32, 4)).astype(F4)
    first, second = _codes(f, E4M3), _codes(hs, E5M2)
    out = np.concatenate([first, second]).view(np.uint16).ravel()
    pairs = first.view(E5M2).astype(F2)
    four = _codes(q, E4M3)
    # Each thread reads a byte that its neighbor writes: a data race in the kernel, so argument 1 is not compared.
    args = (Fresh(64, np.uint16), f, hs, np.zeros((33, 4), np.uint8), q)
    return Problem(
        args,
        {0: out, 2: pairs, 3: np.concatenate([four, np.zeros((1, 4), np.uint8)])},
        found=frozenset({"lane-race"}),
    )


def sixes_and_fours() -> Problem:
    random = draws(96)
    f = random.uniform(-5.5, 5.5, (32, 2)).astype(F4)
    six, other, four = ml_dtypes.float6_e3m2fn, ml_dtypes.float6_e2m3fn, ml_dtypes.float4_e2m1fn
    sixes = np.concatenate([_codes(f, six), _codes(f, other)]).view(np.uint16).ravel()
    nibbles = _codes(f, four)
    back = np.concatenate([f.astype(six).astype(F2), f.astype(four).astype(F2)])
    args = (Fresh(64, np.uint16), Fresh(32, np.uint8), f, Fresh((64, 2), F2))
    return Problem(args, {0: sixes, 1: nibbles[:, 0] | nibbles[:, 1] << 4, 3: back})


def scales() -> Problem:
    f = np.exp2(draws(97).uniform(-60, 60, 32)).astype(F4)
    codes = (np.ceil(np.log2(f.astype(F8))) + 127).astype(np.uint8)
    pairs = np.stack([np.exp2(codes.astype(F8) - 127), np.full(32, 2.0**-127)], axis=1)
    return Problem((Fresh(32, np.uint8), f, Fresh((32, 2), np.uint16)), {0: codes, 2: pairs.astype(B2).view(np.uint16)})


ROWS: tuple[Row, ...] = (
    *(Row("math_single", f"s_{name}", partial(single, name)) for name in SINGLE),
    Row("math_single", "binary_functions", binary_functions),
    Row("math_single", "fast_intrinsics", fast_intrinsics),
    Row("math_double", "trigonometry", trigonometry),
    Row("math_double", "exponentials", exponentials),
    Row("math_double", "roots_and_quotients", roots),
    Row("math_double", "special", special),
    Row("math_double", "rounding", rounding),
    Row("half", "halves", halves),
    Row("half", "half_pairs", half_pairs),
    Row("half", "brain_floats", brain_floats),
    Row("half", "brain_pairs", brain_pairs),
    Row("half", "calls_with_halves", calls_with_halves),
    Row("narrow_floats", "eights", eights),
    Row("narrow_floats", "eights_in_pairs", eights_in_pairs),
    Row("narrow_floats", "sixes_and_fours", sixes_and_fours),
    Row("narrow_floats", "scales", scales),
)
