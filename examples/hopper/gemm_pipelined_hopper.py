"""GEMM, the second step: a ring of stages, so that TMA copies while the tensor cores multiply.

Two warpgroups share a tile of 128 x 128 of C, 64 rows each. Tiles of A and B go through a ring of four stages. Each
stage has two mbarriers: a phase of *full* completes when TMA has written the bytes, a phase of *empty* when every warp
has read them. One wgmma group stays in flight: while the tensor cores work on one stage, the previous stage is released
and refilled.

The warp that fills stages also multiplies, and waits for all other warps in between. The next step,
`gemm_warp_specialized.py`, separates the two.

A is M x K, B is K x N, C is M x N, in bf16, all row-major; N and K must be multiples of 8.

    python examples/hopper/gemm_pipelined_hopper.py
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
    from pyptx.smem import MbarrierRef

BM, BN, BK, STAGES = 128, 128, 64, 4
ROWS = 64  # rows of C per warpgroup: M of one wgmma
THREADS = BM // ROWS * 128
A = SharedTile(bf16, (BM, BK), stages=STAGES)
B = SharedTile(bf16, (BK, BN), major="MN", stages=STAGES)


def fetch(maps, tiles, full: MbarrierRef, at) -> None:
    """Start the TMA copies of one stage; the stage's mbarrier counts their bytes."""
    (a, b), (sA, sB), (row, column, k) = maps, tiles, at
    ptx.mbarrier.arrive_expect_tx(full, A.stage_bytes + B.stage_bytes)
    ptx.cp.async_.bulk.tensor_2d(dst=sA, src=a, coord=(k, row), mbar=full)
    for panel in range(B.boxes):
        ptx.cp.async_.bulk.tensor_2d(dst=sB[panel], src=b, coord=(column + panel * B.box_columns, k), mbar=full)


def multiply(acc: RegArray, a: Reg, b: Reg, fresh: Reg) -> None:
    """Start the MMAs of one stage as one wgmma group; the first overwrites `acc` if `fresh` is true."""
    ptx.wgmma.fence()
    for k in range(0, BK, A.k_step):
        ptx.wgmma.mma_async(
            shape=(ROWS, BN, A.k_step),
            dtype_d=f32,
            dtype_a=bf16,
            dtype_b=bf16,
            d=acc,
            a=a,
            b=b,
            a_k_offset=A.offset(k=k),
            b_k_offset=B.offset(k=k),
            scale_d=True if k else ~fresh,
            trans_b=1,
        )
    ptx.wgmma.commit_group()


def store(acc: RegArray, c, row: Reg, column: Reg) -> None:
    """Round the accumulator to bf16 and store the elements inside C, two adjacent columns at a time."""
    M, N = c.shape
    (pc,) = ptx.global_ptrs(c)
    held = ptx.wgmma.fragment(shape=(ROWS, BN, A.k_step), operand="d", dtype=f32)
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
    block=THREADS,
    arch="sm_90a",
)
def gemm(a, b, c):
    """Compute C = A · B, one CTA per tile of C."""
    steps = -(-a.shape[1] // BK)
    sA, sB = smem.tile(A), smem.tile(B)
    full, empty = smem.mbarrier(STAGES), smem.mbarrier(STAGES)
    row, column = ptx.ctaid_y() * BM, ptx.ctaid_x() * BN
    tid = reg.from_(ptx.special.tid.x(), u32)
    leader, elected = (tid < 32) & ptx.elect_sync(), ptx.elect_sync()
    acc = reg.wgmma_frag(m=ROWS, n=BN, dtype=f32)

    with ptx.if_(leader):
        for stage in range(STAGES):
            ptx.mbarrier.init(full[stage], 1)
            ptx.mbarrier.init(empty[stage], THREADS // 32)
        ptx.fence.proxy_async_shared_cta()  # makes the mbarriers visible to TMA (async proxy)
        for stage in range(min(STAGES, steps)):
            fetch((a, b), (sA[stage], sB[stage]), full[stage], (row, column, stage * BK))
    ptx.bar.sync()

    group = ptx.shfl.sync.idx(reg.scalar(u32), tid >> 7, 0)  # lets ptxas infer a warp-uniform warpgroup index
    a0 = ptx.wgmma.advance(ptx.wgmma.descriptor(sA), A.offset(mn=ROWS), times=group)
    b0 = ptx.wgmma.descriptor(sB)
    ring, freed = ptx.pipeline(STAGES), ptx.pipeline(STAGES)
    for step in ptx.range_(0, steps):
        stage, phase = ring.advance()
        ptx.mbarrier.wait(full[stage], phase)
        a1 = ptx.wgmma.advance(a0, A.stage_bytes, times=stage)
        b1 = ptx.wgmma.advance(b0, B.stage_bytes, times=stage)
        multiply(acc, a1, b1, fresh=step == 0)
        ptx.wgmma.wait_group(1)  # the MMAs of the previous step are complete and have read their stage
        with ptx.if_(step > 0):
            stage, phase = freed.advance()
            ptx.mbarrier.arrive(empty[stage], pred=elected)
            k = (step + STAGES - 1) * BK
            with ptx.if_(leader & (k < steps * BK)):
                ptx.mbarrier.wait(empty[stage], phase)
                fetch((a, b), (sA[stage], sB[stage]), full[stage], (row, column, k))
    ptx.wgmma.wait_group(0)
    store(acc, c, row + group * ROWS, column)
    ptx.ret()


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return A · B, computed by NumPy in float64."""
    return a.astype(np.float64) @ b.astype(np.float64)


def main() -> None:
    """Run the kernel on the simulator and print its largest error against a float64 reference."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((200, 328), (328, 136)))
    expected = reference(a, b)
    error = np.abs(gemm(a, b) - expected).max() / np.abs(expected).max()
    print(f"gemm_pipelined_hopper 200x136x328: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
