# SPDX-License-Identifier: Apache-2.0
"""Attention in one pass over the keys, with a running softmax over the blocks of K and V.

Q, K, V and O are rows of D elements, head after head; each program has BM queries of one head. Scores are scaled by
`log2(e)` once, so that exp2 replaces exp.
"""

from __future__ import annotations

import triton
import triton.language as tl
from cases import Case, descriptor

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def one_block(q, k, v, total, sums, peak, scale, visible, MASKED: tl.constexpr):
    """Add one block of keys and values to the running softmax."""
    scores = tl.dot(q, k) * (scale * LOG2_E)
    if MASKED:
        scores = tl.where(visible, scores, -1.0e6)
    higher = tl.maximum(peak, tl.max(scores, 1))
    weights = tl.math.exp2(scores - higher[:, None])
    shrink = tl.math.exp2(peak - higher)
    sums = sums * shrink + tl.sum(weights, 1)
    total = tl.dot(weights.to(v.dtype), v, total * shrink[:, None])
    return total, sums, higher


@triton.jit
def forward(
    q, k, v, o, logsum, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr
):
    """Read through pointers."""
    first = tl.program_id(0) * BM
    head = tl.program_id(1).to(tl.int64) * length
    rows = first + tl.arange(0, BM)
    columns = tl.arange(0, D)
    mine = (head + rows)[:, None] * D + columns[None, :]
    queries = tl.load(q + mine, mask=rows[:, None] < length, other=0.0)
    peak = tl.full((BM,), -float("inf"), tl.float32)
    sums = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    end = tl.minimum(first + BM, length) if CAUSAL else length
    for start in range(0, end, BN):
        keys = start + tl.arange(0, BN)
        theirs = (head + keys)[:, None] * D + columns[None, :]
        here = keys[:, None] < length
        key = tl.load(k + theirs, mask=here, other=0.0)
        value = tl.load(v + theirs, mask=here, other=0.0)
        visible = (keys[None, :] < length) & ((rows[:, None] >= keys[None, :]) if CAUSAL else True)
        total, sums, peak = one_block(queries, key.T, value, total, sums, peak, scale, visible, True)
    tl.store(logsum + head + rows, peak + tl.math.log2(sums), mask=rows < length)
    tl.store(o + mine, (total / sums[:, None]).to(o.dtype.element_ty), mask=rows[:, None] < length)


@triton.jit
def forward_tma(
    q,
    k,
    v,
    o,
    length,
    scale,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    STAGES: tl.constexpr,
    SPECIALISED: tl.constexpr,
):
    """Read and write through tensor maps; the length is a multiple of BN."""
    head = tl.program_id(1) * length
    first = head + tl.program_id(0) * BM
    queries = q.load([first, 0])
    peak = tl.full((BM,), -float("inf"), tl.float32)
    sums = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    for start in tl.range(0, length, BN, num_stages=STAGES, warp_specialize=SPECIALISED):
        key = k.load([head + start, 0])
        value = v.load([head + start, 0])
        total, sums, peak = one_block(queries, key.T, value, total, sums, peak, scale, None, False)
    o.store([first, 0], (total / sums[:, None]).to(tl.float16))


def pointers(element: str, constants: dict[str, object], **options: int) -> Case:
    signature = {name: f"*{element}" for name in "qkvo"} | {"logsum": "*fp32", "length": "i32", "scale": "fp32"}
    return Case(forward, signature, constants, options, divisible=("q", "k", "v", "o", "logsum"))


def maps(rows: int, keys: int, width: int, stages: int, specialised: bool = False, **options: int) -> Case:
    """Return the case that reads through tensor maps."""
    queries, others = descriptor("fp16", rows, width), descriptor("fp16", keys, width)
    signature = {"q": queries, "k": others, "v": others, "o": queries, "length": "i32", "scale": "fp32"}
    constants = {"BM": rows, "BN": keys, "D": width, "STAGES": stages, "SPECIALISED": specialised}
    return Case(forward_tma, signature, constants, options, divisible=("length",))


CASES = {
    "causal": pointers("fp16", {"BM": 64, "BN": 64, "D": 64, "CAUSAL": True}, num_warps=4, num_stages=2),
    "full": pointers("bf16", {"BM": 128, "BN": 32, "D": 64, "CAUSAL": False}, num_warps=8, num_stages=3),
    "small": pointers("fp16", {"BM": 32, "BN": 32, "D": 32, "CAUSAL": True}, num_warps=2, num_stages=1),
    "tma": maps(64, 64, 64, stages=2, num_warps=4),
    "tma-wide": maps(128, 128, 128, stages=2, num_warps=8),
    "specialised": maps(64, 64, 64, stages=2, specialised=True, num_warps=4),
}
