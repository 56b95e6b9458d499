"""Grouped GEMM: a table in device memory has the addresses and sizes of the matrices."""

import torch
import triton
import triton.language as tl

SIZES = [((13, 7, 9),), ((32, 32, 32), (64, 32, 64)), ((40, 33, 64), (17, 70, 32), (32, 32, 96))]
PROGRAMS = 4
TILE = 32


@triton.jit
def grouped_kernel(a_table, b_table, c_table, sizes, groups, TILE: tl.constexpr):
    tile = tl.program_id(0)
    first = 0
    for group in range(groups):
        M = tl.load(sizes + group * 3)
        N = tl.load(sizes + group * 3 + 1)
        K = tl.load(sizes + group * 3 + 2)
        columns = tl.cdiv(N, TILE)
        tiles = tl.cdiv(M, TILE) * columns
        while tile >= first and tile < first + tiles:
            a = tl.load(a_table + group).to(tl.pointer_type(tl.float16))
            b = tl.load(b_table + group).to(tl.pointer_type(tl.float16))
            c = tl.load(c_table + group).to(tl.pointer_type(tl.float16))
            m = (tile - first) // columns * TILE + tl.arange(0, TILE)
            n = (tile - first) % columns * TILE + tl.arange(0, TILE)
            k = tl.arange(0, TILE)
            total = tl.zeros((TILE, TILE), dtype=tl.float32)
            for start in range(0, K, TILE):
                at = start + k
                x = tl.load(a + m[:, None] * K + at[None, :], mask=(m[:, None] < M) & (at[None, :] < K), other=0.0)
                y = tl.load(b + at[:, None] * N + n[None, :], mask=(at[:, None] < K) & (n[None, :] < N), other=0.0)
                total = tl.dot(x, y, total)
            tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))
            tile += tl.num_programs(0)
        first += tiles


def addresses(tensors):
    return torch.tensor([each.data_ptr() for each in tensors], dtype=torch.int64, device="cuda")


def check(*shapes):
    left = [torch.randn(M, K, device="cuda", dtype=torch.float16) for M, _, K in shapes]
    right = [torch.randn(K, N, device="cuda", dtype=torch.float16) for _, N, K in shapes]
    out = [torch.empty(M, N, device="cuda", dtype=torch.float16) for M, N, _ in shapes]
    tables = addresses(left), addresses(right), addresses(out)
    sizes = torch.tensor(shapes, dtype=torch.int32, device="cuda")
    grouped_kernel[(PROGRAMS,)](*tables, sizes, len(shapes), TILE=TILE)
    for a, b, c in zip(left, right, out, strict=True):
        torch.testing.assert_close(c.float(), a.float() @ b.float(), atol=2e-2, rtol=1e-2)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
