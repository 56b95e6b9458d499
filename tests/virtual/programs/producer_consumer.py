"""Tiles that one program writes and another one reads in the same launch, ordered by a flag."""

import torch
import triton
import triton.language as tl

SIZES = [(77,), (128,), (300,)]
BLOCK = 128


@triton.jit
def exchange_kernel(x, between, out, flags, n, BLOCK: tl.constexpr):
    tile = tl.program_id(0) // 2
    at = tile * BLOCK + tl.arange(0, BLOCK)
    if tl.program_id(0) % 2 == 0:
        squares = tl.load(x + at, mask=at < n)
        tl.store(between + at, squares * squares, mask=at < n)
        tl.debug_barrier()
        tl.atomic_xchg(flags + tile, 1, sem="release")
    else:
        while tl.atomic_cas(flags + tile, 1, 1, sem="acquire") != 1:
            pass
        received = tl.load(between + at, mask=at < n)
        tl.store(out + at, received + 1, mask=at < n)


def check(n):
    x = torch.randn(n, device="cuda")
    between, out = torch.empty_like(x), torch.empty_like(x)
    tiles = triton.cdiv(n, BLOCK)
    flags = torch.zeros(tiles, dtype=torch.int32, device="cuda")
    exchange_kernel[(2 * tiles,)](x, between, out, flags, n, BLOCK=BLOCK)
    torch.testing.assert_close(out, x * x + 1)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
