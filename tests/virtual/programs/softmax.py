"""Fused softmax: of rows that fit into one block, and of longer rows in two passes."""

import torch
import triton
import triton.language as tl

SIZES = [(3, 37), (5, 128), (4, 301)]
BLOCK = 128


@triton.jit
def one_block_kernel(x, out, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * stride + at, mask=inside, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, 0), mask=inside)


@triton.jit
def online_kernel(x, out, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    largest = -float("inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
        new = tl.maximum(largest, tl.max(values, 0))
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(values - new), 0)
        largest = new
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        again = tl.load(x + row * stride + at, mask=at < columns)
        tl.store(out + row * columns + at, tl.exp(again - largest) / total, mask=at < columns)


def check(rows, columns):
    x = torch.randn(rows, columns + 3, device="cuda")[:, :columns]
    out = torch.empty(rows, columns, device="cuda")
    kernel = one_block_kernel if columns <= BLOCK else online_kernel
    kernel[(rows,)](x, out, columns, x.stride(0), BLOCK=BLOCK)
    torch.testing.assert_close(out, torch.softmax(x, 1))


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
