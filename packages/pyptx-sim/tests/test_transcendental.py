"""Transcendental functions are correctly rounded, independent of the last bits of the math library."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest

from pyptx_sim.numerics import transcendental
from pyptx_sim.numerics.transcendental import correctly_rounded

HEX = float.fromhex
NEAR = {
    "exp2": [HEX("-0x1.3e53bcp-3")],
    "log2": [HEX("0x1.40f572p-2"), HEX("0x1.40f572p1")],
    "sin": [HEX("0x1.e7061ep-2"), HEX("0x1.a88a50p6"), HEX("0x1.e35bc6p7")],
    "cos": [HEX("0x1.6f1b70p5"), HEX("0x1.8f219cp5"), HEX("0x1.41c470p16")],
}
"""Arguments whose results are within 4 ulp of float64 of the midpoint between two float32 numbers."""
NAMES = [*NEAR, "tanh"]
UNITS = 8 * 2.0**-52
LARGE = 1e6  # above this argument, tanh is 1, and exp exceeds the range of `decimal`


def exact_of(name):
    return transcendental._precise(getattr(transcendental, f"_{name}"))


def arguments(name):
    random = np.random.default_rng(len(name))
    x = random.standard_normal(20_000) * np.exp2(random.integers(-20, 7, 20_000))
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e38, 1e-45, -149.0, -149.5, -150.0, -130.3, 127.9, 128.0]
    return np.array([*NEAR.get(name, ()), *special, *(abs(x) if name == "log2" else x)]).astype(np.float32)[None]


@pytest.mark.parametrize("name", NAMES)
def test_a_library_that_is_off_by_some_units_gives_the_same_bits(name):
    x, library = arguments(name), getattr(np, name)
    off = [lambda a, error=error: library(a) * (1 + error) for error in (-UNITS, UNITS)]
    with np.errstate(all="ignore"):
        wanted = getattr(transcendental, name)(x).view(np.uint32)
        for each in off:
            np.testing.assert_array_equal(correctly_rounded(each, exact_of(name))(x).view(np.uint32), wanted)
        if name in NEAR:  # the two inexact libraries differ without `correctly_rounded`
            low, high = (each(x.astype(np.float64)).astype(np.float32) for each in off)
            assert (low != high)[0, : len(NEAR[name])].all()


@pytest.mark.parametrize("name", NAMES)
def test_results_are_the_float32_next_to_the_exact_one(name):
    x, exact = arguments(name)[:, :200], exact_of(name)
    with np.errstate(all="ignore"):
        found = getattr(transcendental, name)(x)
    for argument, result in zip(x[0].tolist(), found[0], strict=True):
        if not math.isfinite(result) or not abs(argument) < LARGE or (name == "log2" and argument <= 0):
            continue
        off = [abs(Decimal(float(each)) - exact(argument)) for each in (result, *neighbors(result))]
        assert off[0] == min(off), argument


def neighbors(number):
    """Return the finite neighbors of a float32 number."""
    both = (np.nextafter(number, np.float32(end)) for end in (-np.inf, np.inf))
    return [each for each in both if np.isfinite(each)]


@pytest.mark.parametrize("x", [1e-30, 0.7, 3.0, -100.25, 1e10, 3e38])
def test_sines_and_cosines_are_those_of_one_angle(x):
    sine, cosine = exact_of("sin")(x), exact_of("cos")(x)
    assert abs(sine * sine + cosine * cosine - 1) < Decimal("1e-26")
    assert math.isclose(sine, math.sin(x), rel_tol=1e-15)
    assert math.isclose(cosine, math.cos(x), rel_tol=1e-15)


def test_the_middle_between_zero_and_the_least_number_goes_to_zero():
    assert transcendental.exp2(np.array([[-150.0]], np.float32)) == 0
