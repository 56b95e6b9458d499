# SPDX-License-Identifier: Apache-2.0
"""Operations across the elements of a block: reductions, scans, sorting, counting, gathering."""

from __future__ import annotations

import triton
import triton.language as tl
from cases import Case


@triton.jit
def reductions(x, out, BLOCK: tl.constexpr):
    """Reductions of whole blocks, rows and columns."""
    values = tl.load(x + tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :])
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.sum(values, 0))
    tl.store(out + BLOCK + lanes, tl.max(values, 1))
    tl.store(out + 2 * BLOCK + lanes, tl.argmin(values, 1).to(tl.float32))
    tl.store(out + 3 * BLOCK, tl.sum(values))


@triton.jit
def merged(mean, spread, count, other_mean, other_spread, other_count):
    """Merge two means and variances (Welford)."""
    both = count + other_count
    weight = tl.where(both == 0.0, 0.0, other_count / both)
    apart = other_mean - mean
    return mean + apart * weight, spread + other_spread + apart * apart * count * weight, both


@triton.jit
def moments(x, means, spreads, width, BLOCK: tl.constexpr):
    """A reduction of three values at once."""
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + tl.program_id(0) * width + columns, mask=columns < width, other=0.0)
    ones = tl.where(columns < width, 1.0, 0.0)
    mean, spread, count = tl.reduce((values, tl.zeros_like(values), ones), 0, merged)
    tl.store(means + tl.program_id(0), mean)
    tl.store(spreads + tl.program_id(0), spread / count)


@triton.jit
def step(decay, value, next_decay, next_value):
    """Compose two steps of h = decay · h + value."""
    return decay * next_decay, next_decay * value + next_value


@triton.jit
def recurrence(decays, values, out, length, BLOCK: tl.constexpr):
    """A scan by an associative operation of pairs."""
    at = tl.arange(0, BLOCK)
    a = tl.load(decays + tl.program_id(0) * length + at, mask=at < length, other=1.0)
    b = tl.load(values + tl.program_id(0) * length + at, mask=at < length, other=0.0)
    _, states = tl.associative_scan((a, b), 0, step)
    tl.store(out + tl.program_id(0) * length + at, states, mask=at < length)


@triton.jit
def sums(x, out, BLOCK: tl.constexpr):
    """Prefix sums, forward and backward."""
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at)
    tl.store(out + at, tl.cumsum(values, 0))
    tl.store(out + BLOCK + at, tl.cumsum(values, 0, reverse=True))


@triton.jit
def sorting(x, out, BLOCK: tl.constexpr):
    """A bitonic network."""
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at), descending=True))


@triton.jit
def counting(x, counts, length, BLOCK: tl.constexpr, BINS: tl.constexpr):
    """A histogram of the block, added to the global one."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < length, other=0)
    found = tl.histogram(values % BINS, BINS)
    tl.atomic_add(counts + tl.arange(0, BINS), found, sem="relaxed", scope="gpu")


@triton.jit
def gathering(x, index, out, BLOCK: tl.constexpr):
    """Gather elements of the block, and transpose it."""
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    values = tl.load(x + rows * BLOCK + columns)
    picked = tl.gather(values, tl.load(index + rows * BLOCK + columns), 0)
    tl.store(out + columns * BLOCK + rows, tl.trans(picked).to(tl.float16).trans())
    tl.store(out + BLOCK * BLOCK + rows * BLOCK + columns, tl.flip(values, 1).to(tl.float16))


def arrays(element: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, f"*{element}")


ROW = {"means": "*fp32", "spreads": "*fp32", "width": "i32"}
CASES = {
    "reductions": Case(reductions, arrays("fp32", "x", "out"), {"BLOCK": 64}, {"num_warps": 4}, ("x", "out")),
    "moments": Case(moments, {"x": "*fp32"} | ROW, {"BLOCK": 1024}, {"num_warps": 4}),
    "recurrence": Case(
        recurrence, arrays("fp32", "decays", "values", "out") | {"length": "i32"}, {"BLOCK": 512}, {"num_warps": 4}
    ),
    "sums": Case(sums, arrays("i64", "x", "out"), {"BLOCK": 256}, {"num_warps": 2}),
    "sorting": Case(sorting, arrays("i32", "x", "out"), {"BLOCK": 128}, {"num_warps": 2}),
    "counting": Case(
        counting, arrays("i32", "x", "counts") | {"length": "i32"}, {"BLOCK": 512, "BINS": 64}, {"num_warps": 4}
    ),
    "gathering": Case(gathering, {"x": "*fp32", "index": "*i32", "out": "*fp16"}, {"BLOCK": 32}, {"num_warps": 2}),
}
