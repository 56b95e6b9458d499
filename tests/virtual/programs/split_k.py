"""Split-K GEMM: programs add their partial sums to the output by atomics."""

import torch
import triton
import triton.language as tl

SIZES = [(11, 13, 70), (32, 32, 128), (40, 50, 200)]
SPLITS = 3


@triton.jit
def split_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(tl.program_id(2) * BK, K, BK * tl.num_programs(2)):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total = tl.dot(x, y, total)
    into = c + m[:, None] * N + n[None, :]
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.atomic_add(into, total, mask=inside, sem="relaxed")


def check(M, N, K):
    a = torch.randn(M, K, device="cuda", dtype=torch.float16)
    b = torch.randn(K, N, device="cuda", dtype=torch.float16)
    c = torch.zeros(M, N, device="cuda")
    split_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32), SPLITS)](a, b, c, M, N, K, BM=32, BN=32, BK=32)
    torch.testing.assert_close(c, a.float() @ b.float(), atol=1e-2, rtol=1e-3)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
