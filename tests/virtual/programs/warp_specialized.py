"""Persistent GEMM with warp specialization: the compiler gives copies and MMAs to different warps."""

import torch
import triton
import triton.language as tl

SIZES = [(40, 24, 72), (128, 64, 128), (200, 64, 192)]


@triton.jit
def specialized_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in tl.range(0, K, BK, warp_specialize=True):
        total = tl.dot(left.load([row, start]), right.load([column, start]).T, total)
    m = row + tl.arange(0, BM)
    n = column + tl.arange(0, BN)
    tl.store(c + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


def allocate(size, alignment, stream):
    return torch.empty(size, dtype=torch.int8, device="cuda")


def check(M, N, K):
    a = torch.randn(M, K, device="cuda", dtype=torch.float16)
    b = torch.randn(N, K, device="cuda", dtype=torch.float16)
    c = torch.empty(M, N, device="cuda")
    triton.set_allocator(allocate)
    specialized_kernel[(triton.cdiv(M, 128), triton.cdiv(N, 64))](a, b, c, M, N, K, BM=128, BN=64, BK=64, num_warps=4)
    torch.testing.assert_close(c, a.float() @ b.float().T, atol=1e-2, rtol=1e-3)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
