"""GEMM, the first step: `C = A · B` in bf16, a tile of 64 x 64 per thread block (CTA) of one warpgroup.

For every 64 of K, one thread starts TMA copies of a tile of A and one of B, and all threads wait for the bytes. The
tensor cores then read both tiles from shared memory: four `wgmma`, each over 16 of K. Nothing overlaps yet: while TMA
copies, the tensor cores wait. `gemm_pipelined_hopper.py` is the next step.

A is M x K, B is K x N, C is M x N, all row-major. TMA requires rows that are multiples of 16 bytes, so N and K must be
multiples of 8; M is arbitrary. TMA fills the part of a tile outside the matrix with zeros, and that part of C is not
stored.

    python examples/hopper/gemm_simple_hopper.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import bf16, bf16x2, f32, u32

if TYPE_CHECKING:
    from pyptx.reg import Reg, RegArray
    from pyptx.smem import SharedAlloc

BM, BN, BK = 64, 64, 64
A = SharedTile(bf16, (BM, BK))
B = SharedTile(bf16, (BK, BN), major="MN")


def multiply(acc: RegArray, a: SharedAlloc, b: SharedAlloc, fresh: Reg) -> None:
    """Start the MMAs of one stage as one wgmma group; the first overwrites `acc` if `fresh` is true."""
    ptx.wgmma.fence()
    for k in range(0, BK, A.k_step):
        ptx.wgmma.mma_async(
            shape=(BM, BN, A.k_step),
            dtype_d=f32,
            dtype_a=bf16,
            dtype_b=bf16,
            d=acc,
            a=a,
            b=b,
            a_k_offset=A.offset(k=k),
            b_k_offset=B.offset(k=k),
            scale_d=True if k else ~fresh,
        )
    ptx.wgmma.commit_group()


def store(acc: RegArray, c, row: Reg, column: Reg) -> None:
    """Round the accumulator to bf16 and store the elements inside C, two adjacent columns at a time."""
    M, N = c.shape
    (pc,) = ptx.global_ptrs(c)
    held = ptx.wgmma.fragment(shape=(BM, BN, A.k_step), operand="d", dtype=f32)
    thread = ptx.special.tid.x() & 127
    row, column = row + held.row(thread, 0), column + held.column(thread, 0)
    corner, pair = pc + (row * N + column) * 2, reg.scalar(bf16x2)
    for i in range(0, held.count, 2):
        y, x = held.row(0, i), held.column(0, i)
        ptx.cvt(bf16x2, f32, pair, acc[i + 1], acc[i], rounding="rn")
        ptx.st(bf16x2, ptx.addr(corner, (y * N + x) * 2), pair, pred=(row + y < M) & (column + x < N))


@kernel(
    in_specs=(A.tma_tile("M", "K"), B.tma_tile("K", "N")),
    out_specs=(Tile("M", "N", bf16, align=4),),  # alignment of C: 4-byte stores of two elements
    grid=lambda M, N, K: (-(-N // BN), -(-M // BM)),
    block=128,
    arch="sm_90a",
)
def gemm(a, b, c):
    """Compute C = A · B, one CTA per tile of C."""
    K = a.shape[1]
    sA, sB, full = smem.tile(A), smem.tile(B), smem.mbarrier(1)
    row, column = ptx.ctaid_y() * BM, ptx.ctaid_x() * BN
    acc = reg.wgmma_frag(m=BM, n=BN, dtype=f32)
    leader = (ptx.special.tid.x() < 32) & ptx.elect_sync()

    with ptx.if_(leader):
        ptx.mbarrier.init(full[0], 1)
        ptx.fence.proxy_async_shared_cta()  # makes the mbarrier visible to TMA (async proxy)
    ptx.bar.sync()

    phase = reg.scalar(u32, init=0)
    for k in ptx.range_(0, K, BK):
        with ptx.if_(leader):
            ptx.mbarrier.arrive_expect_tx(full[0], A.stage_bytes + B.stage_bytes)
            ptx.cp.async_.bulk.tensor_2d(dst=sA, src=a, coord=(k, row), mbar=full[0])
            ptx.cp.async_.bulk.tensor_2d(dst=sB, src=b, coord=(column, k), mbar=full[0])
        ptx.mbarrier.wait(full[0], phase)
        phase ^= 1
        multiply(acc, sA, sB, fresh=k == 0)
        ptx.wgmma.wait_group(0)
        ptx.bar.sync()  # all MMAs have read the tiles: TMA may refill them

    store(acc, c, row, column)
    ptx.ret()


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return A · B, computed by NumPy in float64."""
    return a.astype(np.float64) @ b.astype(np.float64)


def main() -> None:
    """Run the kernel on the simulator and print its largest error against a float64 reference."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((200, 136), (136, 72)))
    expected = reference(a, b)
    error = np.abs(gemm(a, b) - expected).max() / np.abs(expected).max()
    print(f"gemm_simple_hopper 200x72x136: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
