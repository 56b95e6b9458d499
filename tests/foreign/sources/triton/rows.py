"""Triton kernels on matrix rows: reductions, scans, sorting, counting, and normalization."""

import numpy as np
import triton
import triton.language as tl
from cases import Case, double, eighths, given, made, normal, whole


@triton.jit
def softmax(x, out, N: tl.constexpr, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * N + at, mask=at < N, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * N + at, e / tl.sum(e, 0), mask=at < N)


@triton.jit
def online_softmax(x, out, N, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    largest, total = -float("inf"), 0.0
    for start in range(0, N, B):
        v = tl.load(x + row * N + start + at, mask=start + at < N, other=-float("inf"))
        now = tl.maximum(largest, tl.max(v, 0))
        total = total * tl.exp(largest - now) + tl.sum(tl.exp(v - now), 0)
        largest = now
    for start in range(0, N, B):
        v = tl.load(x + row * N + start + at, mask=start + at < N, other=-float("inf"))
        tl.store(out + row * N + start + at, tl.exp(v - largest) / total, mask=start + at < N)


@triton.jit
def layer_norm(x, weight, bias, out, N, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * N + at, mask=at < N, other=0.0)
    mean = tl.sum(v, 0) / N
    centred = tl.where(at < N, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, 0) / N + 1e-5)
    y = centred * scale * tl.load(weight + at, mask=at < N) + tl.load(bias + at, mask=at < N)
    tl.store(out + row * N + at, y, mask=at < N)


@triton.jit
def layer_norm_gradients(dy, x, weight, dx, dweight, N, ROWS: tl.constexpr, B: tl.constexpr):
    """Gradients of layer norm; each CTA adds the sum over its rows to the weight's gradient atomically."""
    at = tl.arange(0, B)
    w, total = tl.load(weight + at, mask=at < N, other=0.0), tl.zeros((B,), tl.float32)
    for i in range(ROWS):
        row = tl.program_id(0) * ROWS + i
        v = tl.load(x + row * N + at, mask=at < N, other=0.0)
        g = tl.load(dy + row * N + at, mask=at < N, other=0.0)
        mean = tl.sum(v, 0) / N
        centred = tl.where(at < N, v - mean, 0.0)
        scale = tl.rsqrt(tl.sum(centred * centred, 0) / N + 1e-5)
        h, wg = centred * scale, w * g
        tl.store(dx + row * N + at, (wg - (tl.sum(wg, 0) + h * tl.sum(wg * h, 0)) / N) * scale, mask=at < N)
        total += g * h
    tl.atomic_add(dweight + at, total, mask=at < N, sem="relaxed")


@triton.jit
def cross_entropy(logits, labels, out, N, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    v = tl.load(logits + row * N + at, mask=at < N, other=-float("inf"))
    largest = tl.max(v, 0)
    picked = tl.load(logits + row * N + tl.load(labels + row))
    tl.store(out + row, tl.log(tl.sum(tl.exp(v - largest), 0)) + largest - picked)


@triton.jit
def totals(x, rows, columns, M: tl.constexpr, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(rows + tl.arange(0, M), tl.sum(v, 1))
    tl.store(columns + tl.arange(0, N), tl.sum(v, 0))


@triton.jit
def places(x, largest, smallest, M: tl.constexpr, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(largest + tl.arange(0, M), tl.argmax(v, 1))
    tl.store(smallest + tl.arange(0, N), tl.argmin(v, 0))


@triton.jit
def both(a, b):
    return a ^ (b + 0)


@triton.jit
def folded(x, out, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.store(out, tl.xor_sum(v, 0))
    tl.store(out + 1, tl.reduce(v, 0, both))


@triton.jit
def merged(mean, spread, count, other_mean, other_spread, other_count):
    total = count + other_count
    weight = tl.where(total == 0.0, 0.0, other_count / total)
    apart = other_mean - mean
    return mean + apart * weight, spread + other_spread + apart * apart * count * weight, total


@triton.jit
def welford(x, means, spreads, N, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * N + at, mask=at < N, other=0.0)
    mean, spread, count = tl.reduce((v, tl.zeros_like(v), tl.where(at < N, 1.0, 0.0)), 0, merged)
    tl.store(means + row, mean)
    tl.store(spreads + row, spread / count)


@triton.jit
def running(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    v = tl.load(x + at)
    tl.store(out + at, tl.cumsum(v, 0))
    tl.store(out + N + at, tl.cumsum(v, 0, reverse=True))


@triton.jit
def running_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.cumsum(tl.load(x + at), 0))


@triton.jit
def running_products(x, out, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), tl.cumprod(tl.load(x + tl.arange(0, N)), 0))


@triton.jit
def step(decay, value, next_decay, next_value):
    return decay * next_decay, next_decay * value + next_value


@triton.jit
def recurrence(decays, values, out, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    _, states = tl.associative_scan((tl.load(decays + at), tl.load(values + at)), 0, step)
    tl.store(out + at, states)


@triton.jit
def sort(x, out, N: tl.constexpr, DOWN: tl.constexpr):
    tl.store(out + tl.arange(0, N), tl.sort(tl.load(x + tl.arange(0, N)), descending=DOWN))


@triton.jit
def sort_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.sort(tl.load(x + at), 1))


@triton.jit
def topk(x, out, N: tl.constexpr, K: tl.constexpr):
    tl.store(
        out + tl.program_id(0) * K + tl.arange(0, K), tl.topk(tl.load(x + tl.program_id(0) * N + tl.arange(0, N)), K)
    )


@triton.jit
def histogram(x, out, n, N: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    found = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS, mask=at < n)
    tl.atomic_add(out + tl.arange(0, BINS), found, sem="relaxed")


@triton.jit
def flip(x, out, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), tl.flip(tl.load(x + tl.arange(0, N)), 0))


@triton.jit
def gather(x, index, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(index + at), 0))


def softmax_of(x):
    e = np.exp(double(x) - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def normalized(x):
    x = double(x)
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)


def gradients(dy, x, weight):
    wg, h = double(dy) * weight, normalized(x)
    scale = 1 / np.sqrt(double(x).var(1, keepdims=True) + 1e-5)
    return (wg - wg.mean(1, keepdims=True) - h * (wg * h).mean(1, keepdims=True)) * scale, (dy * h).sum(0)


def states(decays, values):
    out, now = np.zeros(values.shape), np.zeros(len(values))
    for i in range(values.shape[1]):
        now = double(decays[:, i]) * now + values[:, i]
        out[:, i] = now
    return out


X, L = normal(4, 200), normal(2, 700)
W, BIAS, DY = normal(200), normal(200), normal(4, 200)
DX, DW = gradients(DY, X, W)
LABELS = whole(4, high=200)
T, K = eighths(32, 64), normal(16, 64)
I, C, COUNTED = whole(256), whole(512), whole(700, high=64)
J, F = whole(32, 16), normal(128)
DECAYS, VALUES = np.abs(normal(2, 256)) / 2, normal(2, 256)
ONES = (1 + eighths(64) / 16).astype(np.float32)
S, SR, TOP = whole(256, low=-1000, high=1000), normal(8, 32), normal(3, 128)
GATHERED, INDEX = normal(32, 32), whole(32, 32, high=32)

CASES = [
    Case("softmax", softmax, {"x": given(X), "out": made(softmax_of(X), "float32")}, 4, constants={"N": 200, "B": 256}),
    Case(
        "softmax-one-warp",
        softmax,
        {"x": given(X), "out": made(softmax_of(X), "float32")},
        4,
        constants={"N": 200, "B": 256},
        options={"num_warps": 1},
    ),
    Case(
        "softmax-eight-warps",
        softmax,
        {"x": given(X), "out": made(softmax_of(X), "float32")},
        4,
        constants={"N": 200, "B": 1024},
        options={"num_warps": 8},
    ),
    Case("softmax-of-a-cluster", softmax, {"x": given(X), "out": made(softmax_of(X), "float32")}, 4,
         constants={"N": 200, "B": 512}, options={"num_ctas": 2}, targets=("sm_90a",)),
    Case("sums-of-a-cluster", totals, {"x": given(T), "rows": made(double(T).sum(1), "float32"),
         "columns": made(double(T).sum(0), "float32")}, constants={"M": 32, "N": 64}, options={"num_ctas": 4},
         targets=("sm_90a",)),
    Case(
        "online-softmax",
        online_softmax,
        {"x": given(L), "out": made(softmax_of(L), "float32"), "N": 700},
        2,
        constants={"B": 256},
    ),
    Case(
        "layer-norm",
        layer_norm,
        {
            "x": given(X),
            "weight": given(W),
            "bias": given(BIAS),
            "out": made(normalized(X) * W + BIAS, "float32"),
            "N": 200,
        },
        4,
        constants={"B": 256},
    ),
    Case(
        "layer-norm-gradients",
        layer_norm_gradients,
        {
            "dy": given(DY),
            "x": given(X),
            "weight": given(W),
            "dx": made(DX, "float32"),
            "dweight": made(DW, "float32"),
            "N": 200,
        },
        2,
        constants={"ROWS": 2, "B": 256},
    ),
    Case(
        "cross-entropy",
        cross_entropy,
        {
            "logits": given(X),
            "labels": given(LABELS),
            "out": made(np.log(np.exp(double(X)).sum(1)) - X[np.arange(4), LABELS], "float32"),
            "N": 200,
        },
        4,
        constants={"B": 256},
    ),
    Case(
        "sums-of-rows-and-columns",
        totals,
        {"x": given(T), "rows": made(double(T).sum(1), "float32"), "columns": made(double(T).sum(0), "float32")},
        constants={"M": 32, "N": 64},
    ),
    Case(
        "argmax-and-argmin",
        places,
        {
            "x": given(K),
            "largest": made(K.argmax(1).astype(np.int32), "int32"),
            "smallest": made(K.argmin(0).astype(np.int32), "int32"),
        },
        constants={"M": 16, "N": 64},
    ),
    Case(
        "xor-reduction",
        folded,
        {"x": given(I), "out": made([np.bitwise_xor.reduce(I)] * 2, "int32")},
        constants={"N": 256},
    ),
    Case(
        "welford",
        welford,
        {
            "x": given(X),
            "means": made(double(X).mean(1), "float32"),
            "spreads": made(double(X).var(1), "float32"),
            "N": 200,
        },
        4,
        constants={"B": 256},
    ),
    Case(
        "running-sums",
        running,
        {"x": given(C), "out": made([*np.cumsum(C), *np.cumsum(C[::-1])[::-1]], "int32")},
        constants={"N": 512},
    ),
    Case(
        "running-sums-of-columns",
        running_rows,
        {"x": given(J), "out": made(np.cumsum(J, 0).astype(np.int32), "int32")},
        constants={"M": 32, "N": 16},
    ),
    Case(
        "running-products",
        running_products,
        {"x": given(ONES), "out": made(np.cumprod(double(ONES)), "float32")},
        constants={"N": 64},
    ),
    Case(
        "linear-recurrence",
        recurrence,
        {"decays": given(DECAYS), "values": given(VALUES), "out": made(states(DECAYS, VALUES), "float32")},
        2,
        constants={"N": 256},
    ),
    Case("sort", sort, {"x": given(S), "out": made(np.sort(S), "int32")}, constants={"N": 256, "DOWN": False}),
    Case(
        "sort-floats-down",
        sort,
        {"x": given(F), "out": made(np.sort(F)[::-1], "float32")},
        constants={"N": 128, "DOWN": True},
    ),
    Case("sort-rows", sort_rows, {"x": given(SR), "out": made(np.sort(SR, 1), "float32")}, constants={"M": 8, "N": 32}),
    Case(
        "topk",
        topk,
        {"x": given(TOP), "out": made(np.sort(TOP, 1)[:, :-9:-1], "float32")},
        3,
        constants={"N": 128, "K": 8},
    ),
    Case(
        "histogram",
        histogram,
        {"x": given(COUNTED), "out": made(np.bincount(COUNTED, minlength=64).astype(np.int32), "int32"), "n": 700},
        2,
        constants={"N": 512, "BINS": 64},
    ),
    Case("flip", flip, {"x": given(F), "out": made(F[::-1], "float32")}, constants={"N": 128}),
    Case(
        "gather-in-a-block",
        gather,
        {"x": given(GATHERED), "index": given(INDEX), "out": made(np.take_along_axis(GATHERED, INDEX, 0), "float32")},
        constants={"M": 32, "N": 32},
    ),
]
