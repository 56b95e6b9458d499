"""Kernels whose threads cooperate: reductions, scans, histograms, GEMM, atomics, warp-level operations."""

from __future__ import annotations

import hashlib
import itertools
import math
import struct
from functools import partial
from typing import Any

import numpy as np

from .problem import F4, F8, Fresh, Near, Problem, Row, draws

EPS4, EPS8 = 2.0**-23, 2.0**-52
MASK32, MASK64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


def block_sum() -> Problem:
    x = draws(30).standard_normal((3, 128)).astype(F4)
    bound = 8 * EPS4 * np.abs(x).sum(axis=1)
    return Problem((x, Fresh(3, F4), bytes(1)), {1: Near(x.astype(F8).sum(axis=1), 0, bound)}, grid=3, block=128)


def block_maximum() -> Problem:
    x = draws(31).standard_normal((3, 64))
    return Problem((x, Fresh(3, F8), bytes(1)), {1: x.max(axis=1)}, grid=3, block=64)


def block_composed() -> Problem:
    x = draws(32).integers(-1000, 1000, (2, 256), np.int64)
    partial_ = x.copy()
    width = 128
    while width:
        low, high = partial_[:, :width], partial_[:, width : 2 * width]
        partial_[:, :width] = np.maximum(low + high, high)
        width //= 2
    return Problem((x, Fresh(2, np.int64), bytes(2)), {1: partial_[:, 0]}, grid=2, block=256)


def fill_box(volume: int) -> Problem:
    coefficients = np.array([3, -2, 1, 2, -1, 1], F4)
    values = np.polyval(coefficients[::-1].astype(F8), np.arange(volume))
    return Problem((Fresh((32, volume), F4), coefficients), {0: np.tile(values, (32, 1)).astype(F4)})


def sum_of_arrays() -> Problem:
    random = draws(33)
    a, b = random.integers(-50, 50, 100).astype(F4), random.integers(-50, 50, 100, np.int32)
    c = random.integers(0, 255, 100, np.uint8)
    return Problem((Fresh(100, F4), 100, a, b, c), {0: a + (b + (c + F4(0.25))).astype(F4)})


def sequences() -> Problem:
    x = np.array([0, 123456789, 0, 40000], np.int32)
    after = x.copy()
    after[0] = np.int64(19 * 123456789).astype(np.int32)
    after[2] = np.int64(6 * (40000 - 65536)).astype(np.int16)
    return Problem((x,), {0: after}, block=1)


def transpose() -> Problem:
    x = draws(34).standard_normal((50, 70)).astype(F4)
    return Problem((Fresh((70, 50), F4), x, 70, 50), {0: x.T}, grid=(3, 2), block=(32, 8))


def exclusive_scan() -> Problem:
    x = draws(35).integers(-1000, 1000, 256, np.int32)
    return Problem((x, 256), {0: np.cumsum(x) - x}, block=128, shared_bytes=1024)


def histogram() -> Problem:
    data, bins = draws(36).integers(0, 256, 3000, np.uint8), np.full(256, 5, np.uint32)
    return Problem((bins, data, 3000), {0: np.bincount(data, minlength=256) + 5}, grid=3, block=128)


def rolling_sum(dtype: Any) -> Problem:
    x = draws(37).integers(0, 90, (9, 128)).astype(dtype)
    total = np.zeros(128, dtype)
    for row in x:
        total = (total + row[::-1]).astype(dtype)
        if (total > 400).any():
            total = total + dtype(0)
        if (total > 1000).any():
            break
    after = total + np.count_nonzero(total > 0) + 1
    args = (Fresh(128, dtype), x, 9)
    return Problem(args, {0: after.astype(dtype)}, block=128, shared_bytes=4 * 128 * dtype().itemsize)


def slots() -> Problem:
    x = draws(38).integers(-3, 1000, 32, np.int32)
    x[3] = -1
    best = int(x.astype(np.int64).view(np.uint64).max()) & MASK32
    taken = (x > 0)[np.arange(32) ^ 1]
    other = np.arange(32) // 2 + 120
    return Problem((x,), {0: np.where(taken, np.uint32(best).view(np.int32), other).astype(np.int32)})


def _integers(cell: int, value: int, bits: int, *, signed: bool) -> int:
    """Apply the template `integers` of atomics.cu to one memory location; return its final value."""
    top, half = (1 << bits) - 1, 1 << (bits - 1)

    def wrap(x: int) -> int:
        x &= top
        return x - (1 << bits) if signed and x >= half else x

    cell = value  # the kernel's atomicExch overwrites the result of its atomicAdd
    cell = max(min(cell, value), value) & value | value
    cell = wrap(cell ^ value)
    if cell == value:
        cell = wrap(value + 1) + value
    cell = max(cell, value)
    if cell == value:
        cell = wrap(value + 2)
    return value


def global_integers() -> Problem:
    a, c, d = np.array([77], np.int32), np.array([99], np.uint64), np.array([5], np.int64)
    b = np.array([11, 0, 3, 40, 8], np.uint32)
    after = b.copy()
    after[0] = _integers(11, 5, 32, signed=False) + 1
    after[1], after[3], after[4] = 63, 39, 0
    after[2] = 40 + 8
    expected = {
        0: np.array([_integers(77, 3, 32, signed=True)], np.int32),
        1: after,
        2: np.array([_integers(99, 7, 64, signed=False)], np.uint64),
        3: np.array([9], np.int64),
    }
    return Problem((a, b, c, d), expected, block=1)


def shared_integers() -> Problem:
    return Problem((Fresh(32, np.uint32),), {}, found=frozenset({"uninitialized-memory"}))


def atomic_floats() -> Problem:
    f, d = np.array([1.0, 2.0, 3.0], F4), np.array([0.25])
    expected = {0: np.array([2.75, 1.5, 8.0], F4), 1: np.array([6.25]), 2: np.array([2.0], F4)}
    return Problem((f, d, Fresh(1, F4)), expected, block=1)


def swap_loops(start: float, narrow: int) -> Problem:
    args = (np.array([start], F4), np.array([narrow, 9], np.uint16))
    after = {0: np.array([max(start, 10.0)], F4), 1: np.array([2 if narrow == 1 else narrow, 9], np.uint16)}
    return Problem(args, after, block=1)


def vector_atomics() -> Problem:
    f, g, out = np.arange(4, dtype=F4), np.array([7, 8], F4), np.array([0, 1 << 40], np.uint64)
    swapped = np.array([7, 1 << 40], np.uint64)  # final words: element 0 after exchange, element 1 after two swaps
    return Problem((f, g, out), {0: f + np.arange(1, 5, dtype=F4), 1: np.array([12, 14], F4), 2: swapped}, block=1)


def ticket_lock() -> Problem:
    expected = {0: np.array([9, 9], np.uint32), 1: np.array([9], np.uint32)}
    return Problem((np.zeros(2, np.uint32), np.zeros(1, np.uint32)), expected, grid=9)


def _orders(cell: int, value: int) -> tuple[int, int]:
    """Apply the template `orders` of atomic_ref.cu to a memory location; return final value and sum of results."""
    total = 3 * cell
    cell = value
    total += cell
    cell += value
    total += cell
    cell = value
    total += cell + max(cell, value)
    expected = value
    cell, expected = (total, value) if cell == expected else (cell, cell)
    cell, expected = (value, expected) if cell == expected else (cell, cell)
    return cell, total + expected


def at_every_scope() -> Problem:
    a, b = np.arange(10, 19, dtype=np.int32), np.arange(20, 29, dtype=np.uint64)
    after_a, after_b = a.copy(), b.copy()
    results = []
    for cells, values in ((after_a, (1, 2, 3)), (after_b, (1, 2))):
        total = 0
        for at, value in enumerate(values):
            cells[at], result = _orders(int(cells[at]), value)
            total += result
        cells[8] = total
        results.append(cells)
    return Problem((a, b), {0: results[0], 1: results[1]}, block=1)


def logical() -> Problem:
    start = 0b11101101
    cell = (start & 7 | 8) ^ 9
    expected = np.array([cell - 1, cell], np.uint32)
    return Problem((np.array([start, 0], np.uint32),), {0: expected}, block=1)


def hand_over() -> Problem:
    args = (np.zeros(1, np.int32), Fresh(64, F4), Fresh(64, F4))
    return Problem(
        args, {0: np.array([1], np.int32), 2: np.ones(64, F4)}, grid=3, block=64, found=frozenset({"global-race"})
    )


def hand_over_once() -> Problem:
    args = (np.zeros(1, np.int32), Fresh(64, F4), Fresh(64, F4))
    return Problem(args, {0: np.array([1], np.int32), 2: np.ones(64, F4)}, grid=2, block=64)


def float_and_narrow() -> Problem:
    f, c, d = np.array([1.25], F4), np.array([255, 3, 4, 5], np.uint8), np.array([9.0])
    expected = {0: np.array([1.75], F4), 1: np.array([0, 3, 4, 5], np.uint8), 2: np.array([1.0])}
    return Problem((f, c, d), expected, block=1)


def shuffles() -> Problem:
    random = draws(40)
    x, wide = random.integers(-1000, 1000, 64, np.int32), random.uniform(-100, 100, 64)
    out = []
    lanes = np.arange(32)
    for first in (0, 32):
        v = x[first : first + 32].astype(np.int64)
        for offset in (16, 8, 4, 2, 1):
            v = v + v[np.where(lanes + offset < 32, lanes + offset, lanes)]
        v = v + v[lanes ^ 5] + v[np.where(lanes >= 3, lanes - 3, lanes)] + v[lanes // 16 * 16 + 7]
        d = np.trunc(wide[first : first + 32][lanes ^ 1]).astype(np.int64)
        out.append(v + d + (v[0] << 20 >> 3))
    return Problem((Fresh(64, np.int32), x, wide), {0: np.concatenate(out).astype(np.int32)}, block=64)


def matches() -> Problem:
    random = draws(41)
    x, wide = random.integers(0, 5, 64, np.uint32), np.repeat(np.array([7, 1 << 40], np.uint64), 32)
    wide[40] = 3
    out = [sum(int(x[j] == x[i]) << (j % 32) for j in range(i // 32 * 32, i // 32 * 32 + 32)) for i in range(64)]
    expected = [(value + (MASK32 + 1 if i < 32 else 0)) & MASK32 for i, value in enumerate(out)]
    return Problem((Fresh(64, np.uint32), x, wide), {0: np.array(expected, np.uint32)}, block=64)


def _sad(a: int, b: int, c: int) -> int:
    return abs(a - b) + c


def _signed(x: int, bits: int = 32) -> int:
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def bits(a: int, b: int) -> Problem:
    s, t = _signed(a), _signed(a + 1)

    def first(x: int) -> int:
        return (x & -x).bit_length()

    def reverse(x: int, width: int) -> int:
        return int(f"{x:0{width}b}"[::-1], 2)

    zero = 32 - a.bit_length() + 64 - b.bit_length() + first(a) + first(b) + a.bit_count() + b.bit_count()
    zero += reverse(a, 32) + (reverse(b, 64) & MASK32)
    other = a >> 3
    permuted = (other << 32 | a) >> 0
    chosen = bytes(permuted.to_bytes(8, "little")[i] for i in (3, 0, 1, 2))
    left = ((a + 1 & MASK32) << 5 | a >> 27) & MASK32
    right = ((a + 1 & MASK32) << 32 | a) >> min(a & 31, 32) & MASK32
    ones = [i for i in range(3, 32) if a >> i & 1]
    one = int.from_bytes(chosen, "little") + left + right + (ones[1] if len(ones) > 1 else MASK32)
    low24, high24 = _signed(a, 24), a & 0xFFFFFF
    two = (a * (a + 7 & MASK32) >> 32) + low24 * 3 + high24 * high24 + _sad(s, t, 3) + _sad(a, 2, 1)
    two += (s + 4 >> 1) + (s + 5 + 1 >> 1) + (a + 6 >> 1)
    three = (b * b >> 64) + (_signed(b, 64) * -3 >> 64)
    out = np.array([value & MASK32 for value in (zero, one, two, three)], np.uint32)
    return Problem((Fresh(4, np.uint32), np.array([a], np.uint32), np.array([b], np.uint64)), {0: out}, block=1)


def reductions() -> Problem:
    random = draws(42)
    v, s = random.integers(0, 1 << 32, 64, np.uint32), random.integers(-(1 << 31), 1 << 31, 64, np.int32)
    out = []
    for first in (0, 32):
        w, t = v[first : first + 32], s[first : first + 32]
        total = int(w.sum()) + int(w.min()) + int(w.max()) + int(np.bitwise_and.reduce(w)) + int(t.sum()) + int(t.max())
        total += int(np.bitwise_or.reduce(w)) + int(np.bitwise_xor.reduce(w))
        out += [total & MASK32] * 32
    return Problem((Fresh(64, np.uint32), v, s), {0: np.array(out, np.uint32)}, block=64)


def tiles() -> Problem:
    x = draws(43).integers(-2, 3, 64, np.int32)
    out = []
    for rank in range(8):
        value = np.full(8, x[8 * rank : 8 * rank + 8].sum())
        value = value + np.cumsum(value) - value
        ballot = sum(int(v & 1) << i for i, v in enumerate(value.tolist()))
        out.append(value + value[3] + int((value > 4).any()) + ballot + rank)
    return Problem((Fresh(64, np.int32), x), {0: np.concatenate(out).astype(np.int32)}, block=64)


def coalesced() -> Problem:
    wanted = draws(44).integers(0, 2, 32, np.int32)
    slots_ = np.where(wanted != 0, 5 + np.cumsum(wanted) - 1, 99).astype(np.uint32)
    args = (np.array([5], np.uint32), np.full(32, 99, np.uint32), wanted)
    return Problem(args, {0: np.array([5 + wanted.sum()], np.uint32), 1: slots_})


def labelled() -> Problem:
    x = draws(45).integers(-2, 3, 32, np.int32)
    positive = int((x > 0).sum())
    return Problem((Fresh(32, np.int32), x), {0: x + np.where(x > 0, positive, 32 - positive).astype(np.int32)})


def neighbours() -> Problem:
    return Problem(
        (Fresh(8, np.int32),),
        {0: np.array([1, 2, 3, 0] * 2, np.int32)},
        grid=8,
        block=32,
        cluster=4,
    )


def gemm(m: int, n: int, threads: int) -> Problem:
    random = draws(46)
    a, b, c = (random.standard_normal(shape).astype(F4) for shape in ((m, 24), (24, 2 * n), (m, 2 * n)))
    exact = 0.75 * (a.astype(F8) @ b.astype(F8)) + -1.5 * c.astype(F8)
    bound = 32 * EPS4 * (np.abs(a) @ np.abs(b) + np.abs(c))
    return Problem((m, 2 * n, 24, 0.75, a, b, -1.5, c), {7: Near(exact, 0, bound)}, grid=(2, 1), block=threads)


START = "6a09e667 bb67ae85 3c6ef372 a54ff53a 510e527f 9b05688c 1f83d9ab 5be0cd19"


def sha256() -> Problem:
    texts = [bytes([i]) * (i + 11) for i in range(32)]
    blocks = [text + b"\x80" + bytes(55 - len(text)) + struct.pack(">Q", 8 * len(text)) for text in texts]
    state = np.tile(np.array([int(word, 16) for word in START.split()], np.uint32), (32, 1))
    expected = np.array([struct.unpack(">8I", hashlib.sha256(text).digest()) for text in texts], np.uint32)
    return Problem((state, np.frombuffer(b"".join(blocks), "<u4").copy()), {0: expected})


def philox() -> Problem:
    out = []
    for i in range(50):
        c, key = [i, 0, 0, 0], [1234, 0x9E3779B9]
        for _ in range(10):
            first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [second >> 32 ^ c[1] ^ key[0], second & MASK32, first >> 32 ^ c[3] ^ key[1], first & MASK32]
            key = [key[0] + 0x9E3779B9 & MASK32, key[1] + 0xBB67AE85 & MASK32]
        out.append(c)
    values = np.array(out, np.uint32).astype(F4) * F4(2.3283064e-10)
    return Problem((Fresh((50, 4), F4), 1234, 50), {0: values}, grid=1, block=32)


def bitonic_sort() -> Problem:
    x = draws(47).integers(0, 1 << 64, 512, np.uint64)
    return Problem((x,), {0: np.sort(x)}, block=512)


def heat_step() -> Problem:
    x = draws(48).standard_normal((20, 40)).astype(F4)
    p = np.pad(x.astype(F8), 1, mode="edge")
    exact = p[1:-1, 1:-1] + 0.1 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * p[1:-1, 1:-1])
    args = (Fresh((20, 40), F4), x, 40, 20, 0.1)
    return Problem(args, {0: Near(exact, 0, 16 * EPS4)}, grid=(2, 2), block=(32, 16))


def sparse_product() -> Problem:
    random = draws(49)
    counts = random.integers(0, 80, 11)
    rows = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    columns, values = random.integers(0, 50, rows[-1], np.int32), random.standard_normal(rows[-1])
    x = random.standard_normal(50)
    terms = values * x[columns]
    exact = np.array([math.fsum(terms[a:b]) for a, b in itertools.pairwise(rows)])
    return Problem((rows, columns, values, x, Fresh(11, F8), 11), {4: Near(exact, 0, 1e-14)}, grid=3, block=128)


def transform_16() -> Problem:
    x = draws(50).standard_normal((16, 32, 2)).astype(F4)
    z = np.fft.fft(x[..., 0].astype(F8) + 1j * x[..., 1], axis=0)
    order = [int(f"{i:04b}"[::-1], 2) for i in range(16)]
    z = z[order]
    return Problem((x,), {0: Near(np.stack([z.real, z.imag], axis=-1), 0, 1e-5, fast=1e-5)})


def normalise_rows() -> Problem:
    random = draws(51)
    x, weight = (2 + random.standard_normal((3, 300))).astype(F4), random.standard_normal(300).astype(F4)
    d = x.astype(F8)
    d = d - d.mean(axis=1, keepdims=True)
    exact = d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * weight
    return Problem((x, weight, Fresh((3, 300), F4), 300, 1e-5), {2: Near(exact, 0, 1e-5)}, grid=3, block=128)


def attention_row() -> Problem:
    random = draws(52)
    q, k, v = (random.standard_normal(shape).astype(F4) for shape in ((2, 64), (10, 64), (10, 64)))
    weights = np.exp(q.astype(F8) @ k.T.astype(F8) * 0.125)
    exact = np.zeros((2, 64))
    for warp in range(4):
        mine = weights[:, warp::4]
        exact += mine / mine.sum(axis=1, keepdims=True) @ v[warp::4].astype(F8)
    args = (q, k, v, np.zeros((2, 64), F4), 10)
    return Problem(args, {3: Near(exact, 0, 1e-5)}, grid=2, block=128)


def spheres() -> Problem:
    balls = np.array([[0, 0, 5, 1], [1, 1, 4, 0.5], [-2, 0.5, 9, 2]], F4)
    x, y = np.meshgrid(np.arange(32), np.arange(4))
    direction = np.stack([(x - 16) / 32, (y - 16) / 32, np.ones_like(x)], axis=-1)
    nearest = np.full(x.shape, np.inf)
    for *centre, radius in balls.astype(F8):
        b = direction @ np.array(centre)
        d = b * b - (np.dot(centre, centre) - radius * radius)
        nearest = np.where(d > 0, np.minimum(nearest, b - np.sqrt(np.maximum(d, 0))), nearest)
    return Problem((Fresh((4, 32), F4), balls, 3, 32), {0: Near(1 / nearest, 1e-4, 1e-6)}, grid=(1, 4), block=32)


def mandelbrot() -> Problem:
    image = np.zeros((16, 32), np.uint8)
    for y in range(16):
        for x in range(32):
            c, z, steps = complex(3.0 * x / 32 - 2, 3.0 * y / 32 - 1.5), 0j, 0
            while z.real * z.real + z.imag * z.imag < 4 and steps < 40:
                z, steps = complex(z.real * z.real - z.imag * z.imag + c.real, 2 * z.real * z.imag + c.imag), steps + 1
            image[y, x] = 255 * steps // 40
    return Problem((Fresh((16, 32), np.uint8), 32, 40), {0: image}, grid=(1, 4), block=(32, 4))


def named_barriers() -> Problem:
    x = np.full(128, -1, np.int32)
    after = np.ma.masked_array(np.where(np.arange(128) < 64, 1, -1), mask=np.arange(128) == 1)
    return Problem((x,), {0: after}, block=128)


def volatile_stores() -> Problem:
    a, b = np.array([0, 0, 0, 42], np.int32), Fresh(1, np.int32)
    return Problem((a, b), {0: np.array([1, 2, 3, 42], np.int32), 1: np.array([42], np.int32)}, block=1)


def cached() -> Problem:
    random = draws(53)
    x, d, b = (
        random.integers(-99, 99, (6, 32, 4)).astype(F4),
        random.integers(-9, 9, 32).astype(F8),
        random.integers(0, 9, 32, np.uint8),
    )
    first = x[0].copy()
    first[:, 0] += x[1, :, 1] + x[2, :, 2] + x[3, :, 3] + x[4, :, 0] + x[5, :, 1] + d.astype(F4) + b
    return Problem((Fresh((4, 32, 4), F4), x, d, b), {0: np.stack([first, *x[1:4]])})


def policies() -> Problem:
    return Problem(
        (Fresh(32, F4), np.arange(32768, dtype=F4)),
        {0: np.ma.masked_array(np.ones(32, F4), mask=np.arange(32) > 0)},
        block=1,
    )


def spaces() -> Problem:
    x = np.zeros(1, np.int32)
    return Problem((x, Fresh(2, np.int32)), {1: np.ma.masked_array([1, 0], mask=[0, 1])}, block=1)


ROWS: tuple[Row, ...] = (
    Row("templates", "block_reduceIfN", block_sum),
    Row("templates", "block_reduceIdN", block_maximum),
    Row("templates", "block_reduceIxN", block_composed),
    Row("templates", "BoxIJLi2ELi3E", partial(fill_box, 6)),
    Row("templates", "BoxIJLi2ELi2ELi4E", partial(fill_box, 16)),
    Row("templates", "sum_of_arrays", sum_of_arrays),
    Row("templates", "sequences", sequences),
    Row("shared_memory", "transpose", transpose),
    Row("shared_memory", "exclusive_scan", exclusive_scan),
    Row("shared_memory", "histogram", histogram),
    Row("shared_memory", "rolling_sumIf", partial(rolling_sum, F4)),
    Row("shared_memory", "rolling_sumIs", partial(rolling_sum, np.int16)),
    Row("shared_memory", "bool_and_struct_shared", slots),
    Row("atomics", "global_integers", global_integers),
    Row("atomics", "shared_integers", shared_integers),
    Row("atomics", "floats", atomic_floats),
    Row("atomics", "compare_and_swap_loops", partial(swap_loops, 3.0, 1), "swap"),
    Row("atomics", "compare_and_swap_loops", partial(swap_loops, 12.0, 5), "keep"),
    Row("atomics", "vectors_and_wide", vector_atomics),
    Row("atomics", "ticket_lock", ticket_lock),
    Row("atomic_ref", "at_every_scope", at_every_scope),
    Row("atomic_ref", "logical", logical),
    Row("atomic_ref", "hand_over", hand_over_once, "once"),
    Row("atomic_ref", "hand_over", hand_over, "twice"),
    Row("atomic_ref", "float_and_narrow", float_and_narrow),
    Row("warp", "shuffles", shuffles),
    Row("warp", "matches", matches),
    Row("warp", "bits", partial(bits, 0x1234ABCD, 0xFEDCBA9876543210), "large"),
    Row("warp", "bits", partial(bits, 0xFFFFFFFF, 1), "edges"),
    Row("warp", "reductions", reductions),
    Row("groups", "tiles", tiles),
    Row("groups", "coalesced_increment", coalesced),
    Row("groups", "labelled", labelled),
    Row("groups", "neighbours", neighbours),
    Row("gemm", "Li64ELi64ELi8E", partial(gemm, 64, 64, 256)),
    Row("gemm", "Li128ELi64ELi8E", partial(gemm, 128, 64, 128)),
    Row("hashing", "sha256_block", sha256),
    Row("hashing", "counter_based_random", philox),
    Row("hashing", "bitonic_sort", bitonic_sort),
    Row("numerics", "heat_step", heat_step),
    Row("numerics", "sparse_times_vector", sparse_product),
    Row("numerics", "transform_16", transform_16),
    Row("numerics", "normalise_rows", normalise_rows),
    Row("numerics", "attention_row", attention_row),
    Row("numerics", "spheres", spheres),
    Row("numerics", "mandelbrot", mandelbrot),
    Row("memory_operators", "named_barriers", named_barriers),
    Row("memory_operators", "fenced", volatile_stores),
    Row("memory_operators", "cached", cached),
    Row("memory_operators", "policies", policies),
    Row("memory_operators", "spaces", spaces),
)
