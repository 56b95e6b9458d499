"""Two launches of which the second starts before the first has completed, and waits for its results."""

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

SIZES = [(45,), (128,), (513,)]
BLOCK = 128


@triton.jit
def scale_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gdc_launch_dependents()
    tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def shift_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gdc_wait()
    values = tl.load(x + at, mask=at < n)
    tl.store(out + at, values + 1, mask=at < n)


def check(n):
    x = torch.randn(n, device="cuda")
    between, out = torch.empty_like(x), torch.empty_like(x)
    grid = (triton.cdiv(n, BLOCK),)
    scale_kernel[grid](x, between, n, BLOCK=BLOCK)
    shift_kernel[grid](between, out, n, BLOCK=BLOCK, launch_pdl=True)
    torch.testing.assert_close(out, 2 * x + 1)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
