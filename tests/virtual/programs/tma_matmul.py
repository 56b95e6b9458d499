"""GEMM whose tiles TMA copies: by descriptors that the host makes, and by descriptors that the kernel makes."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

SIZES = [(24, 16, 40), (64, 32, 64), (96, 72, 104)]
BM, BN, BK = 64, 32, 32


@triton.jit
def host_kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        x = a.load([row, start])
        y = b.load([start, column])
        total = tl.dot(x, y, total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def device_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    into = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        x = left.load([row, start])
        y = right.load([start, column])
        total = tl.dot(x, y, total)
    into.store([row, column], total.to(tl.float16))


def allocate(size, alignment, stream):
    return torch.empty(size, dtype=torch.int8, device="cuda")


def check(M, N, K):
    a = torch.randn(M, K, device="cuda", dtype=torch.float16)
    b = torch.randn(K, N, device="cuda", dtype=torch.float16)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    c = torch.empty(M, N, device="cuda", dtype=torch.float16)
    boxes = ([BM, BK], [BK, BN], [BM, BN])
    maps = [TensorDescriptor.from_tensor(each, box) for each, box in zip((a, b, c), boxes, strict=True)]
    host_kernel[grid](*maps, K, BM=BM, BN=BN, BK=BK)
    torch.testing.assert_close(c.float(), a.float() @ b.float(), atol=2e-2, rtol=1e-2)
    triton.set_allocator(allocate)
    d = torch.empty_like(c)
    device_kernel[grid](a, b, d, M, N, K, BM=BM, BN=BN, BK=BK)
    torch.testing.assert_close(d, c)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
