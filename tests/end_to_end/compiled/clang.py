"""Kernels that clang compiled from CUDA and OpenCL C, and that LLVM compiled from its own IR."""

from __future__ import annotations

import struct
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from .integers import signed
from .problem import F4, F8, Fresh, Near, Problem, Row, draws

MASK32, MASK64 = (1 << 32) - 1, (1 << 64) - 1
EPS4 = 2.0**-23


def axpy() -> Problem:
    x, y = draws(110).standard_normal((2, 500)).astype(F4)
    exact = y.astype(F8) + F8(F4(-1.3)) * x
    return Problem((y, x, -1.3, 500), {0: Near(exact, EPS4, EPS4 * np.abs(1.3 * x))}, grid=3, block=64)


def vectors() -> Problem:
    random = draws(111)
    x = random.integers(-99, 99, (33, 4)).astype(F4)
    s, c = random.integers(-(1 << 15), 1 << 15, (4, 8), np.int16), random.integers(0, 256, (3, 4), np.uint8)
    after_s, after_c = s.copy(), c.copy()
    after_s[0], after_c[0] = s[1] + s[2] * s[3], c[1] + c[2]
    out = x[:1] * 2 + x[1:2, ::-1]
    return Problem((Fresh((1, 4), F4), x, s, c), {0: out, 2: after_s, 3: after_c}, block=1)


def reduction(dtype: Any, size: int) -> Problem:
    x = draws(112).integers(0, 100, (3, size)).astype(dtype)
    return Problem((Fresh(3, dtype), x), {0: x.sum(axis=1).astype(dtype)}, grid=3, block=size)


def tables(which: int) -> Problem:
    weights = np.array([0.5, -1.25, 3e10, 0.0, -0.0, 1e-40, 7.0], F4)
    primes = np.zeros(300, np.int32)
    primes[:9] = [2, 3, 5, 7, 11, 13, 17, 19, -23]
    text = b'hello "clang"\n\0'[6 if which & 1 else 0 :]
    second, key = (0.0, float(1 << 40)) if which & 1 else (2.5, -1.0)
    exact = weights[which % 7] + primes[:64].astype(F8) + text[which] + second + key
    bound = 8 * EPS4 * (abs(weights[which % 7]) + np.abs(primes[:64]) + text[which] + second + abs(key))
    return Problem((Fresh(64, F4), which), {0: Near(exact, 0, bound)}, block=64)


def wide_and_double() -> Problem:
    words = draws(113).integers(0, 1 << 64, (4, 2), np.uint64)
    numbers = [int(low) | int(high) << 64 for low, high in words]
    product = numbers[1] * numbers[2] - (signed(numbers[3], 128) >> 70)
    after = words.copy()
    after[0] = [product & MASK64, product >> 64 & MASK64]
    d, flags = np.array([0, 2.0, -3.5, -7.9, 1.0]), np.array([0, 1, 0], np.uint8)
    root = np.array([np.sqrt(2.0) + 3.5 - 7, 2.0, -3.5, -7.9, 1.0])
    expected = {0: after, 1: Near(root, 4 * 2.0**-52, 2.0**-50, fast=2.0**-20), 2: np.array([1, 1, 0], np.uint8)}
    return Problem((words, d, flags), expected, block=1)


def half_precision() -> Problem:
    h, b = np.array([0, 1.5, -2.25], np.float16), np.array([0, 3.0, 0.125], ml_dtypes.bfloat16)
    after_b = np.array([3.125, 3.0, 0.125], ml_dtypes.bfloat16)
    expected = {0: np.array([-3.375 + 1.5, 1.5, -2.25], np.float16), 1: after_b.view(np.uint16)}
    return Problem((h, b.view(np.uint16)), expected, block=1)


WIDE = np.dtype([("a", np.int32), ("pad", np.int32), ("b", F8), ("c", np.int16, 5), ("end", np.int16, 3)])


def calls(which: int) -> Problem:
    wide, f, x = np.zeros(2, WIDE), np.zeros(1, np.uint64), np.array([1.5, -3.75, 0, 8.0], F4)
    wide[1] = (40, 0, 2.5, [1, 2, 3, 4, 55], [0, 0, 0])
    packed = wide.view(np.uint8).reshape(2, 32)
    after = wide.copy()
    after[0] = (which + 40, 0, 2.5 * 1.5, [55, 1, 2, 3, -3], [0, 0, 0])
    expected = np.ma.masked_array(after.view(np.uint8).reshape(2, 32), mask=np.zeros((2, 32), bool))
    expected[0, 4:8], expected[0, 26:] = np.ma.masked, np.ma.masked
    after_x = np.array([1.5, -3.75, 4.0 if which & 1 else -8.0, 8.0], F4)
    return Problem((packed, f, x, which), {0: expected, 1: np.zeros(1, np.uint64), 2: after_x}, block=1)


def dispatch() -> Problem:
    # Each value of x[i] selects one case of a switch. The kernel writes all stack slots before it reads them.
    x = np.array([0] * 20 + [1, 4, 2, 5, 6, 9, 0, 2, 3, 8], np.int32)
    n, local, after = len(x), [0] * 20, x.tolist()
    unknown = [True] * 20
    masked = [False] * n
    for i in range(n):
        value = after[i]
        match value:
            case 0:
                local[i % 20], unknown[i % 20] = 5, False
            case 1:
                local[(i + 1) % 20] = after[i + 1]
                continue
            case 2:
                local[i % 20] ^= 0x55
            case 3:
                break
            case 4:
                local[0] += n
            case 5:
                local[1] *= n
            case 6:
                local[2] = int(local[2] / n)
            case _:
                local[3] = i
        after[i], masked[i] = local[i * 7 % 20], unknown[i * 7 % 20]
    found = frozenset({"uninitialized-memory"})
    return Problem((x, n), {0: np.ma.masked_array(np.array(after, np.int32), mask=masked)}, block=1, found=found)


def atomics() -> Problem:
    a, f, w = np.array([10, 3, 3, 0, 7, 1], np.int32), np.array([0, 1.5], F4), np.array([0, 70, 9], np.uint64)
    expected = {
        0: np.ma.masked_array(np.array([11, 7, 5, 0, 7, 1], np.int32), mask=[0, 0, 0, 1, 0, 0]),
        1: np.array([1.5, 3.5], F4),
        2: np.array([79, 77, 1], np.uint64),
    }
    # The CTA has a single thread, so its shuffles name inactive lanes.
    return Problem((a, f, w), expected, block=1, found=frozenset({"inactive-lane"}))


def assembly(first: int) -> Problem:
    x = np.array([first, 10, 0], np.uint32)
    found = frozenset() if first else frozenset({"uninitialized-register"})
    after = np.ma.masked_array(np.array([first, 10, (first + 1) * 10 + 12], np.uint32), mask=[0, 0, first == 0])
    return Problem((x,), {0: after}, block=1, found=found)


def by_value() -> Problem:
    wide = (np.int32(-3), F8(1.25), [np.int16(number) for number in range(1, 6)])
    vector = [F4(number) for number in (1, 2, 40, 8)]
    text = np.array([66], np.int8)
    expected = np.frombuffer(struct.pack("<i4xd5h6x", -3, 41.25, 1, 2, 66, 4, 5), np.uint8)
    known = np.zeros(32, bool)
    known[4:8], known[26:] = True, True
    # Up to clang 19, the structure's padding is copied from an uninitialized stack slot.
    return Problem(
        (wide, text, 6, vector, Fresh(32, np.uint8)),
        {4: np.ma.masked_array(expected, mask=known)},
        block=1,
        tolerated=frozenset({"uninitialized-memory"}),
    )


def count_bits() -> Problem:
    random = draws(114)
    data, wide = random.integers(0, 1 << 32, 20, np.uint32), random.integers(0, 1 << 64, 20, np.uint64)
    narrow = random.integers(0, 256, 20, np.uint8)
    data[0] = 0
    counts = [
        x.bit_count() + 32 - (x | 1).bit_length() + (y >> 33) for x, y in zip(data.tolist(), wide.tolist(), strict=True)
    ]
    after = np.array([count & MASK32 for count in counts], np.uint32)
    return Problem((data, wide, narrow), {0: after, 2: narrow * np.uint8(3) + np.uint8(1)}, block=20)


def llvm_vectors() -> Problem:
    x = draws(115).integers(-9, 9, (4, 8)).astype(F4).reshape(-1)
    x[:4] = np.array([6.0, -9.0]).view(F4)
    with np.errstate(divide="ignore"):
        quotients = np.array([6.0, -9.0]) / np.array([3.0, -0.0])
    # The stores overlap: the doubles are stored last and overwrite the first half of `x + x`.
    out = np.concatenate([quotients.view(np.uint32), (x[4:8] + x[4:8]).view(np.uint32)])
    return Problem((x, Fresh(8, np.uint32)), {1: out}, block=1)


def llvm_integers(value: int, wide: int, flag: int, odd: int) -> Problem:
    product = ((signed(value, 64) * wide) & ((1 << 128) - 1)) >> 37
    t = signed(value, 32)
    q = (abs(t) // 7) * (1 if t >= 0 else -1)
    rotated = ((t & MASK32) << 5 | (q & MASK32) >> 27) & MASK32
    chosen = rotated if flag else odd
    reverse = int(f"{chosen.bit_count():032b}"[::-1], 2)
    v = max(signed(max(reverse - 9, 0), 32), -4) & MASK32
    words = [product & MASK64, product >> 64]
    words[0] = words[0] & ~MASK32 | v
    args = (np.array([value & MASK64, 0], np.uint64), struct.pack("<QQ", wide & MASK64, wide >> 64 & MASK64), flag, odd)
    return Problem(args, {0: np.array(words, np.uint64)}, block=1)


def traced() -> Problem:
    return Problem((Fresh(1, F4), 3.25), {0: np.array([7.5], F4)}, block=1)


ROWS: tuple[Row, ...] = (
    Row("arrays", "axpy", axpy),
    Row("arrays", "vectors", vectors),
    Row("arrays", "reduceIfLj128", partial(reduction, F4, 128)),
    Row("arrays", "reduceIhLj64", partial(reduction, np.uint8, 64)),
    Row("arrays", "reduceIxLj32", partial(reduction, np.int64, 32)),
    Row("arrays", "tables", partial(tables, 1), "1"),
    Row("arrays", "tables", partial(tables, 2), "2"),
    Row("arrays", "wide_and_double", wide_and_double),
    Row("arrays", "half_precision", half_precision),
    Row("control", "calls", partial(calls, 0), "negate"),
    Row("control", "calls", partial(calls, 1), "halve"),
    Row("control", "dispatch", dispatch),
    Row("control", "atomics", atomics),
    Row("control", "assembly", partial(assembly, 5), "taken"),
    Row("control", "by_value", by_value),
    Row("kernels", "count_bits", count_bits),
    Row("arithmetic", "vectors", llvm_vectors),
    Row(
        "arithmetic",
        "integers",
        partial(llvm_integers, 0x123456789ABCDEF0, 0xFEDCBA98765432100123456789, 1, 9),
        "rotated",
    ),
    Row("arithmetic", "integers", partial(llvm_integers, -5, 77, 0, 201), "chosen"),
    Row("debug", "traced", traced),
)
