"""The machine code of a compiled kernel, which a compiler of NVIDIA's makes of its PTX."""

import torch
import triton
import triton.language as tl

SIZES = [(32,), (128,), (1024,)]


@triton.jit
def double_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 2)


def check(n):
    x = torch.arange(n, device="cuda", dtype=torch.float32)
    out = torch.empty_like(x)
    compiled = double_kernel[(1,)](x, out, BLOCK=n)
    torch.testing.assert_close(out, 2 * x)
    assert "EXIT" in compiled.asm["sass"]


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
