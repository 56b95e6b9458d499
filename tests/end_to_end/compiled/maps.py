"""Kernels that map each thread to one element: arithmetic without communication between threads."""

from __future__ import annotations

import struct
from functools import partial
from typing import Any

import numpy as np

from .problem import F4, F8, Array, Fresh, Near, Problem, Row, draws

EPS4, EPS8 = 2.0**-23, 2.0**-52


def scale_floats(dtype: Any, epsilon: float) -> Problem:
    x = draws(1).standard_normal(150).astype(dtype)
    exact = np.longdouble(1.37) * 0 + x.astype(np.longdouble) * dtype(1.37).astype(np.longdouble) - np.longdouble(0.25)
    bound = epsilon * (2 * np.abs(x) + 0.25)
    args = (Fresh(150, dtype), x, float(dtype(1.37)), -0.25, 150)
    return Problem(args, {0: Near(exact.astype(F8), epsilon, bound.astype(F8))}, grid=3, block=64)


def scale_integers(dtype: Any, factor: int, offset: int) -> Problem:
    info = np.iinfo(dtype)
    x = draws(2).integers(info.min, info.max, 150, dtype, endpoint=True)
    wide = x.astype(np.uint64) * np.uint64(factor % 2**64) + np.uint64(offset % 2**64)
    args = (Fresh(150, dtype), x, factor, offset, 150)
    return Problem(args, {0: wide.astype(dtype)}, grid=3, block=64)


def saxpy() -> Problem:
    random = draws(3)
    x, y = random.standard_normal((2, 1000)).astype(F4)
    exact = y.astype(F8) + F8(F4(0.7)) * x
    return Problem((y, x, 0.7, 1000), {0: Near(exact, EPS4, EPS4 * np.abs(0.7 * x))}, grid=3, block=96)


def vectors_of_four() -> Problem:
    a, b = draws(4).uniform(0.5, 4, (2, 64, 4)).astype(F4)
    p, q = a.astype(F8), b.astype(F8)
    exact = np.stack([p[:, 0] + q[:, 0], p[:, 1] - q[:, 1], p[:, 2] * q[:, 2], p[:, 3] / q[:, 3]], axis=1)
    return Problem((Fresh((64, 4), F4), a, b), {0: Near(exact, 2 * EPS4)}, grid=2)


def clamp() -> Problem:
    x = draws(5).integers(-100, 100, 70, np.int32)
    kept = np.clip(x, -41, 50)
    return Problem((Fresh(70, np.int32), x, -41, 50, 70), {0: np.where(kept & 1, -kept, kept)}, grid=3)


def conversions() -> Problem:
    x = np.round(draws(6).uniform(0, 1000, 32), 3)
    whole = np.trunc(x).astype(np.int64)
    narrow = (whole & 0xFF).astype(np.uint8)
    single = x.astype(F4)
    sums = (whole + narrow.astype(np.int64) + whole).astype(F4)
    rounded = np.rint(single).astype(np.int64) + np.floor(single).astype(np.int64) + np.ceil(x).astype(np.int64)
    return Problem(
        (x, Fresh(64, F4), Fresh(64, np.int32), Fresh(32, np.uint8), Fresh(32, np.int64), Fresh(32, np.int16)),
        {
            1: np.concatenate([single, sums]),
            2: np.concatenate([whole, rounded]).astype(np.int32),
            3: narrow,
            4: whole,
            5: (whole + 3).astype(np.int16),
        },
    )


def gather() -> Problem:
    random = draws(7)
    x, index, keep = (
        random.standard_normal(40).astype(F4),
        random.permutation(40).astype(np.int32),
        random.random(40) < 0.6,
    )
    old = np.full(40, -1, F4)
    return Problem((x, index, keep, old, 40), {3: np.where(keep, x[index], old)}, grid=2)


def nothing() -> Problem:
    return Problem((), {})


PARTICLE = np.dtype([("position", F4, 3), ("velocity", F4, 3), ("mass", F8), ("flags", np.uint32), ("pad", np.uint32)])


def advance(boundary: int) -> Problem:
    random = draws(8)
    particles = np.zeros(48, PARTICLE)
    particles["position"] = random.integers(-16, 17, (48, 3)) / 16
    particles["velocity"] = random.integers(-80, 80, (48, 3)) / 16
    particles["mass"] = random.random(48)
    particles["flags"] = random.integers(0, 1 << 16, 48)
    after = particles.copy()
    for particle in after:
        _advance(particle, boundary)
    return Problem((particles, 45, 0.5, boundary), {0: np.concatenate([after[:45], particles[45:]])}, grid=2)


def _advance(particle: Any, boundary: int) -> None:
    flags, group = int(particle["flags"]) & 15, int(particle["flags"]) >> 4
    for axis in range(3):
        position = particle["position"][axis] + F4(0.5) * particle["velocity"][axis]
        if boundary == 0 and abs(position) > 1:
            position = (2 if position > 1 else -2) - position
            particle["velocity"][axis] *= -1
        if boundary == 1:
            position = (position + 1) % 2 - 1
        if boundary == 2 and abs(position) > 1:
            flags |= 1
        particle["position"][axis] = position
    particle["flags"] = flags | (group + flags) % 4096 << 4


def collatz() -> Problem:
    seeds = draws(9).integers(1, 40, 64, np.uint64) << np.uint64(33)
    seeds[:3] = [1, 27, 97]
    lengths = []
    for seed in seeds.tolist():
        value, length = seed, 0
        while value != 1 and length < 1000:
            value, length = value // 2 if value % 2 == 0 else 3 * value + 1, length + 1
        lengths.append(length)
    return Problem((seeds, Fresh(64, np.uint32), 64), {1: np.array(lengths, np.uint32)}, grid=2)


def small_product() -> Problem:
    a, b = draws(10).integers(-9, 9, (2, 8, 8)).astype(F4)
    return Problem((a, b, Fresh((8, 8), F4)), {2: a @ b}, block=(8, 8))


def nested_scopes() -> Problem:
    data = draws(11).integers(0, 1 << 32, 32, np.uint32)
    data[:2] = [0, 1 << 31]
    after = []
    for i, value in enumerate(data.tolist()):
        rotated = (value << i | value >> (32 - i)) & 0x00FF00FF
        lowest = (value & -value).bit_length() - 1
        after.append((rotated + lowest + i + (value & 7)) % 2**32)
    return Problem((data,), {0: np.array(after, np.uint32)})


def wide_operands() -> Problem:
    d, f = np.array([1.1]), np.array([2.0, 0.5], F4)
    h, w, b = np.array([40], np.uint16), np.array([0, 0x123456789ABCDEF0], np.uint64), np.array([7, 9], np.uint8)
    x = F8(F4(-0.75))
    last = x * F8(np.finfo(F4).max) + x
    return Problem(
        (d, f, h, w, b),
        {
            0: d * d,
            1: Near(np.array([np.sqrt(2.0), last]), 2 * EPS4),
            2: h + np.uint16(17),
            3: np.array([7 | 9 << 32, 0x12345678 ^ 0x9ABCDEF0], np.uint64),
        },
        block=1,
    )


def carries() -> Problem:
    a, b = draws(12).integers(1 << 31, 1 << 32, (2, 4), np.uint32)
    total = sum(int(x) + int(y) << 32 * i for i, (x, y) in enumerate(zip(a, b, strict=True)))
    r0, r1, r2, r3 = (total >> 32 * i & 0xFFFFFFFF for i in range(4))
    low = r0 + (r1 * r2 & 0xFFFFFFFF)
    pair = (low & 0xFFFFFFFF) + ((r2 * r2 >> 32) + (low >> 32) << 32) - 1
    after = np.array([pair & 0xFFFFFFFF, pair >> 32 & 0xFFFFFFFF, r2, r3], np.uint32)
    return Problem((a, b), {0: after}, block=1)


def predicates() -> Problem:
    x = np.array([4, 9, 5, 0x40000000, -300, 0x12345678, 0], np.int32)
    mask = 0xFFFFFFFF
    x4, x5 = -300 & mask, 0x12345678
    r = (x4 | 0x5A5A) & mask  # lop3: bitwise majority of x[4], 0x5A5A and all ones (the result of set.ge)
    field = r >> 4 & 0xFF
    r = (field - 256 if field > 127 else field) & mask
    r = x5 & ~0xFF00 | (r & 0xFF) << 8
    r = (r >> 8 & 0xFF) | (r & 0xFF) << 8 | r & 0xFFFF0000  # prmt with selector 0x3201 swaps the two lowest bytes
    r = (r | x5 << 32) >> 16 & mask  # prmt.f4e with selector 2 selects bytes 2 to 5 of r and x5
    r = (32 - r.bit_length()).bit_count()
    r = (r & -r).bit_length() - 1  # fns returns the index of the first set bit
    after = x.copy()
    after[6] = 0xFF << r
    return Problem((x,), {0: after}, block=1)  # the kernel compares an undefined predicate but does not use the result


ROW_8 = np.array([[1, 0], [3, 1], [5, 2], [7, 3], [11, 4], [13, 5], [17, 6], [19, 7]])


def _rows(first: int, last: int) -> Array:
    starts = np.arange(first, last, 8)
    return (starts[:, None] * ROW_8[:, 0] + ROW_8[:, 1]).ravel()


def look_up(which: int, row: int) -> Problem:
    hashes = np.concatenate([_rows(0, 512), _rows(512, 1024)])
    wave = _rows(-256, 256).astype(np.int16)
    weights = np.zeros((3, 5), F4)
    weights[0] = [0.1, -0.25, 1e-30, 3.4e38, -0.0]
    weights[1], weights[2, 0] = [1, 2, 3, 4, 5], 0.333333
    roots = np.array([1.4142135623730951, -1.7320508075688772, 2.23606797749979, np.inf]).astype(F4)
    text = b'tables "hold" text\n\0'
    entries = ((b"alpha", 0.5, (1, 2, 3), True), (b"beta", -2.5e10, (-4, 5, 0), False), (text, 0.0, (0, 0, 0), True))
    name, value, code, enabled = entries[which]
    out = []
    for i in range(64):
        result = int(hashes[i]) ^ int(wave[i]) & 0xFFFFFFFF
        with np.errstate(invalid="ignore", over="ignore"):
            product = weights[row][i % 5] * roots[i & 3]
        result += 0 if np.isnan(product) else int(min(max(float(product), 0.0), 2.0**32 - 1))
        result += text[i % 20] + 5 + (1, 0)[i & 1] + (1, 0, 1, 0, 0)[i % 5] + (255, 254, *[0] * 62)[i]
        result += name[0] + code[i % 3] if enabled else max(int(value), 0)
        result += 1 * -8 + 2 * 1 + 3 * 3
        out.append(result % 2**32)
    return Problem((Fresh(64, np.uint32), which, row), {0: np.array(out, np.uint32)}, block=64)


def squares() -> Problem:
    return Problem((Fresh(32, F4),), {0: (np.arange(32, dtype=F4) % 16) ** 2})


def grid_constants() -> Problem:
    matrix, points = draws(13).integers(-8, 8, (4, 4)).astype(F4), draws(14).integers(-8, 8, (32, 4)).astype(F4)
    after = points @ matrix.T
    after[:, 3] += np.arange(32) % 16 * 10
    descriptor = (np.arange(16, dtype=np.uint64) * np.uint64(10)).tobytes()
    return Problem((matrix.tobytes(), descriptor, points), {2: after})


def times(factor: float) -> Problem:
    x = draws(15).standard_normal(64).astype(F4)
    return Problem((x,), {0: x * F4(factor)}, block=64)


def sine() -> Problem:
    x = draws(16).uniform(-30, 30, 32).astype(F4)
    return Problem((x,), {0: Near(np.sin(x.astype(F8)), 2**-21, 2**-24)})


def clustered() -> Problem:
    x = np.zeros(4, F4)
    return Problem((x,), {0: np.ones(4, F4)}, grid=(4, 2), block=1, cluster=(2, 2), found=frozenset({"global-race"}))


def restricted() -> Problem:
    x, flag, quads = draws(17).integers(0, 99, 33).astype(F4), np.array([1], np.int32), np.zeros((32, 4), np.int32)
    after = quads.copy()
    after[:, 3] = x[:1].view(np.int32)
    return Problem((x, Fresh(32, F4), flag, quads), {1: x[:-1] + x[1:], 3: after})


def anonymous() -> Problem:
    return Problem((Fresh(1, np.int32),), {0: np.array([1], np.int32)}, block=1)


def captured_sum() -> Problem:
    x = draws(18).integers(-99, 99, 32).astype(F4)
    return Problem((x, struct.pack("<f4xd", 2.5, 0.75)), {0: x * F4(2.5) + F4(0.75)})


def captured_choice() -> Problem:
    x = draws(19).integers(-99, 99, 32).astype(F4)
    return Problem((x, struct.pack("<f", 3.0)), {0: np.where(x > 3, x, x / 2)})


def identity() -> Problem:
    out = np.array([0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 2**32 - 1, 2**32 - 2], np.uint64)
    unknown = np.zeros(23, bool)
    unknown[13:18] = True  # %warpid, %nwarpid, %smid, %nsmid and %gridid depend on the machine
    return Problem((Fresh(23, np.uint64),), {0: np.ma.masked_array(out, mask=unknown)}, block=1)


ROWS: tuple[Row, ...] = (
    Row("elementwise", "scale_and_shiftIfE", partial(scale_floats, F4, EPS4)),
    Row("elementwise", "scale_and_shiftIdE", partial(scale_floats, F8, EPS8)),
    Row("elementwise", "scale_and_shiftIaE", partial(scale_integers, np.int8, -7, 100)),
    Row("elementwise", "scale_and_shiftItE", partial(scale_integers, np.uint16, 40000, 12345)),
    Row("elementwise", "scale_and_shiftIiE", partial(scale_integers, np.int32, -123457, 2**31 - 1)),
    Row("elementwise", "scale_and_shiftIyE", partial(scale_integers, np.uint64, 2**63 + 12345, 2**64 - 3)),
    Row("elementwise", "saxpy_strided", saxpy),
    Row("elementwise", "add_vectors_of_four", vectors_of_four),
    Row("elementwise", "clamp_and_select", clamp),
    Row("elementwise", "convert_between_types", conversions),
    Row("elementwise", "gather_where", gather),
    Row("elementwise", "empty_kernel", nothing),
    Row("stepping", "advance", partial(advance, 0), "reflect"),
    Row("stepping", "advance", partial(advance, 1), "wrap"),
    Row("stepping", "advance", partial(advance, 2), "absorb"),
    Row("stepping", "collatz_lengths", collatz),
    Row("stepping", "small_matrix_product", small_product),
    Row("inline_ptx", "nested_scopes", nested_scopes),
    Row("inline_ptx", "wide_operands", wide_operands),
    Row("inline_ptx", "carries", carries),
    Row("inline_ptx", "predicates_and_selects", predicates),
    Row("tables", "look_up", partial(look_up, 0, 1), "0 1"),
    Row("tables", "look_up", partial(look_up, 1, 0), "1 0"),
    Row("tables", "look_up", partial(look_up, 2, 2), "2 2"),
    Row("tables", "squares", squares),
    Row("launch_attributes", "constants_of_the_grid", grid_constants),
    Row("launch_attributes", "bounded", partial(times, 2.0)),
    Row("launch_attributes", "bounded_twice", partial(times, 3.0)),
    Row("launch_attributes", "limited", sine),
    Row("launch_attributes", "clustered", clustered),
    Row("launch_attributes", "restricted", restricted),
    Row("launch_attributes", "in_anonymous_namespace", anonymous),
    Row("virtuals", "UlfE_E", captured_sum),
    Row("virtuals", "UlfE0_E", captured_choice),
    Row("special_registers", "identity", identity),
)
