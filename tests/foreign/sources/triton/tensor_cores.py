"""Blackwell only: TMA gather and scatter of rows, and cluster launch control."""

import numpy as np
import triton
import triton.language as tl
from cases import BLACKWELL, Case, Described, distinct, double, eighths, given, made


@triton.jit
def gathered(x, rows, out, N, COUNT: tl.constexpr, BN: tl.constexpr):
    """Gather rows by index; a box of the tensor map is one row of the matrix."""
    column = tl.program_id(0) * BN
    tile = x.gather(tl.load(rows + tl.arange(0, COUNT)), column)
    tl.store(out + tl.arange(0, COUNT)[:, None] * N + column + tl.arange(0, BN)[None, :], tile)


@triton.jit
def scattered(x, rows, out, N, COUNT: tl.constexpr, BN: tl.constexpr):
    column = tl.program_id(0) * BN
    tile = tl.load(x + tl.arange(0, COUNT)[:, None] * N + column + tl.arange(0, BN)[None, :])
    out.scatter(tile * 2, tl.load(rows + tl.arange(0, COUNT)), column)


@triton.jit
def experts(x, tokens, w, out, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Gather the rows of an expert, multiply them by its matrix, and scatter the results to the same rows."""
    expert = tl.program_id(0)
    rows = tl.load(tokens + expert * BM + tl.arange(0, BM))
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(x.gather(rows, k), w.load([expert * K + k, 0]), total)
    out.scatter(total.to(tl.float16), rows, 0)


@triton.jit
def taken_over(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """GEMM whose running CTAs take over tiles of CTAs that have not started (cluster launch control)."""
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([row, k]), b.load([column, k]).T, total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def in_parts(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROLES: tl.constexpr):
    """Persistent GEMM: each half of the accumulator is converted and stored while the next tile is multiplied."""
    wide = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), wide * tl.cdiv(M, BM), tl.num_programs(0), flatten=True, warp_specialize=ROLES):
        row, column = tile // wide * BM, tile % wide * BN
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            total = tl.dot(a.load([row, k]), b.load([column, k]).T, total)
        left, right = total.reshape(BM, 2, BN // 2).permute(0, 2, 1).split()
        c.store([row, column], left.to(tl.float16))
        c.store([row, column + BN // 2], right.to(tl.float16))


@triton.jit
def from_tensor_memory(a, b, d, c, K: tl.constexpr, B: tl.constexpr):
    """Two chained MMAs: the first result, rounded, is operand A of the second."""
    rows, at = tl.arange(0, B), tl.arange(0, K)
    first = tl.dot(tl.load(a + rows[:, None] * K + at[None, :]), tl.load(b + at[:, None] * B + rows[None, :]))
    second = tl.dot(first.to(tl.float16), tl.load(d + rows[:, None] * B + rows[None, :]))
    tl.store(c + rows[:, None] * B + rows[None, :], second)


def mapped(name, kernel, shape, tile, constants=(), element="float16", box=None, grid=None, sizes=("K",), **options):
    (m, n, k), (bm, bn, bk) = shape, tile
    a, b = eighths(m, k), eighths(n, k)
    maps = {
        "a": Described(given(a, element), (bm, bk)),
        "b": Described(given(b, element), (bn, bk)),
        "c": Described(made(double(a) @ double(b).T, "float16"), box or (bm, bn)),
    }
    known = {"M": m, "N": n, "K": k}
    return Case(
        name,
        kernel,
        maps | {size: known[size] for size in sizes},
        grid or (m // bm, n // bn),
        constants={"BM": bm, "BN": bn, "BK": bk} | dict(constants),
        options={"num_warps": 4} | options,
        targets=BLACKWELL,
    )


G, PICKED = eighths(100, 128), distinct(100)[:32]
S = eighths(32, 128)
PUT = np.zeros((100, 128))
PUT[PICKED] = double(S) * 2
TOKENS, W, ORDER = eighths(256, 128), eighths(2, 128, 64), distinct(256)
ROUTED = np.zeros((256, 64))
for expert in range(2):
    mine = ORDER[expert * 128 : expert * 128 + 128]
    ROUTED[mine] = double(TOKENS[mine]) @ double(W[expert])
CA, CB, CD = eighths(128, 64, most=4), eighths(64, 128, most=4), eighths(128, 128, most=4)
CHAINED = (double(CA) @ CB).astype(np.float16).astype(np.float64) @ CD

CASES = [
    Case(
        "rows-gathered-by-maps",
        gathered,
        {"x": Described(given(G), (1, 32)), "rows": given(PICKED), "out": made(double(G[PICKED]), "float32"), "N": 128},
        4,
        constants={"COUNT": 32, "BN": 32},
        targets=BLACKWELL,
    ),
    Case(
        "rows-scattered-by-maps",
        scattered,
        {"x": given(S, "float16"), "rows": given(PICKED), "out": Described(made(PUT, "float16"), (1, 64)), "N": 128},
        2,
        constants={"COUNT": 32, "BN": 64},
        targets=BLACKWELL,
    ),
    Case(
        "experts",
        experts,
        {
            "x": Described(given(TOKENS, "float16"), (1, 64)),
            "tokens": given(ORDER),
            "w": Described(given(W.reshape(256, 64), "float16"), (64, 64)),
            "out": Described(made(ROUTED, "float16"), (1, 64)),
            "N": 64,
            "K": 128,
        },
        2,
        constants={"BM": 128, "BN": 64, "BK": 64},
        targets=BLACKWELL,
    ),
    mapped("tiles-taken-over", taken_over, (512, 128, 128), (128, 64, 64), clc=True),
    mapped("halves-of-sums", in_parts, (256, 256, 128), (128, 128, 64), {"ROLES": False}, box=(128, 64), grid=2, sizes=("M", "N", "K")),
    mapped("halves-of-sums-with-roles", in_parts, (256, 256, 192), (128, 128, 64), {"ROLES": True}, box=(128, 64), grid=2,
           sizes=("M", "N", "K"), num_stages=3),
    mapped("wide-tiles", taken_over, (128, 512, 192), (128, 256, 64), num_warps=8, num_stages=2),
    mapped("bfloat16-eight-warps", taken_over, (256, 128, 128), (128, 128, 64), element="bfloat16", num_warps=8),
    mapped("e4m3-wide", taken_over, (128, 256, 256), (128, 256, 128), element="float8_e4m3fn"),
    Case(
        "product-of-a-product",
        from_tensor_memory,
        {"a": given(CA, "float16"), "b": given(CB, "float16"), "d": given(CD, "float16"), "c": made(CHAINED, "float32")},
        constants={"K": 64, "B": 128},
        targets=BLACKWELL,
    ),
]
