"""Dropout whose mask is a function of a seed, compared with Philox 4x32-10 computed by torch."""

import torch
import triton
import triton.language as tl

SIZES = [(33,), (256,), (777,)]
BLOCK = 256
P = 0.4


@triton.jit
def dropout_kernel(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n)
    keep = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(keep, values / (1 - p), 0.0), mask=at < n)


def philox(seed, offsets):
    """Return the uniform numbers in [0, 1) of a seed (32 bits) at offsets."""
    words = [offsets, torch.zeros_like(offsets), torch.zeros_like(offsets), torch.zeros_like(offsets)]
    keys = [seed, 0]
    for _ in range(10):
        high = [(words[2 * i] * factor) >> 32 & 0xFFFFFFFF for i, factor in enumerate((0xD2511F53, 0xCD9E8D57))]
        low = [(words[2 * i] * factor) & 0xFFFFFFFF for i, factor in enumerate((0xD2511F53, 0xCD9E8D57))]
        words = [high[1] ^ words[1] ^ keys[0], low[1], high[0] ^ words[3] ^ keys[1], low[0]]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    signed = torch.where(words[0] >= 1 << 31, (1 << 32) - 1 - words[0], words[0])
    return signed.float() * 4.6566127342e-10


def check(n):
    x = torch.randn(n, device="cuda")
    for seed in (1, 512):
        out = torch.empty_like(x)
        dropout_kernel[(triton.cdiv(n, BLOCK),)](x, out, n, P, seed, BLOCK=BLOCK)
        keep = philox(seed, torch.arange(n, device="cuda")) > P
        torch.testing.assert_close(out, torch.where(keep, x / (1 - P), 0.0))


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
