"""Sum of two vectors."""

import torch
import triton
import triton.language as tl

SIZES = [(61,), (128,), (1000,)]
BLOCK = 128


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    left = tl.load(x + at, mask=inside)
    right = tl.load(y + at, mask=inside)
    tl.store(out + at, left + right, mask=inside)


def check(n):
    x = torch.randn(n, device="cuda")
    y = torch.randn(n, device="cuda")
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(n, BLOCK),)](x, y, out, n, BLOCK=BLOCK)
    torch.testing.assert_close(out, x + y)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
