"""GEMM with an autotuner for the tile size, and a heuristic that omits the masks of K."""

import torch
import triton
import triton.language as tl

SIZES = [(31, 16, 19), (64, 32, 64), (65, 70, 96)]
CONFIGURATIONS = [
    triton.Config({"BM": 32, "BN": 32, "BK": 16}, num_warps=4, num_stages=2),
    triton.Config({"BM": 64, "BN": 32, "BK": 32}, num_warps=4, num_stages=3),
]


@triton.autotune(configs=CONFIGURATIONS, key=["M", "N", "K"])
@triton.heuristics({"EVEN_K": lambda arguments: arguments["K"] % arguments["BK"] == 0})
@triton.jit
def tuned_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EVEN_K: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    left = a + (m % M)[:, None] * K + k[None, :]
    right = b + k[:, None] * N + (n % N)[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        if EVEN_K:
            x = tl.load(left)
            y = tl.load(right)
        else:
            x = tl.load(left, mask=k[None, :] < K - start, other=0.0)
            y = tl.load(right, mask=k[:, None] < K - start, other=0.0)
        total = tl.dot(x, y, total)
        left += BK
        right += BK * N
    tl.store(c + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


def check(M, N, K):
    a = torch.randn(M, K, device="cuda", dtype=torch.float16)
    b = torch.randn(K, N, device="cuda", dtype=torch.float16)
    c = torch.empty(M, N, device="cuda")
    tuned_kernel[lambda size: (triton.cdiv(M, size["BM"]), triton.cdiv(N, size["BN"]))](a, b, c, M, N, K)
    torch.testing.assert_close(c, a.float() @ b.float(), atol=1e-2, rtol=1e-3)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
