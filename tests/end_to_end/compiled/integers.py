"""Integer arithmetic, control flow, calls, stacks and printing, as nvcc compiles them."""

from __future__ import annotations

from functools import partial

import numpy as np

from .problem import F4, F8, Array, Fresh, Near, Problem, Row, draws

MASK32, MASK64, MASK128 = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def quotient(a: int, b: int) -> int:
    """Return the quotient of two integers as in C, rounded toward zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    return a - b * quotient(a, b)


def sixty_four() -> Problem:
    random = draws(60)
    s = random.integers(-(1 << 63), 1 << 63, 96, np.int64)
    u = random.integers(0, 1 << 64, 64, np.uint64)
    s[:16], s[32:40], u[32:48] = s[:16] >> 40, s[32:40] >> 45, u[32:48] >> np.uint64(33)
    s[32:64][s[32:64] == 0], u[32:][u[32:] == 0] = 1, 1
    after_s, after_u = s.tolist(), u.tolist()
    for i in range(32):
        a, b = after_s[i], after_s[i + 32]
        a = quotient(a, b) + remainder(a, b) + quotient(a, 1000003) + (a >> 7) - (a << 3)
        after_s[i] = a = signed(a, 64)
        after_s[i + 64] = signed(-a if a < b else ~b, 64)
        c, d = after_u[i], after_u[i + 32]
        after_u[i] = (c // d + c % 97 + (c >> (d & 63)) + (c * d >> 64)) & MASK64
    return Problem((s, u), {0: np.array(after_s, np.int64), 1: np.array(after_u, np.uint64)})


def _wide(values: list[int]) -> Array:
    return np.array([[value & MASK64, value >> 64 & MASK64] for value in values], np.uint64)


def hundred_twenty_eight() -> Problem:
    words = draws(61).integers(0, 1 << 64, (128, 2), np.uint64)
    words[40:50, 1] = 0
    words[100:110, 1] = 0
    values = [int(low) | int(high) << 64 for low, high in words]
    s, u = values[:64], values[64:]
    after_s, after_u = list(s), list(u)
    for i in range(32):
        a, b = u[i], u[i + 32]
        after_u[i] = a * b + (a >> 17) - (b << 90) + (a & ~b)
        after_u[i + 32] = a // b + a % 1000000007
        c, d = signed(s[i], 128), signed(s[i + 32], 128)
        after_s[i] = -c if c < 0 else quotient(c, d)
    return Problem((_wide(s), _wide(u)), {0: _wide(after_s), 1: _wide(after_u)})


def montgomery() -> Problem:
    modulus = (1 << 61) - 1
    inverse = -pow(modulus, -1, 1 << 64) & MASK64
    x = draws(62).integers(0, modulus, 64, np.uint64)
    after = x.copy()
    after[:32] = [int(a) * int(b) * pow(1 << 64, -1, modulus) % modulus for a, b in zip(x[:32], x[32:], strict=True)]
    return Problem((x, modulus, inverse), {0: after})


def divisions() -> Problem:
    random = draws(63)
    s, u = random.integers(-(1 << 31), 1 << 31, 32, np.int32), random.integers(0, 1 << 32, 32, np.uint32)
    h, b = random.integers(-(1 << 15), 1 << 15, 32, np.int16), random.integers(0, 256, 32, np.uint8)
    after: tuple[list[int], ...] = ([], [], [], [])
    for i in range(32):
        v, w, x, y = int(s[i]), int(u[i]), int(h[i]), int(b[i])
        v = signed(quotient(v, 7) + remainder(v, 10) + quotient(v, 16) + quotient(v, -3), 32)
        after[0].append(v)
        after[1].append((w // 7 + w % 641 + w // (v & MASK32)) & MASK32)
        after[2].append(signed(quotient(x, 5) + remainder(x, 3), 16))
        after[3].append((y // 11 + (y << 3)) & 0xFF)
    pairs = zip(after, (np.int32, np.uint32, np.int16, np.uint8), strict=True)
    return Problem((s, u, h, b), {n: np.array(values, dtype) for n, (values, dtype) in enumerate(pairs)})


def _interpret(program: list[int], thread: int) -> int:
    stack, top, at, length = [0] * 16, 0, 0, len(program)
    stack[0] = thread
    while at < length:
        a, b = stack[top], stack[top - 1] if top > 0 else 0
        code = program[at]
        at += 1
        match code:
            case 0:
                top += 1
                stack[top & 15] = program[at]
                at += 1
            case 1 | 2 | 3 | 4:
                top -= 1
                result = (a + b, a - b, a * b, quotient(a, b) if b else 0)[code - 1]
                stack[top & 15] = signed(result, 32)
            case 5:
                stack[top] = signed(-a, 32)
            case 6:
                top += 1
                stack[top & 15] = a
            case 7:
                stack[top] = b
            case 8:
                at += program[at] if a > 0 else 0
            case 9:
                stack[top] = a ^ b
            case 10:
                stack[top] = signed(a << (b & 31), 32)
            case 11:
                stack[top] = a >> (b & 31)
            case 12:
                stack[top] = (a & MASK32).bit_count()
            case 13:
                at = length
            case _:
                top = 0
        top &= 15
    return stack[top]


PROGRAMS = {
    "arithmetic": [0, 7, 3, 6, 0, 100, 2, 0, 3, 4, 9, 5, 0, 2, 10, 0, 1, 11],
    "jumps": [0, 9, 2, 5, 8, 6, 0, 77, 1, 13, 0, 5, 0, 3, 3, 6, 12, 9],
    "everything": [6, 0, 13, 2, 8, 3, 0, 255, 9, 7, 6, 12, 0, 3, 10, 200, 0, 200, 3, 5, 0, 5, 11, 0, 31, 1],
}


def interpreter(name: str) -> Problem:
    program = PROGRAMS[name]
    expected = np.array([_interpret(program, thread) for thread in range(64)], np.int32)
    return Problem((np.array(program, np.uint8), Fresh(64, np.int32), len(program)), {1: expected}, block=64)


def sparse(value: int, expected: int) -> Problem:
    return Problem((np.array([value], np.int32),), {0: np.array([expected], np.int32)}, block=1)


def materials() -> Problem:
    random = draws(64)
    x, material = random.uniform(0.1, 5, 96).astype(F4), random.integers(-1, 9, 96, np.int32)
    d = x.astype(F8)
    values = [np.sin(d), np.cos(d), d * d, np.sqrt(d), 1 / d, d - np.floor(d), d, np.exp(-d), 0 * d, 0 * d]
    exact = np.choose(material % 10, values)
    return Problem((x, material), {0: Near(exact, 2.0**-20, 2.0**-22)}, block=96)


def jumps() -> Problem:
    x = np.array([9, -3, 8, 7, 1, 20, 2, 0], np.int32)
    after = x.tolist()
    for i in range(7):
        zero = next((j for j in range(i, 7) if after[j] == 0), None)
        for j in range(i, 7 if zero is None else zero):
            after[j] -= i if after[j] >= 0 else 0
        if zero is not None:
            after[7] = 1
            break
    return Problem((x, 7), {0: np.array(after, np.int32)}, block=1)


def complex_powers() -> Problem:
    x = draws(65).integers(-4, 5, (40, 2)).astype(F8)
    z = (x[:, 0] + 1j * x[:, 1]) ** 0
    for _ in range(5):
        z = z * (x[:, 0] + 1j * x[:, 1])
    return Problem((x, 5), {0: np.stack([z.real, z.imag], axis=1)}, block=40)


def frames() -> Problem:
    n = draws(66).standard_normal((32, 3)).astype(F4)
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    x, y, z = n.astype(F8).T
    s = np.copysign(1.0, z)
    a = -1 / (s + z)
    b = x * y * a
    vectors = np.stack([1 + s * x * x * a, s * b, -s * x, b, s + y * y * a, -y, x, y, z], axis=1)
    out = np.zeros((32, 10), F8)
    out[:, :9] = vectors
    out[:, 9] = np.where(s > 0, 1, -1).astype(np.int32).view(F4)
    return Problem((n, Fresh((32, 10), F4)), {1: Near(out, 2e-6, 1e-6)})


def recursions(n: int) -> Problem:
    return Problem((Fresh(2, np.uint32), n), {0: np.array([3, n % 2 == 0], np.uint32)}, block=1)


def ackermanns() -> Problem:
    # Kernel: every thread stores to the same words; the recursion depth depends on the thread index.
    found = frozenset({"lane-race"})
    expected = np.ma.masked_array(np.array([0, 0], np.uint32), mask=[1, 0])
    return Problem((Fresh(2, np.uint32), 7), {0: expected}, block=6, found=found)


def through_pointers(which: int) -> Problem:
    x = draws(67).uniform(-3, 3, 32).astype(F4)
    d = x.astype(F8)
    value = (np.where(d > 0, d, 0.1 * d), d / (0.1 + np.abs(d)), d * d)[which]
    return Problem((x, which, 0), {0: Near(value + value * value, 2.0**-20, 2.0**-21)})


def pointers_to_stack() -> Problem:
    args = (np.array([3, -4], np.int32), np.array([1 << 40], np.int64))
    return Problem(args, {0: np.array([-4, 3], np.int32), 1: np.array([(1 << 40) + 115], np.int64)}, block=1)


def odd_signatures(chosen: int) -> Problem:
    c, w = np.array([0, -5, 9, chosen], np.int8), np.zeros((2, 4), np.int64)
    w[1] = [70, 1, 2, 3]
    after_c, after_w = c.copy(), w.copy()
    after_c[0], after_w[0] = -5 if chosen else 9, [70, 71, 72, 73]
    return Problem((c, w), {0: after_c, 1: after_w}, block=1)


def report() -> Problem:
    values, weights, name = np.array([-42], np.int32), np.array([2.71828]), np.frombuffer(b"xyz\0", np.uint8).copy()
    printed = 'xyz[0] = -42 (weight 2.718, "quoted", 100%, tab\t, \\ backslash)\ndone\n'
    return Problem((values, weights, name, 1), {}, block=1, printed=printed)


def guarded_division() -> Problem:
    random = draws(68)
    a, b = random.integers(-999, 999, 32, np.int32), random.integers(1, 20, 32, np.int32)
    expected = np.array([quotient(int(x), int(y)) for x, y in zip(a, b, strict=True)], np.int32)
    return Problem((Fresh(32, np.int32), a, b), {0: expected})


def stop_when_negative() -> Problem:
    x = np.arange(32, dtype=F4)
    return Problem((x,), {0: x})


def grow_list() -> Problem:
    return Problem((np.zeros(40, np.uint64), 40), {})


def sort_locally() -> Problem:
    rows = []
    for thread in range(32):
        seed, row = 1234 + thread, []
        for _ in range(24):
            seed = signed(seed * 1103515245 + 12345, 32)
            row.append(seed)
        rows.append(sorted(row))
    return Problem((Fresh((32, 24), np.int32), 1234), {0: np.array(rows, np.int32)})


def allocated(count: int) -> Problem:
    seed, row = 7, []
    for _ in range(count):
        seed = signed(seed * 1103515245 + 12345, 32)
        row.append(seed)
    expected = np.array([row[thread % count] for thread in range(32)], np.int32)
    return Problem((Fresh(32, np.int32), count), {0: expected})


def variable_arguments() -> Problem:
    return Problem((Fresh(1, F8), -7, 2.5), {0: np.array([-7 + 2.5 - 6 + 5.0])}, block=1)


def big_frames() -> Problem:
    x = draws(69).standard_normal((2, 40))
    return Problem((x,), {0: np.stack([4 * x[1], x[1]])}, block=1)


def byte_copies() -> Problem:
    x = draws(70).integers(0, 256, 100, np.uint8)
    after = np.concatenate([x, np.full(37, 0xA5, np.uint8)])
    after[0] ^= 0x55
    return Problem((Fresh(137, np.uint8), x), {0: after}, block=1)


def build() -> Problem:
    return Problem((np.zeros(9, np.uint64), 9), {})


def in_place() -> Problem:
    x = np.array([2.0, 3.0, 4.0, 0.0], F4)
    return Problem((x,), {0: np.array([2, 3, 4, 8 * 7], F4)}, block=1)


def dot_products() -> Problem:
    random = draws(71)
    a, b = random.integers(-(1 << 31), 1 << 31, 64, np.int32), random.integers(0, 1 << 32, 64, np.uint32)
    bytes_a, bytes_b = a.view(np.int8).reshape(64, 4).astype(int), b.view(np.uint8).reshape(64, 4).astype(int)
    halves = a.view(np.int16).reshape(64, 2).astype(int)
    out = []
    for i in range(32):
        total = int(bytes_a[i] @ bytes_a[i + 32]) + 5
        low, high = int(halves[i] @ bytes_a[i + 1, :2]), int(halves[i] @ bytes_a[i + 2, 2:])
        out.append(signed(total + (int(bytes_b[i] @ bytes_b[i + 32]) + 7) + (total + low) + (total + high), 32))
    return Problem((Fresh(32, np.int32), a, b), {0: np.array(out, np.int32)})


def packed_bytes() -> Problem:
    a = draws(72).integers(0, 1 << 32, 33, np.uint32)
    x, y = int(a[0]), int(a[32])

    def fields(value: int, size: int, *, sign: bool = False) -> list[int]:
        parts = [value >> at & (1 << size) - 1 for at in range(0, 32, size)]
        return [signed(part, size) for part in parts] if sign else parts

    def joined(parts: list[int], size: int) -> int:
        return sum((part & (1 << size) - 1) << size * at for at, part in enumerate(parts))

    def each(size: int, function: object, *, sign: bool = False) -> int:
        assert callable(function)
        pairs = zip(fields(x, size, sign=sign), fields(y, size, sign=sign), strict=True)
        return joined([int(function(p, q)) for p, q in pairs], size)

    zero = each(8, lambda p, q: p + q) + each(16, lambda p, q: p - q) + each(8, lambda p, q: abs(p - q))
    zero += each(16, lambda p, q: (p + q + 1) // 2) + each(8, max, sign=True) + each(16, min)
    one = each(8, lambda p, q: -(p == q)) + each(16, lambda p, q: p < q)
    one += each(8, lambda p, q: max(-128, min(127, p + q)), sign=True) + each(16, lambda p, q: max(p - q, 0))
    one += joined([-p for p in fields(x, 8)], 8)
    one += sum(abs(p - q) for p, q in zip(fields(x, 8, sign=True), fields(y, 8, sign=True), strict=True))
    one += each(8, lambda p, q: (p + q) // 2)
    two = max(signed(signed(x, 32) + signed(y, 32), 32), 3) + max(x, y, 9)
    two += each(16, lambda p, q: max(min(p, q), 0), sign=True) + max(x, y)
    out = np.array([zero & MASK32, one & MASK32, two & MASK32] + [0] * 6, np.uint32)
    out[2:9] = 0
    words = np.ma.masked_array(out, mask=[0, 0, 0, 0, 0, 0, 0, 0, 1])
    words[2] = two & MASK32
    return Problem((np.zeros(9, np.uint32), a), {0: words}, block=1)


ROWS: tuple[Row, ...] = (
    Row("wide_integers", "sixty_four", sixty_four),
    Row("wide_integers", "hundred_twenty_eight", hundred_twenty_eight),
    Row("wide_integers", "montgomery", montgomery),
    Row("wide_integers", "divisions_by_constants", divisions),
    *(Row("switches", "interpreter", partial(interpreter, name), name) for name in PROGRAMS),
    Row("switches", "sparse", partial(sparse, 1, 10), "1"),
    Row("switches", "sparse", partial(sparse, 10000, 30), "10000"),
    Row("switches", "sparse", partial(sparse, -5, 40), "-5"),
    Row("switches", "sparse", partial(sparse, 2**31 - 1, 50), "largest"),
    Row("switches", "sparse", partial(sparse, 7, 60), "default"),
    Row("switches", "materials", materials),
    Row("switches", "jumps_out_of_loops", jumps),
    Row("functions", "complex_powers", complex_powers),
    Row("functions", "frames", frames),
    Row("functions", "recursions", partial(recursions, 6), "even"),
    Row("functions", "recursions", partial(recursions, 7), "odd"),
    Row("functions", "recursions", ackermanns, "deep"),
    Row("functions", "through_pointers", partial(through_pointers, 0), "leaky"),
    Row("functions", "through_pointers", partial(through_pointers, 1), "softsign"),
    Row("functions", "through_pointers", partial(through_pointers, 2), "square"),
    Row("functions", "pointers_to_stack", pointers_to_stack),
    Row("functions", "odd_signatures", partial(odd_signatures, 1), "first"),
    Row("functions", "odd_signatures", partial(odd_signatures, 0), "second"),
    Row("printing", "report", report),
    Row("printing", "guarded_division", guarded_division),
    Row("printing", "stop_when_negative", stop_when_negative),
    Row("printing", "grow_list", grow_list),
    Row("stack", "sort_locally", sort_locally),
    Row("stack", "allocated_on_the_stack", partial(allocated, 13)),
    Row("stack", "variable_arguments", variable_arguments),
    Row("stack", "big_frames", big_frames),
    Row("stack", "byte_copies", byte_copies),
    Row("virtuals", "build", build),
    Row("virtuals", "in_place", in_place),
    Row("simd_in_words", "dot_products", dot_products),
    Row("simd_in_words", "packed_bytes", packed_bytes),
)
