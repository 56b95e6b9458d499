"""Elementwise kernels: masks, types, conversions, random numbers, data-dependent addresses."""

import numpy as np
import triton
import triton.language as tl
from cases import BOTH, NEWER, Case, bits, distinct, double, eighths, given, made, normal, whole


@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def gelu(x, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at)
    tl.store(out + at, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)))


@triton.jit
def functions(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    tl.store(out + at, tl.exp(v) + tl.log(v) * tl.sin(v) - tl.sqrt(v) * tl.rsqrt(v + 1) + tl.floor(v) * tl.exp2(-v))


@triton.jit
def swiglu(gate, up, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    g = tl.load(gate + at).to(tl.float32)
    tl.store(out + at, (g * tl.sigmoid(g) * tl.load(up + at)).to(out.dtype.element_ty))


@triton.jit
def convert(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + at).to(out.dtype.element_ty))


@triton.jit
def there_and_back(x, out, B: tl.constexpr, KIND: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + at).to(KIND).to(tl.float32))


@triton.jit
def integers(x, y, out, B: tl.constexpr):
    at = tl.arange(0, B)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, a // b + a % b * 3 + (a ^ b) - (a << (b & 7)) + tl.umulhi(a, b) + tl.where(a > b, a & b, a | b))


@triton.jit
def dropout(x, out, seed, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    keep = tl.rand(seed, at) > 0.25
    tl.store(out + at, tl.where(keep, tl.load(x + at) / 0.75, 0.0))


@triton.jit
def random_integers(out, seed, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.randint(seed, at).to(tl.uint32, bitcast=True))


@triton.jit
def take_rows(table, index, out, WIDTH: tl.constexpr):
    row, at = tl.load(index + tl.program_id(0)), tl.arange(0, WIDTH)
    tl.store(out + tl.program_id(0) * WIDTH + at, tl.load(table + row * WIDTH + at))


@triton.jit
def scatter(x, index, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + tl.load(index + at), tl.load(x + at))


@triton.jit
def transpose(x, out, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(out + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :], tl.trans(tl.load(x + rows * N + columns)))


@triton.jit
def transpose_tiles(x, out, M, N, B: tl.constexpr):
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x + rows[:, None] * N + columns[None, :], mask=(rows[:, None] < M) & (columns[None, :] < N))
    tl.store(out + columns[:, None] * M + rows[None, :], tl.trans(v), mask=(columns[:, None] < N) & (rows[None, :] < M))


@triton.jit
def joined(x, y, out, B: tl.constexpr):
    at = tl.arange(0, B)
    a, b = tl.load(x + at), tl.load(y + at)
    even, odd = tl.split(tl.join(b, a))
    tl.store(out + tl.arange(0, 2 * B), tl.interleave(even, odd))


@triton.jit
def assembly(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.inline_asm_elementwise("prmt.b32 $0, $1, 0, 0x0123;", "=r,r", [tl.load(x + at)], tl.int32, True, 1)
    tl.store(out + at, v)


@triton.jit
def rope(x, cosines, sines, out, HALF: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, HALF)
    a, b = tl.load(x + row * 2 * HALF + at), tl.load(x + row * 2 * HALF + HALF + at)
    c, s = tl.load(cosines + row * HALF + at), tl.load(sines + row * HALF + at)
    tl.store(out + row * 2 * HALF + at, a * c - b * s)
    tl.store(out + row * 2 * HALF + HALF + at, b * c + a * s)


@triton.jit
def quantize(x, out, scales, WIDTH: tl.constexpr):
    """Quantize rows to int8, each with its scale factor."""
    row, at = tl.program_id(0), tl.arange(0, WIDTH)
    v = tl.load(x + row * WIDTH + at)
    scale = tl.max(tl.abs(v), 0) / 127.0
    q = v / scale
    tl.store(out + row * WIDTH + at, tl.where(q >= 0, q + 0.5, q - 0.5).to(tl.int8))
    tl.store(scales + row, scale)


@triton.jit
def unpack_nibbles(x, scales, out, B: tl.constexpr):
    at = tl.arange(0, B)
    word = tl.load(x + at)
    low, high = (word & 15).to(tl.float32) - 8, (word >> 4).to(tl.float32) - 8
    tl.store(out + tl.arange(0, 2 * B), tl.interleave(low, high) * tl.load(scales + tl.arange(0, 2 * B) // 32))


def erf(x):
    import math

    return np.vectorize(math.erf)(x)


def philox(seed, counters):
    """First word of Philox with ten rounds (Salmon et al. 2011)."""
    c = [counters.astype(np.uint64)] + [np.zeros_like(counters, np.uint64)] * 3
    key, mask = [seed & 0xFFFFFFFF, seed >> 32], np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        k0, k1 = np.uint64(key[0]), np.uint64(key[1])
        c = [(b >> np.uint64(32)) ^ c[1] ^ k0, b & mask, (a >> np.uint64(32)) ^ c[3] ^ k1, a & mask]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0].astype(np.uint32)


def uniform(words):
    """Triton's conversion of 31 random bits to a float in [0, 1)."""
    signed = words.view(np.int32).astype(np.int64)
    return np.where(signed < 0, -signed - 1, signed) * np.float64(np.float32(4.6566127342e-10))


def functions_of(v):
    return np.exp(v) + np.log(v) * np.sin(v) - np.sqrt(v) / np.sqrt(v + 1) + np.floor(v) * np.exp2(-v)


def quotients(a, b):
    q = (np.abs(a) // np.abs(b)) * np.sign(a) * np.sign(b)  # integer division rounds toward zero, as in C
    return q + (a - q * b) * 3 + (a ^ b) - (a << (b & 7)) + (a * b >> 32) + np.where(a > b, a & b, a | b)


X, Y, G = normal(1000), normal(1000), normal(512)
P = np.abs(normal(256)) + 0.25
H, U = eighths(512), eighths(512)
A, B = whole(256, low=0, high=10000).astype(np.int64), whole(256, low=1, high=500).astype(np.int64)
EXACT8 = eighths(256, most=15)
R, TABLE, ROWS = normal(512), normal(50, 128), whole(16, high=50)
ORDER, S = distinct(512), normal(512)
T, V, W = normal(32, 64), eighths(32, 64), normal(40, 56)
C, D = whole(128), whole(128)
Z, COS, SIN = normal(8, 128), normal(8, 64), normal(8, 64)
Q = normal(6, 128)
SCALE = np.abs(Q).max(1) / np.float32(127)
NIBBLES, NIBBLE_SCALES = whole(128, high=256, dtype="uint8"), eighths(8)
KEEP = uniform(philox(7, np.arange(512))) > 0.25
WORDS = bits(256)


def half_way(values):
    """Round half away from zero, as the kernel does."""
    return np.trunc(values + np.where(values >= 0, 0.5, -0.5)).astype(np.int8)


def conversion(name, values, start, element, want=None, targets=BOTH):
    arguments = {"x": given(values, start), "out": made(values if want is None else want, element)}
    return Case(name, convert, arguments, constants={"B": 256}, targets=targets)


def rounding(name, kind, values, targets=BOTH, tolerance=None):
    arguments = {"x": given(values), "out": made(double(values), "float32", tolerance=tolerance)}
    return Case(name, there_and_back, arguments, constants={"B": 256, "KIND": kind}, targets=targets)


NUMBERS = normal(256)
CASES = [
    Case(
        "vector-add",
        add,
        {"x": given(X), "y": given(Y), "out": made(double(X) + Y, "float32"), "n": 1000},
        4,
        constants={"B": 256},
    ),
    Case(
        "gelu",
        gelu,
        {"x": given(G), "out": made(0.5 * G * (1 + erf(double(G) / 2**0.5)), "float32")},
        2,
        constants={"B": 256},
    ),
    Case(
        "functions", functions, {"x": given(P), "out": made(functions_of(double(P)), "float32")}, constants={"B": 256}
    ),
    Case(
        "swiglu-half",
        swiglu,
        {
            "gate": given(H, "float16"),
            "up": given(U, "float16"),
            "out": made(H / (1 + np.exp(-double(H))) * U, "float16"),
        },
        2,
        constants={"B": 256},
    ),
    Case(
        "swiglu-bfloat16",
        swiglu,
        {
            "gate": given(H, "bfloat16"),
            "up": given(U, "bfloat16"),
            "out": made(H / (1 + np.exp(-double(H))) * U, "bfloat16"),
        },
        2,
        constants={"B": 256},
    ),
    conversion("to-e4m3", EXACT8, "float32", "float8_e4m3fn", targets=NEWER),
    conversion("from-e4m3", EXACT8, "float8_e4m3fn", "float32", targets=NEWER),
    conversion("from-e4m3-to-half", EXACT8, "float8_e4m3fn", "float16", targets=NEWER),
    conversion("from-e4m3-to-bfloat16", EXACT8, "float8_e4m3fn", "bfloat16", targets=NEWER),
    conversion("to-e5m2", EXACT8, "float32", "float8_e5m2"),
    conversion("from-e5m2", eighths(256), "float8_e5m2", "float32"),
    conversion("half-to-bfloat16", EXACT8, "float16", "bfloat16"),
    conversion("to-int8", np.trunc(EXACT8 * 8), "float32", "int8", want=np.trunc(EXACT8 * 8).astype(np.int8)),
    conversion("to-int64", np.trunc(EXACT8 * 8), "bfloat16", "int64", want=np.trunc(EXACT8 * 8).astype(np.int64)),
    rounding("rounded-to-half", tl.float16, NUMBERS, tolerance=5e-4),
    rounding("rounded-to-bfloat16", tl.bfloat16, NUMBERS, tolerance=4e-3),
    rounding("rounded-to-e4m3", tl.float8e4nv, NUMBERS, NEWER, tolerance=0.0625),
    rounding("rounded-to-e5m2", tl.float8e5, NUMBERS, tolerance=0.125),
    Case(
        "integers",
        integers,
        {
            "x": given(A.astype(np.int32)),
            "y": given(B.astype(np.int32)),
            "out": made(quotients(A, B).astype(np.int32), "int32"),
        },
        constants={"B": 256},
    ),
    Case(
        "dropout",
        dropout,
        {"x": given(R), "out": made(np.where(KEEP, double(R) / 0.75, 0), "float32"), "seed": 7},
        2,
        constants={"B": 256},
    ),
    Case(
        "philox",
        random_integers,
        {"out": made(philox(5, np.arange(512)), "uint32"), "seed": 5},
        2,
        constants={"B": 256},
    ),
    Case(
        "take-rows",
        take_rows,
        {"table": given(TABLE), "index": given(ROWS), "out": made(TABLE[ROWS], "float32")},
        16,
        constants={"WIDTH": 128},
    ),
    Case(
        "scatter",
        scatter,
        {"x": given(S), "index": given(ORDER), "out": made(S[np.argsort(ORDER)], "float32")},
        2,
        constants={"B": 256},
    ),
    Case("transpose", transpose, {"x": given(T), "out": made(T.T, "float32")}, constants={"M": 32, "N": 64}),
    Case(
        "transpose-half",
        transpose,
        {"x": given(V, "float16"), "out": made(V.T, "float16")},
        constants={"M": 32, "N": 64},
    ),
    Case(
        "transpose-of-tiles",
        transpose_tiles,
        {"x": given(W), "out": made(W.T, "float32"), "M": 40, "N": 56},
        (3, 4),
        constants={"B": 16},
    ),
    Case(
        "join-and-split",
        joined,
        {"x": given(C), "y": given(D), "out": made(np.stack([D, C], 1).ravel(), "int32")},
        constants={"B": 128},
    ),
    Case(
        "inline-assembly",
        assembly,
        {"x": given(WORDS.view(np.int32)), "out": made(WORDS.byteswap().view(np.int32), "int32")},
        constants={"B": 256},
    ),
    Case(
        "rope",
        rope,
        {
            "x": given(Z),
            "cosines": given(COS),
            "sines": given(SIN),
            "out": made(
                np.concatenate(
                    [
                        double(Z[:, :64]) * COS - double(Z[:, 64:]) * SIN,
                        double(Z[:, 64:]) * COS + double(Z[:, :64]) * SIN,
                    ],
                    1,
                ),
                "float32",
            ),
        },
        8,
        constants={"HALF": 64},
    ),
    Case(
        "quantize-rows",
        quantize,
        {"x": given(Q), "out": made(half_way(Q / SCALE[:, None]), "int8"), "scales": made(SCALE, "float32")},
        6,
        constants={"WIDTH": 128},
    ),
    Case(
        "unpack-nibbles",
        unpack_nibbles,
        {
            "x": given(NIBBLES),
            "scales": given(NIBBLE_SCALES),
            "out": made(
                (np.stack([NIBBLES & 15, NIBBLES >> 4], 1).ravel() - 8.0) * np.repeat(double(NIBBLE_SCALES), 32),
                "float32",
            ),
        },
        constants={"B": 128},
    ),
]
