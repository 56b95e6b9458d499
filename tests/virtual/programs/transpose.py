"""Transposition of a matrix by tiles."""

import torch
import triton
import triton.language as tl

SIZES = [(19, 11), (32, 32), (65, 40)]


@triton.jit
def transpose_kernel(x, out, rows, columns, TILE: tl.constexpr):
    r = tl.program_id(0) * TILE + tl.arange(0, TILE)
    c = tl.program_id(1) * TILE + tl.arange(0, TILE)
    tile = tl.load(x + r[:, None] * columns + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < columns))
    inside = (c[:, None] < columns) & (r[None, :] < rows)
    tl.store(out + c[:, None] * rows + r[None, :], tl.trans(tile), mask=inside)


def check(rows, columns):
    x = torch.randn(rows, columns, device="cuda")
    out = torch.empty(columns, rows, device="cuda")
    transpose_kernel[(triton.cdiv(rows, 16), triton.cdiv(columns, 16))](x, out, rows, columns, TILE=16)
    torch.testing.assert_close(out, x.T)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
