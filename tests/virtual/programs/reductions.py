"""Reductions, scans, a histogram and a sort of one block."""

import torch
import triton
import triton.language as tl

SIZES = [(37,), (128,), (201,)]


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def reductions_kernel(x, sums, scans, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < n
    values = tl.load(x + at, mask=inside, other=0)
    tl.store(sums, tl.sum(values, 0))
    tl.store(sums + 1, tl.max(values, 0))
    tl.store(sums + 2, tl.argmax(values, 0))
    tl.store(sums + 3, tl.reduce(values * values, 0, add))
    tl.store(scans + at, tl.cumsum(values, 0), mask=inside)
    tl.store(scans + n + at, tl.associative_scan(values, 0, add, reverse=True), mask=inside)


@triton.jit
def histogram_kernel(x, counts, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n, other=BINS - 1)
    found = tl.histogram(values, BINS)
    bins = tl.arange(0, BINS)
    tl.store(counts + bins, found - tl.where(bins == BINS - 1, BLOCK - n, 0))


@triton.jit
def sort_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n, other=1 << 30)
    tl.store(out + at, tl.sort(values), mask=at < n)


def check(n):
    x = torch.randint(0, 16, (n,), device="cuda", dtype=torch.int32)
    BLOCK = triton.next_power_of_2(n)
    sums = torch.empty(4, device="cuda", dtype=torch.int32)
    scans = torch.empty(2, n, device="cuda", dtype=torch.int32)
    reductions_kernel[(1,)](x, sums, scans, n, BLOCK=BLOCK)
    assert sums.tolist() == [int(x.sum()), int(x.max()), int((x == x.max()).nonzero()[0]), int((x * x).sum())]
    torch.testing.assert_close(scans[0], x.cumsum(0).int())
    torch.testing.assert_close(scans[1], x.flip(0).cumsum(0).flip(0).int())
    counts = torch.empty(16, device="cuda", dtype=torch.int32)
    histogram_kernel[(1,)](x, counts, n, BLOCK=BLOCK, BINS=16)
    torch.testing.assert_close(counts.long(), torch.bincount(x, minlength=16))
    out = torch.empty_like(x)
    sort_kernel[(1,)](x, out, n, BLOCK=BLOCK)
    torch.testing.assert_close(out, x.sort().values)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
