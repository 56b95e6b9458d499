"""Launches of the kernels in `language.cu`."""

import math

import numpy as np
from cases import BOTH, Case, bits, double, eighths, given, made, normal, whole

U32, MASK = (1 << 32) - 1, (1 << 64) - 1


def case(kernel, *arguments, block=64, targets=BOTH):
    return Case(kernel.replace("_", "-"), kernel, dict(enumerate(arguments)), 1, block, options={"source": "language.cu"},
                targets=targets)


def each(function, *arrays, dtype="uint32"):
    """Return a function's values for an array's elements as Python ints, which do not overflow."""
    return np.array([function(*(int(v) for v in row)) for row in zip(*arrays, strict=True)], dtype)


def of(function, values):
    return np.array([function(v) for v in double(values)])


def single(v):
    return (np.sin(v) + np.cos(v) * np.exp(-v) + np.log(v) * v**1.5 + np.cbrt(v) + of(math.erf, v) + np.tanh(v)
            + np.arctan2(v, 2) + np.fmod(v, 0.7) + 1 / np.sqrt(v) + of(math.lgamma, v + 1) + np.hypot(v, 3))


def swap(w, size):
    return int(f"{w:0{size}b}"[::-1], 2)


def words(a, b):
    w = a << 32 | b
    c = [*a.to_bytes(4, "little"), *b.to_bytes(4, "little")]
    permuted = c[6] | c[4] << 8 | c[1] << 16 | c[5] << 24
    funnel = (w_of(b, a) << 7 >> 32) & U32
    narrow = swap(a, 32) ^ (32 - b.bit_length()) ^ a.bit_count() * 3 ^ (b & -b).bit_length() * 5 ^ permuted ^ (a * b >> 32) ^ funnel
    return narrow ^ w // (b | 1) ^ (w % (a | 1) << 20 & MASK) ^ (w * (w * 3 & MASK) >> 64) ^ swap(w, 64)


def w_of(high, low):
    return high << 32 | low


def signed(v, size):
    return v - (1 << size) if v >> (size - 1) else v


def small_words(a, b):
    p, q = a.to_bytes(4, "little"), b.to_bytes(4, "little")
    pack = lambda values, size=8: sum((v & (1 << size) - 1) << size * i for i, v in enumerate(values))
    halves = [(a & 0xFFFF, b & 0xFFFF), (a >> 16, b >> 16)]
    largest = pack([max(signed(x, 16), signed(y, 16)) for x, y in halves], 16)
    added, apart = pack([x + y for x, y in zip(p, q)]), pack([abs(x - y) for x, y in zip(p, q)])
    above, middle = pack([255 * (x > y) for x, y in zip(p, q)]), pack([(x + y + 1) // 2 for x, y in zip(p, q)])
    dot = sum(x * y for x, y in zip(p, q)) + 7
    return added ^ apart ^ largest ^ above ^ middle ^ dot ^ (abs(signed(a, 32) - signed(b, 32)) + 9 & U32)


def ackermann(m, n):
    return n + 1 if m == 0 else ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))


def switched(v):
    r, i = 0, -1
    while (i := i + 1) < 5:
        k = (v >> i) % 7
        if k == 4:
            continue
        if k == 6:
            return r + v
        r = {0: r + 1, 1: r ^ 5, 2: r * 3 - 2, 3: r - 2, 5: r}[k]
        i += k == 5
        r += 100
    return r


def collatz(v):
    steps = 0
    while v != 1:
        v, steps = 3 * v + 1 if v & 1 else v // 2, steps + 1
    return steps


def own(t):
    s = sorted(int(v) ^ t for v in X[:20])
    return s[t % 20] * 7 + s[10]


P = (np.abs(normal(64)) + 0.25).astype(np.float32)
V = P.astype(np.float64)
R = np.concatenate([normal(48) * 4, np.arange(-4, 4) + 0.5, np.arange(-4, 4)]).astype(np.float32)
D = double(R)
AWAY = np.trunc(D + np.copysign(0.5, D))
ROUNDED = (np.rint(D) + 10 * np.floor(D) + 100 * np.ceil(D) + 1000 * np.trunc(D) + 10000 * AWAY + 100000 * np.rint(D)
           + 1000000 * np.ceil(D)).astype(np.int32)
BIG = V.astype(np.float32) * np.float32(1e6)
A, B, X = bits(64), bits(64), whole(64)
HA, HB = eighths(128), eighths(128)
FUSED = double(HA) * HB + 0.5
TURNED = FUSED.reshape(64, 2)[:, ::-1].ravel() - HA
E = eighths(64, most=15)
PRODUCTS = (double(HA) * HB).reshape(64, 2)
POWERS = np.floor(np.log2(np.maximum(np.abs(E), 1e-9)))
BYTES = np.where(E == 0, 0, (POWERS + 7) * 8 + (np.abs(E) / 2**POWERS - 1) * 8 + (E < 0) * 128).astype(np.uint8)
FIVE = np.sign(E) * np.where(E == 0, 0, np.rint(np.abs(E) / 2**POWERS * 4) / 4 * 2**POWERS)
W = np.array([int(a) << 32 | int(b) for a, b in zip(A, B, strict=True)], np.uint64)
SQUARES = [int(w) * int(w) + int(w) for w in W]
WIDE = np.array([part for v in SQUARES for part in (v >> 64, v // 1000003 & MASK)], np.uint64)
PAIR = np.zeros(64, [("a", "f4"), ("b", "f4", 3), ("c", "i2"), ("rest", "i2")])
PAIR["a"], PAIR["b"], PAIR["c"] = eighths(64), eighths(64, 3), whole(64).astype(np.int16)
CHANGED = PAIR.copy()
CHANGED["a"] += PAIR["b"][np.arange(64), np.arange(64) % 3] * np.float32(0.5)
CHANGED["b"][:, 1], CHANGED["c"] = PAIR["c"], -PAIR["c"]
F4 = eighths(64, 4)
TABLE, MORE = np.array([3, 1, 4, 1, 5, 9, 2, 6]), np.array([10, 20, 30, 40])

CASES = [
    case("mathematics", given(P), made(single(V) + of(lambda v: math.erfc(-v / 2**0.5) / 2, V) + 10 ** (V / 4), "float32")),
    case("mathematics_in_double", given(V), made(single(V) + 1 / V, "float64", tolerance=1e-13)),
    case("large_arguments", given(P), made(np.sin(double(BIG)) + np.cos(double(BIG * np.float32(3))), "float32")),
    case("fast_mathematics", given(P), made(np.sin(V) + np.exp(-V) + np.log(V + 1) + V / 3 + V**0.5 + np.clip(V - 1, 0, 1), "float32")),
    case("roundings", given(R), made(ROUNDED, "int32")),
    case("halves", given(HA, "float16"), given(HB, "float16"), made(np.maximum(FUSED, TURNED), "float16")),
    case("bfloats", given(HA, "bfloat16"), given(HB, "bfloat16"), made(PRODUCTS[:, 0] - PRODUCTS[:, 1] + 0.25, "float32")),
    case("eighths_of_a_byte", given(E), made(double(E) + 100 * FIVE, "float32"), made(BYTES, "uint8")),
    case("integers", given(A), given(B), made(each(words, A, B, dtype="uint64"), "uint64")),
    case("small_integers", given(A), given(B), made(each(small_words, A, B), "uint32")),
    case("wide_integers", given(W), made(WIDE, "uint64")),
    case("tables", given(X), made((TABLE[X & 7] * MORE[X >> 3 & 3] + 5 + X.reshape(32, 2)[:, ::-1].ravel()).astype(np.int32), "int32")),
    case("recursion", given(X), made(each(lambda v: ackermann(2, v % 4), X, dtype="int32"), "int32")),
    case("virtual_calls", given(X), made(np.where(X % 2, X * 3, X * X), "int32")),
    case("function_pointers", given(X), made(np.choose(X % 3, [X * 2, X * X, -X]), "int32")),
    case("switches", given(X), made(each(switched, X, dtype="int32"), "int32")),
    case("own_memory", given(X), made(np.array([own(t) for t in range(64)], np.int32), "int32"), 20),
    case("structures", given(PAIR.view(np.uint8)), made(CHANGED.view(np.uint8), "uint8", PAIR.view(np.uint8)), 0.5),
    case("vectors", given(F4), made(np.stack([double(F4[:, 0]) * F4[:, 1] + F4[:, 2], double(F4[:, 3]) - F4[:, 0]], 1), "float64")),
    case("more_atomics", made([64 * 63 / 4, 16], "float64"), made([64, 32], "float16"), made(np.array([63 << 40], np.uint64), "uint64"),
         made(np.array([64, 38, (1 << 32) - 2016], np.uint32), "uint32")),
    case("collatz", given((A % 1000 + 1).astype(np.uint32)), made(each(lambda v: collatz(v % 1000 + 1), A), "uint32")),
]
