"""GEMM with masks and grouped ordering of tiles, in float16, bfloat16 and TF32."""

import torch
import triton
import triton.language as tl

SIZES = [(17, 23, 29), (64, 64, 64), (100, 72, 80)]


@triton.jit
def matmul_kernel(
    a,
    b,
    c,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
):
    tile = tl.program_id(0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = tile // (GROUP * columns)
    height = min(rows - group * GROUP, GROUP)
    m = (group * GROUP + tile % (GROUP * columns) % height) * BM + tl.arange(0, BM)
    n = tile % (GROUP * columns) // height * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    left = a + m[:, None] * stride_am + k[None, :] * stride_ak
    right = b + k[:, None] * stride_bk + n[None, :] * stride_bn
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        x = tl.load(left, mask=(m[:, None] < M) & (k[None, :] + start < K), other=0.0)
        y = tl.load(right, mask=(k[:, None] + start < K) & (n[None, :] < N), other=0.0)
        total = tl.dot(x, y, total)
        left += BK * stride_ak
        right += BK * stride_bk
    into = c + m[:, None] * stride_cm + n[None, :] * stride_cn
    tl.store(into, total.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def matmul(a, b, BM=32, BN=32, BK=32, GROUP=2):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), BM=BM, BN=BN, BK=BK, GROUP=GROUP)
    return c


def check(M, N, K):
    for dtype, tolerance in ((torch.float16, 1e-2), (torch.bfloat16, 3e-2), (torch.float32, 1e-2)):
        a = torch.randn(M, K, device="cuda", dtype=dtype)
        b = torch.randn(N, K, device="cuda", dtype=dtype).T
        want = (a.double() @ b.double()).to(dtype)
        torch.testing.assert_close(matmul(a, b), want, atol=tolerance * K**0.5, rtol=tolerance)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
