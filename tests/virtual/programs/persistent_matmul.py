"""Persistent GEMM: fewer programs than tiles, each computes several tiles."""

import torch
import triton
import triton.language as tl

SIZES = [(21, 17, 33), (64, 64, 64), (130, 96, 64)]
PROGRAMS = 3


@triton.jit
def persistent_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    columns = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * columns, tl.num_programs(0)):
        m = tile // columns * BM + tl.arange(0, BM)
        n = tile % columns * BN + tl.arange(0, BN)
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for start in tl.range(0, K, BK, num_stages=3):
            k = start + tl.arange(0, BK)
            x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
            y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
            total = tl.dot(x, y, total)
        tl.store(c + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


def check(M, N, K):
    a = torch.randn(M, K, device="cuda", dtype=torch.float16)
    b = torch.randn(K, N, device="cuda", dtype=torch.float16)
    c = torch.empty(M, N, device="cuda")
    persistent_kernel[(PROGRAMS,)](a, b, c, M, N, K, BM=64, BN=32, BK=32)
    torch.testing.assert_close(c, a.float() @ b.float(), atol=1e-2, rtol=1e-3)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
