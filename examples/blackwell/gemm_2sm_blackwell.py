"""GEMM, the third step: CTA pairs that multiply together.

Two adjacent CTAs compute a tile of 256 x 256 of C. Each loads its half of both operands, 128 rows of A and 128 columns
of B. One thread of the first CTA issues the MMAs of both: `tcgen05.mma` with `cta_group::2` reads both halves of B in
either CTA, so each loads half of what a CTA on its own would need.

In each CTA, one warp only issues TMA copies, as many stages ahead as the ring has; in the first CTA, another one issues
MMAs. The other warps are idle until the accumulators are complete: then four warps load them from tensor memory and
store them, 128 rows in each CTA.

    TMA warps of both CTAs  -- bytes of both halves -->  `full` of the first CTA  -->  multiplying warp
    multiplying warp  -- commit -->  `empty` of both CTAs: the stage is read  -->  TMA warps

Remaining cost: the tensor cores idle while CTAs start, and while they store their tile. The next step is
`gemm_highperf_blackwell.py`.

A is M x K, B is K x N, C is M x N, in bf16 and row-major; N and K are multiples of 8.

    python examples/blackwell/gemm_2sm_blackwell.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import bf16, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.blackwell import accumulators

if TYPE_CHECKING:
    from pyptx.reg import Reg

BM, BN, BK, STAGES = 256, 256, 64, 4
HALF = 128  # rows of A, and columns of B, that each CTA of a pair loads
A = SharedTile(bf16, (HALF, BK), stages=STAGES)
B = SharedTile(bf16, (BK, HALF), major="MN", stages=STAGES)
PRODUCER, MULTIPLIER, THREADS = 4, 5, 192  # warps 0-3 store C, warp 4 loads A and B, warp 5 issues MMAs
BOTH = 0b11


def produce(maps, tiles, barriers, row: Reg, column: Reg) -> None:
    """Copy this CTA's halves of A and B to stage after stage, each as soon as the MMAs have read its previous tiles."""
    (a, b), (sA, sB), (full, empty) = maps, tiles, barriers
    ring = ptx.pipeline(STAGES, phase=reg.scalar(u32, init=1))  # all stages start empty: the first waits pass
    for k in ptx.range_(0, a.shape[1], BK):
        stage, phase = ring.advance()
        ptx.mbarrier.wait(empty[stage], phase)
        barrier = ptx.cluster.map_shared_u32(full[stage], 0)  # address of `full` in the pair's CTA 0, which issues MMAs
        ptx.mbarrier.arrive_cluster(barrier, tx_count=A.stage_bytes + B.stage_bytes)
        ptx.cp.async_.bulk.tensor_2d(dst=sA[stage], src=a, coord=(k, row), mbar=barrier, cta_group=2)
        for panel in range(B.boxes):
            at = (column + panel * B.box_columns, k)
            ptx.cp.async_.bulk.tensor_2d(dst=sB[stage, panel], src=b, coord=at, mbar=barrier, cta_group=2)


def multiply(t, tiles, barriers, steps: int) -> None:
    """Issue the MMAs of stage after stage, once both CTAs' halves are loaded; a commit frees a stage in both."""
    (sA, sB), (full, empty, done) = tiles, barriers
    a0, b0 = ptx.tcgen05.descriptor(sA), ptx.tcgen05.descriptor(sB)
    ring = ptx.pipeline(STAGES)
    for step in ptx.range_(0, steps):
        stage, phase = ring.advance()
        ptx.mbarrier.wait(full[stage], phase)
        ptx.tcgen05.fence_after_thread_sync()
        a = ptx.tcgen05.advance(a0, A.stage_bytes, times=stage)
        b = ptx.tcgen05.advance(b0, B.stage_bytes, times=stage)
        for k in range(0, BK, A.k_step):
            ptx.tcgen05.mma.async_2sm(
                t,
                a,
                b,
                shape=(BM, BN),
                dtype_d=f32,
                dtype_a=bf16,
                dtype_b=bf16,
                trans_b=1,
                a_k_offset=A.offset(k=k),
                b_k_offset=B.offset(k=k),
                accumulate=True if k else step > 0,
            )
        ptx.tcgen05.commit(empty[stage], cta_group=2, multicast_mask=BOTH)
    ptx.tcgen05.commit(done[0], cta_group=2, multicast_mask=BOTH)


@kernel(
    in_specs=(A.tma_tile("M", "K"), B.tma_tile("K", "N")),
    out_specs=(Tile("M", "N", bf16, align=16),),  # alignment of C: 16-byte stores of eight elements
    grid=lambda M, N, K: (2 * -(-M // BM), -(-N // BN)),
    cluster=2,
    block=THREADS,
    arch="sm_100a",
)
def gemm(a, b, c):
    """Compute C, one tile per CTA pair."""
    tiles = smem.tile(A), smem.tile(B)
    barriers = full, empty, done = smem.mbarrier(STAGES), smem.mbarrier(STAGES), smem.mbarrier(1)
    rank = reg.from_(ptx.sreg("%cluster_ctarank"), u32)
    row, column = ptx.ctaid_x() * HALF, ptx.ctaid_y() * BN  # CTA 1 of a pair computes the lower 128 rows of its tile
    warp = reg.from_(ptx.special.tid.x(), u32) >> 5

    with ptx.if_((warp == 0) & ptx.elect_sync()):
        for stage in range(STAGES):
            ptx.mbarrier.init(full[stage], 2)  # arrivals: each CTA of the pair, with its byte count
            ptx.mbarrier.init(empty[stage], 1)
        ptx.mbarrier.init(done[0], 1)
        ptx.fence.mbarrier_init()
    ptx.cluster.sync()  # makes the mbarriers visible to the peer CTA
    with ptx.tmem.alloc(BN, cta_group=2, when=warp == 0, relinquish=True) as t:
        with ptx.if_((warp == PRODUCER) & ptx.elect_sync()):
            produce((a, b), tiles, (full, empty), row, column + rank * HALF)
        with ptx.if_((warp == MULTIPLIER) & (rank == 0) & ptx.elect_sync()):
            multiply(t, tiles, barriers, steps=-(-a.shape[1] // BK))
        with ptx.if_(warp < PRODUCER):
            ptx.mbarrier.wait(done[0], 0)
            ptx.tcgen05.fence_after_thread_sync()
            accumulators.store(t, c, warp, row + ptx.special.tid.x(), column)
    ptx.ret()


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return A · B, computed by NumPy in float64."""
    return a.astype(np.float64) @ b.astype(np.float64)


def main() -> None:
    """Run the kernel on the simulator and print its largest error against a float64 reference."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((300, 328), (328, 264)))
    expected = reference(a, b)
    error = np.abs(gemm(a, b) - expected).max() / np.abs(expected).max()
    print(f"gemm_2sm_blackwell 300x264x328: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
