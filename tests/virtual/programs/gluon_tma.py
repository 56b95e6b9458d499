"""GEMM in Gluon: TMA copies into two stages, an mbarrier each, and asynchronous warpgroup MMAs."""

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

load_box = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared  # the name changed in Triton 3.9
store_box = getattr(tma, "async_store", None) or tma.async_copy_shared_to_global

SIZES = [(40, 24, 40), (64, 64, 128), (100, 96, 200)]
BM, BN, BK = 64, 32, 64


@gluon.jit
def fetch(a, b, row, column, start, left, right, full, BYTES: gl.constexpr):
    mbarrier.expect(full, BYTES)
    load_box(a, [row, start], full, left)
    load_box(b, [start, column], full, right)


@gluon.jit
def matmul_kernel(a, b, c, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr):
    left = gl.allocate_shared_memory(gl.float16, [2, BM, BK], a.layout)
    right = gl.allocate_shared_memory(gl.float16, [2, BK, BN], b.layout)
    full = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for each in gl.static_range(2):
        mbarrier.init(full.index(each), count=1)
    row = gl.program_id(0) * BM
    column = gl.program_id(1) * BN
    sums: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, BN, 16])
    total = gl.zeros((BM, BN), gl.float32, layout=sums)
    BYTES: gl.constexpr = (BM * BK + BK * BN) * 2
    steps = gl.cdiv(K, BK)
    fetch(a, b, row, column, 0, left.index(0), right.index(0), full.index(0), BYTES)
    for step in range(steps):
        stage = step % 2
        other = 1 - stage
        if step + 1 < steps:
            fetch(a, b, row, column, step * BK + BK, left.index(other), right.index(other), full.index(other), BYTES)
        mbarrier.wait(full.index(stage), step // 2 & 1)
        total = warpgroup_mma(left.index(stage), right.index(stage), total, is_async=True)
        total = warpgroup_mma_wait(num_outstanding=0, deps=(total,))
    for each in gl.static_range(2):
        mbarrier.invalidate(full.index(each))
    result = gl.allocate_shared_memory(gl.float16, [BM, BN], c.layout)
    result.store(total.to(gl.float16))
    fence_async_shared()
    store_box(c, [row, column], result)
    tma.store_wait(pendings=0)


def descriptor(tensor, box):
    return TensorDescriptor.from_tensor(tensor, box, gl.NVMMASharedLayout.get_default_for(box, gl.float16))


def check(M, N, K):
    a = torch.randn(M, K, device="cuda", dtype=torch.float16)
    b = torch.randn(K, N, device="cuda", dtype=torch.float16)
    c = torch.empty(M, N, device="cuda", dtype=torch.float16)
    maps = descriptor(a, [BM, BK]), descriptor(b, [BK, BN]), descriptor(c, [BM, BN])
    matmul_kernel[(triton.cdiv(M, BM), triton.cdiv(N, BN))](*maps, K, BM=BM, BN=BN, BK=BK, num_warps=4)
    torch.testing.assert_close(c.float(), a.float() @ b.float(), atol=2e-2, rtol=1e-2)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
