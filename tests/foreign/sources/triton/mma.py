"""GEMMs through pointers: every operand type, and every way to distribute the work."""

import numpy as np
import triton
import triton.language as tl
from cases import ALL, NEWER, Case, double, eighths, given, made, normal, room, whole


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SUMS: tl.constexpr):
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), SUMS)
    for k in range(0, K, BK):
        at = k + tl.arange(0, BK)
        x = tl.load(a + (rows % M)[:, None] * K + at[None, :])
        y = tl.load(b + at[:, None] * N + (columns % N)[None, :])
        total = tl.dot(x, y, total, out_dtype=SUMS)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(c.dtype.element_ty), mask=inside)


@triton.jit
def precise(a, b, c, B: tl.constexpr, HOW: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision=HOW))


@triton.jit
def times_turned(a, b, c, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """GEMM with a K-major B."""
    rows, columns, at = tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, K)
    y = tl.load(b + columns[:, None] * K + at[None, :])
    tl.store(
        c + rows[:, None] * BN * tl.num_programs(0) + columns[None, :],
        tl.dot(tl.load(a + rows[:, None] * K + at[None, :]), y.T).to(tl.float16),
    )


@triton.jit
def in_bands(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BAND: tl.constexpr):
    """GEMM with tiles in bands of rows for cache locality, and bias and activation in the epilogue."""
    wide, high = tl.cdiv(N, BN), tl.cdiv(M, BM)
    band = tl.program_id(0) // (BAND * wide)
    height = tl.minimum(high - band * BAND, BAND)
    row = band * BAND + tl.program_id(0) % (BAND * wide) % height
    column = tl.program_id(0) % (BAND * wide) // height
    rows, columns, at = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN), tl.arange(0, BK)
    left, right = a + (rows % M)[:, None] * K + at[None, :], b + at[:, None] * N + (columns % N)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        total = tl.dot(
            tl.load(left, mask=at[None, :] < K - k * BK, other=0.0),
            tl.load(right, mask=at[:, None] < K - k * BK, other=0.0),
            total,
        )
        left += BK
        right += BK * N
    total = tl.where(total >= 0, total, 0.01 * total)
    tl.store(
        c + rows[:, None] * N + columns[None, :],
        total.to(tl.float16),
        mask=(rows[:, None] < M) & (columns[None, :] < N),
    )


@triton.jit
def split_k(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, columns = tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.program_id(1) * BK, K, BK * tl.num_programs(1)):
        at = k + tl.arange(0, BK)
        total = tl.dot(
            tl.load(a + rows[:, None] * K + at[None, :]), tl.load(b + at[:, None] * N + columns[None, :]), total
        )
    tl.atomic_add(c + rows[:, None] * N + columns[None, :], total)


@triton.jit
def stream_k(a, b, c, parts, locks, N, K, STEPS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Stream-K: a CTA computes STEPS blocks of K; a tile's first CTA adds the other CTAs' sums, which locks guard."""
    tiles = tl.cdiv(K, BK)
    now, end = tl.program_id(0) * STEPS, tl.program_id(0) * STEPS + STEPS
    rows = tl.arange(0, BM)
    while now < end:
        tile, first = now // tiles, now % tiles
        stop = tl.minimum(tile * tiles + tiles, end)
        columns = tile * BN + tl.arange(0, BN)
        total = tl.zeros((BM, BN), tl.float32)
        for step in range(first, first + stop - now):
            at = step * BK + tl.arange(0, BK)
            total = tl.dot(
                tl.load(a + rows[:, None] * K + at[None, :]), tl.load(b + at[:, None] * N + columns[None, :]), total
            )
        place = rows[:, None] * BN + tl.arange(0, BN)[None, :]
        if first == 0:
            other = tl.program_id(0) + 1
            covered = stop
            while covered < tile * tiles + tiles:
                while tl.atomic_cas(locks + other, 1, 1) != 1:
                    pass
                total += tl.load(parts + other * BM * BN + place)
                covered += STEPS
                other += 1
            tl.store(c + rows[:, None] * N + columns[None, :], total)
        else:
            tl.store(parts + tl.program_id(0) * BM * BN + place, total)
            tl.debug_barrier()
            tl.atomic_xchg(locks + tl.program_id(0), 1)
        now = stop


@triton.jit
def grouped(a, b, c, starts, N: tl.constexpr, K: tl.constexpr, BM: tl.constexpr):
    """Grouped GEMM: rows of A belong to groups (experts), and each group has its own B."""
    group, at = tl.program_id(0), tl.arange(0, K)
    first, last = tl.load(starts + group), tl.load(starts + group + 1)
    y = tl.load(b + group * K * N + at[:, None] * N + tl.arange(0, N)[None, :])
    for row in range(first, last, BM):
        rows = row + tl.arange(0, BM)
        x = tl.load(a + rows[:, None] * K + at[None, :], mask=rows[:, None] < last, other=0.0)
        tl.store(c + rows[:, None] * N + tl.arange(0, N)[None, :], tl.dot(x, y), mask=rows[:, None] < last)


@triton.jit
def batched(a, b, c, B: tl.constexpr, S: tl.constexpr):
    at = tl.arange(0, B)[:, None, None] * S * S + tl.arange(0, S)[None, :, None] * S + tl.arange(0, S)[None, None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@triton.jit
def convolution(x, w, out, H, W, C: tl.constexpr, F: tl.constexpr, B: tl.constexpr):
    """3 x 3 convolution as nine MMAs, with zero padding."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    y, z = at // W, at % W
    channels, total = tl.arange(0, C), tl.zeros((B, F), tl.float32)
    for i in range(9):
        dy, dx = y + i // 3 - 1, z + i % 3 - 1
        inside = (dy >= 0) & (dy < H) & (dx >= 0) & (dx < W)
        v = tl.load(x + (dy * W + dx)[:, None] * C + channels[None, :], mask=inside[:, None], other=0.0)
        k = tl.load(w + i * C * F + channels[:, None] * F + tl.arange(0, F)[None, :])
        total = tl.dot(v, k, total)
    tl.store(out + at[:, None] * F + tl.arange(0, F)[None, :], total, mask=at[:, None] < H * W)


@triton.jit
def dequantized(a, b, scales, c, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """GEMM with an int8 B and a scale factor for each column."""
    rows, columns, at = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, K)
    y = tl.load(b + at[:, None] * BN + columns[None, :]).to(tl.float16)
    total = tl.dot(tl.load(a + rows[:, None] * K + at[None, :]), y)
    tl.store(c + rows[:, None] * BN + columns[None, :], total * tl.load(scales + columns)[None, :])


@triton.jit
def scaled(a, scale_a, b, scale_b, c, K: tl.constexpr, S: tl.constexpr):
    """GEMM of E4M3 by E5M2, with an 8-bit scale factor per 32 of K."""
    rows, at, parts = tl.arange(0, S), tl.arange(0, K), tl.arange(0, K // 32)
    x, y = tl.load(a + rows[:, None] * K + at[None, :]), tl.load(b + at[:, None] * S + rows[None, :])
    left, right = (
        tl.load(scale_a + rows[:, None] * (K // 32) + parts),
        tl.load(scale_b + rows[:, None] * (K // 32) + parts),
    )
    tl.store(c + rows[:, None] * S + rows[None, :], tl.dot_scaled(x, left, "e4m3", y, right, "e5m2"))


@triton.jit
def gated(x, up, gate, out, K: tl.constexpr, B: tl.constexpr):
    """Gated MLP: h = (x · up) * max(x · gate, 0) by two MMAs; a third MMA computes h · hᵀ."""
    rows, at = tl.arange(0, B), tl.arange(0, K)
    v = tl.load(x + rows[:, None] * K + at[None, :])
    u, g = (
        tl.dot(v, tl.load(up + at[:, None] * B + rows[None, :])),
        tl.dot(v, tl.load(gate + at[:, None] * B + rows[None, :])),
    )
    h = (u * tl.where(g > 0, g, 0.0)).to(tl.float16)
    tl.store(out + rows[:, None] * B + rows[None, :], tl.dot(h, h.T))


def product(name, element, out, shape, tile, options=(), factors=eighths, targets=ALL):
    (m, n, k), (bm, bn, bk) = shape, tile
    a, b = factors(m, k), factors(k, n)
    want = double(a) @ double(b)
    arguments = {
        "a": given(a, element),
        "b": given(b, element),
        "c": made(want.astype(np.int32) if out == "int32" else want, out),
        "M": m,
        "N": n,
        "K": k,
    }
    return Case(
        name,
        matmul,
        arguments,
        (-(-m // bm), -(-n // bn)),
        constants={"BM": bm, "BN": bn, "BK": bk, "SUMS": SUMS[out]},
        options={"num_warps": 4, "num_stages": 3} | dict(options),
        targets=targets,
    )


SUMS = {"float16": tl.float32, "float32": tl.float32, "int32": tl.int32, "float64": tl.float64}


def small(*shape):
    return whole(*shape, low=-20, high=20, dtype="int8")


def few(*shape):
    return eighths(*shape, most=4)


def precision(name, how, tolerance):
    return Case(
        name,
        precise,
        {"a": given(PA), "b": given(PB), "c": made(double(PA) @ PB, "float32", tolerance=tolerance)},
        constants={"B": 64, "HOW": how},
        targets=ALL,
    )


PA, PB = normal(64, 64), normal(64, 64)
TA, TB = eighths(64, 64), eighths(128, 64)
BA, BB = eighths(90, 48), eighths(48, 80)
LEAKY = double(BA) @ double(BB)
SA, SB = eighths(32, 256), eighths(256, 64)
GA, GB, STARTS = eighths(100, 32), eighths(3, 32, 32), np.array([0, 20, 52, 100], np.int32)
GROUPED = np.concatenate([double(GA[STARTS[i] : STARTS[i + 1]]) @ double(GB[i]) for i in range(3)])
BATCH_A, BATCH_B = eighths(4, 16, 16), eighths(4, 16, 16)
IMAGE, FILTERS = eighths(8, 10, 16), eighths(9, 16, 32)
PADDED = np.pad(double(IMAGE), ((1, 1), (1, 1), (0, 0)))
CONVOLVED = sum(PADDED[i // 3 : i // 3 + 8, i % 3 : i % 3 + 10] @ double(FILTERS[i]) for i in range(9))
QA, QB, QS = eighths(64, 64), small(64, 32), eighths(32)
MA, MB = eighths(32, 128), few(128, 32)
EA, EB = whole(32, 4, low=124, high=130, dtype="uint8"), whole(32, 4, low=124, high=130, dtype="uint8")
SCALED = double(MA) * np.exp2(np.repeat(EA, 32, 1) - 127.0) @ (double(MB) * np.exp2(np.repeat(EB, 32, 1) - 127.0).T)
X, UP, GATE = few(64, 32), few(32, 64), few(32, 64)
HIDDEN = (double(X) @ UP * np.maximum(double(X) @ GATE, 0)).astype(np.float16).astype(np.float64)

CASES = [
    product("dot-half", "float16", "float32", (128, 128, 96), (64, 64, 32)),
    product("dot-half-odd-sizes", "float16", "float16", (70, 50, 64), (32, 32, 32)),
    product("dot-half-eight-warps", "float16", "float32", (128, 128, 64), (128, 128, 32), {"num_warps": 8}),
    product("dot-half-four-stages", "float16", "float32", (64, 64, 256), (64, 64, 32), {"num_stages": 4}),
    product("dot-half-one-warp", "float16", "float32", (32, 32, 64), (16, 16, 16), {"num_warps": 1}),
    product("dot-half-of-a-cluster", "float16", "float32", (128, 64, 64), (128, 64, 32), {"num_ctas": 2}, targets=NEWER),
    product("dot-bfloat16", "bfloat16", "float32", (128, 64, 64), (64, 64, 32)),
    product("dot-tf32", "float32", "float32", (64, 64, 64), (64, 32, 32)),
    product("dot-e4m3", "float8_e4m3fn", "float32", (64, 64, 128), (64, 64, 64), targets=NEWER),
    product("dot-e5m2", "float8_e5m2", "float32", (64, 64, 128), (64, 64, 64)),
    product("dot-int8", "int8", "int32", (64, 64, 128), (64, 64, 64), factors=small),
    product("dot-double", "float64", "float64", (32, 32, 32), (16, 16, 16)),
    precision("dot-single-exactly", "ieee", 1e-5),
    precision("dot-tf32-three-times", "tf32x3", 2e-5),
    precision("dot-tf32-of-any-numbers", "tf32", 2e-3),
    Case(
        "dot-turned",
        times_turned,
        {"a": given(TA, "float16"), "b": given(TB, "float16"), "c": made(double(TA) @ TB.T, "float16")},
        2,
        constants={"K": 64, "BM": 64, "BN": 64},
        targets=ALL,
    ),
    Case(
        "matmul-in-bands",
        in_bands,
        {
            "a": given(BA, "float16"),
            "b": given(BB, "float16"),
            "c": made(np.where(LEAKY >= 0, LEAKY, 0.01 * LEAKY), "float16"),
            "M": 90,
            "N": 80,
            "K": 48,
        },
        9,
        constants={"BM": 32, "BN": 32, "BK": 32, "BAND": 2},
        options={"num_stages": 3},
    ),
    Case(
        "split-k",
        split_k,
        {
            "a": given(SA, "float16"),
            "b": given(SB, "float16"),
            "c": made(double(SA) @ SB, "float32"),
            "N": 64,
            "K": 256,
        },
        (2, 3),
        constants={"BM": 32, "BN": 32, "BK": 32},
    ),
    Case(
        "stream-k",
        stream_k,
        {
            "a": given(SA, "float16"),
            "b": given(SB, "float16"),
            "c": made(double(SA) @ SB, "float32"),
            "parts": room(4, 32, 32, element="float32"),
            "locks": made([0, 1, 0, 1], "int32"),
            "N": 64,
            "K": 256,
        },
        4,
        constants={"STEPS": 4, "BM": 32, "BN": 32, "BK": 32},
    ),
    Case(
        "grouped",
        grouped,
        {"a": given(GA, "float16"), "b": given(GB, "float16"), "c": made(GROUPED, "float32"), "starts": given(STARTS)},
        3,
        constants={"N": 32, "K": 32, "BM": 32},
    ),
    Case(
        "batched",
        batched,
        {
            "a": given(BATCH_A, "float16"),
            "b": given(BATCH_B, "float16"),
            "c": made(double(BATCH_A) @ double(BATCH_B), "float32"),
        },
        constants={"B": 4, "S": 16},
    ),
    Case(
        "convolution",
        convolution,
        {
            "x": given(IMAGE, "float16"),
            "w": given(FILTERS, "float16"),
            "out": made(CONVOLVED, "float32"),
            "H": 8,
            "W": 10,
        },
        2,
        constants={"C": 16, "F": 32, "B": 64},
        targets=ALL,
    ),
    Case(
        "dequantized-product",
        dequantized,
        {"a": given(QA, "float16"), "b": given(QB), "scales": given(QS), "c": made(double(QA) @ QB * QS, "float32")},
        constants={"K": 64, "BM": 64, "BN": 32},
        targets=ALL,
    ),
    Case(
        "scaled-product",
        scaled,
        {
            "a": given(MA, "float8_e4m3fn"),
            "scale_a": given(EA),
            "b": given(MB, "float8_e5m2"),
            "scale_b": given(EB),
            "c": made(SCALED, "float32"),
        },
        constants={"K": 128, "S": 32},
        targets=NEWER,
    ),
    Case(
        "gated-products",
        gated,
        {
            "x": given(X, "float16"),
            "up": given(UP, "float16"),
            "gate": given(GATE, "float16"),
            "out": made(HIDDEN @ HIDDEN.T, "float32"),
        },
        constants={"K": 32, "B": 64},
        targets=ALL,
    ),
]
