"""A vector of bits that a kernel reads as floats, through Triton's wrapper of a tensor with another type."""

import torch
import triton
import triton.language as tl

SIZES = [(61,), (128,), (1000,)]
BLOCK = 128


@triton.jit
def double_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def check(n):
    x = torch.randn(n, device="cuda")
    y = torch.empty_like(x)
    bits = x.view(torch.int32)
    double_kernel[(triton.cdiv(n, BLOCK),)](triton.reinterpret(bits, torch.float32), y, n, BLOCK=BLOCK)
    torch.testing.assert_close(y, 2 * x)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
