"""Reference of the MMA tests: one element at a time, in exact arithmetic."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from functools import cache

import numpy as np

WIDTHS = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "f32": 32,
    "f64": 64,
    **dict.fromkeys(("e4m3", "e5m2", "e3m2", "e2m3", "e2m1"), 8),
}
WIDTHS |= {"s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "s32": 32, "u16": 16}
FORMATS = {"e4m3": (4, 3), "e5m2": (5, 2), "e3m2": (3, 2), "e2m3": (2, 3), "e2m1": (2, 1)}


def value(bits, element):
    """Return the number that an element's bits encode."""
    if element[0] in "us" or element == "b1":
        width = WIDTHS[element]
        return bits - (1 << width) if element[0] == "s" and bits >> (width - 1) else bits
    if element in FORMATS:
        exponent_bits, mantissa_bits = FORMATS[element]
        held = bits >> 2 if element == "e2m1" else bits  # an e2m1 element occupies bits 2 to 5 of its byte
        return small_float(held & ((2 << (exponent_bits + mantissa_bits)) - 1), exponent_bits, mantissa_bits)
    if element == "f64":
        return struct.unpack("<d", struct.pack("<Q", bits))[0]
    if element == "f16":
        return struct.unpack("<e", struct.pack("<H", bits))[0]
    word = bits << 16 if element == "bf16" else bits & ~0x1FFF if element == "tf32" else bits
    return struct.unpack("<f", struct.pack("<I", word))[0]


def small_float(bits, exponent_bits, mantissa_bits):
    mantissa = bits & ((1 << mantissa_bits) - 1)
    exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1)
    sign = -1 if bits >> (exponent_bits + mantissa_bits) else 1
    bias = (1 << (exponent_bits - 1)) - 1
    special = exponent == (1 << exponent_bits) - 1 and (exponent_bits == 5 or (exponent_bits == 4 and mantissa == 7))
    if special:
        return sign * math.inf if exponent_bits == 5 and mantissa == 0 else math.nan
    if exponent == 0:
        return sign * mantissa * 2.0 ** (1 - bias - mantissa_bits)
    return sign * (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)


@cache
def layout(fragment):
    """Return for each element of a fragment: lane, register, shift in the register, and (MMA, row, column)."""
    return tuple(
        (
            lane,
            index // fragment.packed,
            index % fragment.packed * fragment.bits,
            (fragment.product(lane, index), fragment.row(lane, index), fragment.column(lane, index)),
        )
        for lane in range(32)
        for index in range(fragment.count)
    )


def matrix(fragment, registers, element):
    """Return the values of a matrix by (MMA, row, column), from one warp's registers `[register][lane]`."""
    found = {}
    words = [register.tolist() for register in registers]
    for lane, register, shift, place in layout(fragment):
        number = value(words[register][lane] >> shift & ((1 << fragment.bits) - 1), element)
        assert found.setdefault(place, number) == number or number != number
    return found


def terms(a, b, place, k):
    product, row, column = place
    return [(a[product, row, i], b[product, i, column]) for i in range(k)]


def random_bits(random, element, shape):
    """Return bits of finite numbers, including small and large ones, zeros of both signs and subnormals."""
    width = WIDTHS[element]
    if element[0] in "us" or element == "b1":
        return random.integers(0, 1 << width, shape, dtype=np.uint64)
    if width == 8:  # e4m3 up to 3.75 and e5m2 up to 3.5, so that no f16 accumulator overflows
        bits = random.integers(0, 256, shape, dtype=np.uint64)
        if element not in {"e4m3", "e5m2"}:
            return bits
        return bits & np.uint64(0x80) | (bits & np.uint64(0x7F)) % np.uint64(0x48 if element == "e4m3" else 0x44)
    numbers = random.standard_normal(shape) * np.exp2(random.integers(-6, 7, shape))
    numbers = np.where(random.random(shape) < 0.05, 0.0 * np.sign(numbers), numbers)
    numbers = np.where(random.random(shape) < 0.05, numbers * 2.0**-20, numbers)
    if element == "f64":
        return numbers.view(np.uint64)
    if element == "f16":
        return numbers.astype(np.float16).view(np.uint16).astype(np.uint64)
    words = numbers.astype(np.float32).view(np.uint32).astype(np.uint64)
    return words >> np.uint64(16) if element == "bf16" else words


def random_registers(random, fragment, element, warps):
    """Return registers `[register, warp, lane]` with random elements; all copies of an element are equal."""
    registers = np.zeros((fragment.registers, warps, 32), np.uint64)
    shape = (warps, fragment.products, fragment.rows, fragment.columns)
    bits = random_bits(random, element, shape)
    for lane, register, shift, place in layout(fragment):
        registers[register, :, lane] |= bits[(slice(None), *place)] << np.uint64(shift)
    return registers.astype(np.uint64 if fragment.width == 64 else np.uint32)


# --- dot products of the tensor cores ---------------------------------------------------------------------------

LEAST = {"f16": -14, "bf16": -126, "tf32": -126, "f32": -126}
LEAST |= {"e4m3": -6, "e5m2": -14, "e3m2": -2, "e2m3": 0, "e2m1": 0}


def exponent(number, element):
    return max(math.frexp(number)[1] - 1, LEAST[element])


@cache
def power(exponent):
    return Fraction(2) ** exponent


def cut(number, exponent_of_unit):
    unit = power(exponent_of_unit)
    return int(number / unit) * unit


def truncated_sum(pairs, c, types, fraction, length, mantissa):
    """Return the dot product plus `c` by the model of the tensor cores, with Python's exact fractions."""
    d_type, a_type, b_type, kind = types
    for start in range(0, len(pairs), length):
        parts = [
            (Fraction(a) * Fraction(b), exponent(a, a_type) + exponent(b, b_type) if a * b else -126)
            for a, b in pairs[start : start + length]
        ]
        parts.append((Fraction(c), exponent(c, kind) if c else -126))
        greatest = max(each for _, each in parts)
        total = sum(cut(number, greatest - fraction) for number, _ in parts)
        if d_type == "f16":
            c, kind = float(np.float16(float(total))), "f16"
        else:
            size = max(math.frexp(float(total))[1] - 1, -126) if total else -126
            c, kind = float(cut(total, size - mantissa)), "f32"
    return c


# --- MMAs that ptxas emulates because a target's tensor cores lack them ------------------------------------------


def nearest(number, mantissa, least):
    """Return a fraction rounded to nearest even, with `mantissa` fraction bits and a least exponent of `least`."""
    if not number:
        return Fraction(0)
    unit = power(max(math.frexp(number)[1] - 1, least) - mantissa)
    return round(number / unit) * unit


def single(number):
    return nearest(number, 23, -126)


def fused_sum(pairs, c, d_type):
    """Return the result of `fast` numerics: a chain of FMAs in the order of k, plus c; f16 is rounded from f32."""
    mantissa, least = (52, -1022) if d_type == "f64" else (23, -126)
    total = Fraction(0)
    for a, b in pairs:
        total = nearest(total + Fraction(a) * Fraction(b), mantissa, least)
    total = nearest(total + Fraction(c), mantissa, least)
    return float(nearest(total, 10, -14) if d_type == "f16" else total)


def scalar_sum(pairs, c, half):
    """Return a dot product of m8n8k4 on sm_80 and later, in f32 arithmetic.

    An f32 result is a chain of the products, plus `c`. An f16 result is `c` plus pairs of products, rounded at the end.
    """
    products = [Fraction(a) * Fraction(b) for a, b in pairs]
    if not half:
        total = Fraction(0)
        for each in products:
            total = single(total + each)
        return float(single(total + Fraction(c)))
    total = Fraction(c)
    for first, second in zip(products[::2], products[1::2], strict=True):
        total = single(total + single(second + single(first)))
    return float(nearest(total, 10, -14))


def halved_sum(pairs, c, d_type, fraction, length):
    """Return a dot product of 8-bit floats on sm_90 to sm_110: elements as f16, `c` added last.

    The elements in the low halves of the registers are added before those in the high halves.
    """
    total, types = 0.0, (d_type, "f16", "f16", d_type)
    for places in ((0, 1), (2, 3)):
        some = [pair for index, pair in enumerate(pairs) if index % 4 in places]
        total = truncated_sum(some, total, types, fraction, length, 23)
    both = Fraction(total) + Fraction(c)
    return float(nearest(both, 10, -14) if d_type == "f16" else single(both))
