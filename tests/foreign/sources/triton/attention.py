"""Attention: forward and backward, causal, split, through tensor maps and with warp roles."""

import numpy as np
import triton
import triton.language as tl
from cases import ALL, BLACKWELL, NEWER, Case, Described, double, given, made, normal


@triton.jit
def forward(q, k, v, out, logs, N, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    head, rows, at = tl.program_id(1) * N * D, tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    mine = tl.load(q + head + rows[:, None] * D + at[None, :])
    largest = tl.full((BM,), -float("inf"), tl.float32)
    sums, total = tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BM if CAUSAL else N, BN):
        columns = start + tl.arange(0, BN)
        s = tl.dot(mine, tl.load(k + head + columns[None, :] * D + at[:, None])) * (scale * 1.44269504)
        if CAUSAL:
            s = tl.where(rows[:, None] >= columns[None, :], s, -float("inf"))
        now = tl.maximum(largest, tl.max(s, 1))
        p, keep = tl.exp2(s - now[:, None]), tl.exp2(largest - now)
        sums = sums * keep + tl.sum(p, 1)
        y = tl.load(v + head + columns[:, None] * D + at[None, :])
        total = tl.dot(p.to(y.dtype), y, total * keep[:, None])
        largest = now
    tl.store(out + head + rows[:, None] * D + at[None, :], (total / sums[:, None]).to(out.dtype.element_ty))
    tl.store(logs + tl.program_id(1) * N + rows, largest + tl.log2(sums))


@triton.jit
def through_maps(q, k, v, out, N, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, ROLES: tl.constexpr):
    row = tl.program_id(0) * BM
    mine = q.load([row, 0])
    largest = tl.full((BM,), -float("inf"), tl.float32)
    sums, total = tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for start in tl.range(0, N, BN, warp_specialize=ROLES):
        s = tl.dot(mine, k.load([start, 0]).T) * (scale * 1.44269504)
        now = tl.maximum(largest, tl.max(s, 1))
        p, keep = tl.exp2(s - now[:, None]), tl.exp2(largest - now)
        sums = sums * keep + tl.sum(p, 1)
        total = tl.dot(p.to(tl.float16), v.load([start, 0]), total * keep[:, None])
        largest = now
    out.store([row, 0], (total / sums[:, None]).to(tl.float16))


@triton.jit
def backward(q, k, v, do, logs, deltas, dq, dk, dv, N, scale, D: tl.constexpr, B: tl.constexpr):
    """A CTA owns keys and values, iterates over queries, and adds to the gradients of queries by atomics."""
    columns, at = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, D)
    x, y = tl.load(k + columns[:, None] * D + at[None, :]), tl.load(v + columns[:, None] * D + at[None, :])
    gk, gv = tl.zeros((B, D), tl.float32), tl.zeros((B, D), tl.float32)
    for start in range(0, N, B):
        rows = start + tl.arange(0, B)
        z, g = tl.load(q + rows[:, None] * D + at[None, :]), tl.load(do + rows[:, None] * D + at[None, :])
        p = tl.exp2(tl.dot(x, z.T) * (scale * 1.44269504) - tl.load(logs + rows)[None, :])
        gv = tl.dot(p.to(tl.float16), g, gv)
        ds = (p * (tl.dot(y, g.T) - tl.load(deltas + rows)[None, :]) * scale).to(tl.float16)
        gk = tl.dot(ds, z, gk)
        tl.atomic_add(dq + rows[:, None] * D + at[None, :], tl.dot(ds.T, x), sem="relaxed")
    tl.store(dk + columns[:, None] * D + at[None, :], gk)
    tl.store(dv + columns[:, None] * D + at[None, :], gv)


@triton.jit
def decoded(
    q, k, v, table, parts, logs, lengths, D: tl.constexpr, PAGE: tl.constexpr, H: tl.constexpr, PAGES: tl.constexpr
):
    """One query per head, against pages of keys; each CTA processes PAGES pages."""
    heads, at, within = tl.arange(0, H), tl.arange(0, D), tl.arange(0, PAGE)
    mine, length = tl.load(q + heads[:, None] * D + at[None, :]), tl.load(lengths)
    largest = tl.full((H,), -float("inf"), tl.float32)
    sums, total = tl.zeros((H,), tl.float32), tl.zeros((H, D), tl.float32)
    for i in range(PAGES):
        number = tl.program_id(0) * PAGES + i
        page = tl.load(table + number) * PAGE * D + within[:, None] * D + at[None, :]
        s = tl.dot(mine, tl.load(k + page).T) * 1.44269504
        s = tl.where((number * PAGE + within < length)[None, :], s, -float("inf"))
        now = tl.maximum(largest, tl.max(s, 1))
        p, keep = tl.exp2(s - now[:, None]), tl.exp2(largest - now)
        sums = sums * keep + tl.sum(p, 1)
        total = tl.dot(p.to(tl.float16), tl.load(v + page), total * keep[:, None])
        largest = now
    tl.store(parts + tl.program_id(0) * H * D + heads[:, None] * D + at[None, :], total / sums[:, None])
    tl.store(logs + tl.program_id(0) * H + heads, largest + tl.log2(sums))


def halves(*shape):
    return normal(*shape).astype(np.float16).astype(np.float32)


def attended(q, k, v, scale, causal=False):
    s = double(q) @ double(k).swapaxes(-1, -2) * scale
    if causal:
        s = np.where(np.tri(s.shape[-2], dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ double(v), (np.log(p.sum(-1)) + s.max(-1)) / np.log(2)


def case(name, n, d, tile, causal=False, heads=2, element="float16", options=(), targets=ALL):
    q, k, v = halves(heads, n, d), halves(heads, n, d), halves(heads, n, d)
    if element == "bfloat16":
        q, k, v = (np.round(x * 8) / 8 for x in (q, k, v))
    out, logs = attended(q, k, v, d**-0.5, causal)
    arguments = {
        "q": given(q, element),
        "k": given(k, element),
        "v": given(v, element),
        "out": made(out, element, tolerance=4e-3 if element == "float16" else 2e-2),
        "logs": made(logs, "float32", tolerance=1e-4),
        "N": n,
        "scale": float(d**-0.5),
    }
    return Case(
        name,
        forward,
        arguments,
        (n // tile[0], heads),
        constants={"D": d, "BM": tile[0], "BN": tile[1], "CAUSAL": causal},
        options=dict(options),
        targets=targets,
    )


def mapped(name, n, d, tile, roles, options=(), targets=NEWER):
    q, k, v = halves(n, d), halves(n, d), halves(n, d)
    out = made(attended(q, k, v, d**-0.5)[0], "float16", tolerance=4e-3)
    box_q, box_k = (tile[0], d), (tile[1], d)
    arguments = {
        "q": Described(given(q, "float16"), box_q),
        "k": Described(given(k, "float16"), box_k),
        "v": Described(given(v, "float16"), box_k),
        "out": Described(out, box_q),
        "N": n,
        "scale": float(d**-0.5),
    }
    return Case(
        name,
        through_maps,
        arguments,
        n // tile[0],
        constants={"D": d, "BM": tile[0], "BN": tile[1], "ROLES": roles},
        options=dict(options),
        targets=targets,
    )


Q, K, V, DO = halves(64, 32), halves(64, 32), halves(64, 32), halves(64, 32)
SCALE = 32**-0.5
OUT, LOGS = attended(Q, K, V, SCALE)
P = np.exp2(double(Q) @ double(K).T * SCALE / np.log(2) - LOGS[:, None])
DELTAS = (double(DO) * OUT).sum(1)
DS = P * (double(DO) @ double(V).T - DELTAS[:, None]) * SCALE
PAGES, TABLE = 4, np.array([5, 0, 3, 6], np.int32)
QH, KP, VP = halves(16, 32), halves(8, 32, 32), halves(8, 32, 32)
KEYS, VALUES = KP[TABLE].reshape(-1, 32), VP[TABLE].reshape(-1, 32)
PARTS = [attended(QH, KEYS[a:b], VALUES[a:b], 1.0) for a, b in ((0, 64), (64, 100))]

CASES = [
    case("attention", 128, 32, (64, 32)),
    case("attention-causal", 128, 64, (64, 64), True),
    case("attention-wide", 64, 128, (64, 32), heads=1),
    case("attention-eight-warps", 128, 64, (128, 64), heads=1, options={"num_warps": 8}),
    case("attention-bfloat16", 128, 32, (64, 32), element="bfloat16"),
    case("attention-four-stages", 128, 32, (32, 16), options={"num_stages": 4}),
    mapped("attention-through-maps", 128, 64, (64, 64), False),
    mapped("attention-through-maps-eight-warps", 128, 64, (128, 32), False, {"num_warps": 8}),
    mapped("attention-roles", 128, 64, (64, 64), True, {"num_stages": 2}),
    mapped("attention-roles-of-128-rows", 256, 64, (128, 64), True, {"num_stages": 2}, BLACKWELL),
    Case(
        "attention-backward",
        backward,
        {
            "q": given(Q, "float16"),
            "k": given(K, "float16"),
            "v": given(V, "float16"),
            "do": given(DO, "float16"),
            "logs": given(LOGS.astype(np.float32)),
            "deltas": given(DELTAS.astype(np.float32)),
            "dq": made(DS @ double(K), "float32", tolerance=4e-3),
            "dk": made(DS.T @ double(Q), "float32", tolerance=4e-3),
            "dv": made(P.T @ double(DO), "float32", tolerance=4e-3),
            "N": 64,
            "scale": float(SCALE),
        },
        2,
        constants={"D": 32, "B": 32},
    ),
    Case(
        "attention-of-pages",
        decoded,
        {
            "q": given(QH, "float16"),
            "k": given(KP, "float16"),
            "v": given(VP, "float16"),
            "table": given(TABLE),
            "parts": made(np.stack([out for out, _ in PARTS]), "float32", tolerance=4e-3),
            "logs": made(np.stack([logs for _, logs in PARTS]), "float32", tolerance=1e-4),
            "lengths": given(np.array([100], np.int32)),
        },
        2,
        constants={"D": 32, "PAGE": 32, "H": 16, "PAGES": 2},
    ),
]
