"""Prefix sums of a long vector in one launch: each program waits for the flag of its predecessor."""

import torch
import triton
import triton.language as tl

SIZES = [(39,), (512,), (700,)]
BLOCK = 128


@triton.jit
def scan_kernel(x, out, flags, carries, n, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n, other=0)
    before = 0
    if block > 0:
        while tl.atomic_add(flags + block - 1, 0, sem="acquire") == 0:
            pass
        before = tl.load(carries + block - 1)
    tl.store(carries + block, before + tl.sum(values, 0))
    tl.debug_barrier()
    tl.atomic_xchg(flags + block, 1, sem="release")
    tl.store(out + at, before + tl.cumsum(values, 0), mask=at < n)


def check(n):
    x = torch.randint(0, 9, (n,), device="cuda", dtype=torch.int32)
    out = torch.empty_like(x)
    blocks = triton.cdiv(n, BLOCK)
    flags = torch.zeros(blocks, device="cuda", dtype=torch.int32)
    carries = torch.empty(blocks, device="cuda", dtype=torch.int32)
    scan_kernel[(blocks,)](x, out, flags, carries, n, BLOCK=BLOCK)
    torch.testing.assert_close(out, x.cumsum(0).int())


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
