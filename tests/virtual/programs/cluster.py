"""Sums of the columns of a matrix, by clusters of two CTAs."""

import torch
import triton
import triton.language as tl

SIZES = [(3, 50), (16, 128), (9, 300)]


@triton.jit
def sums_kernel(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r = tl.arange(0, ROWS)
    c = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inside = (r[:, None] < rows) & (c[None, :] < columns)
    values = tl.load(x + r[:, None] * columns + c[None, :], mask=inside, other=0.0)
    tl.store(out + c, tl.sum(values, 0), mask=c < columns)


def check(rows, columns):
    x = torch.randn(rows, columns, device="cuda")
    out = torch.empty(columns, device="cuda")
    grid = (triton.cdiv(columns, 128),)
    sums_kernel[grid](x, out, rows, columns, ROWS=16, COLUMNS=128, num_ctas=2)
    torch.testing.assert_close(out, x.sum(0))


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
