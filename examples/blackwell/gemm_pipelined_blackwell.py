"""GEMM, the second step: a ring of stages, and warps with different jobs.

A CTA computes a tile of 128 x 256 of C. One thread only issues TMA copies of A and B, into a ring of four stages; one
thread only issues MMAs. Each stage has two mbarriers: a phase of *full* completes when TMA has written the bytes, a
phase of *empty* when the MMAs that read them are complete, signaled by a `commit` after them. So copies are up to four
stages ahead of MMAs, and neither waits for the other without need. Four warps wait for the accumulators, and store
them.

The tensor cores execute the MMAs of one thread in issue order, so no thread waits between the MMAs of two stages; the
consumers of Hopper's ring wait before they release a stage.

    copying thread      -- bytes -->   `full`: both tiles of the stage are loaded  -->  multiplying thread
    multiplying thread  -- commit -->  `empty`: the stage is read                  -->  copying thread
    multiplying thread  -- commit -->  `done`: the accumulators are complete       -->  the warps that store

Remaining cost: every CTA loads all of its B itself. The next step is `gemm_2sm_blackwell.py`.

A is M x K, B is K x N, C is M x N, in bf16 and row-major; N and K are multiples of 8.

    python examples/blackwell/gemm_pipelined_blackwell.py
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

BM, BN, BK, STAGES = 128, 256, 64, 4
A = SharedTile(bf16, (BM, BK), stages=STAGES)
B = SharedTile(bf16, (BK, BN), major="MN", stages=STAGES)
PRODUCER, MULTIPLIER, THREADS = 4, 5, 192  # warps 0-3 store C, warp 4 loads A and B, warp 5 issues MMAs


def produce(maps, tiles, barriers, row: Reg, column: Reg) -> None:
    """Copy A and B to stage after stage, each as soon as the MMAs have read its previous tiles."""
    (a, b), (sA, sB), (full, empty) = maps, tiles, barriers
    ring = ptx.pipeline(STAGES, phase=reg.scalar(u32, init=1))  # all stages start empty: the first waits pass
    for k in ptx.range_(0, a.shape[1], BK):
        stage, phase = ring.advance()
        ptx.mbarrier.wait(empty[stage], phase)
        ready = full[stage]
        ptx.mbarrier.arrive_expect_tx(ready, A.stage_bytes + B.stage_bytes)
        ptx.cp.async_.bulk.tensor_2d(dst=sA[stage], src=a, coord=(k, row), mbar=ready)
        for panel in range(B.boxes):
            at = (column + panel * B.box_columns, k)
            ptx.cp.async_.bulk.tensor_2d(dst=sB[stage, panel], src=b, coord=at, mbar=ready)


def multiply(t, tiles, barriers, steps: int) -> None:
    """Issue the MMAs of stage after stage, as soon as its tiles of A and B are loaded; each commit frees a stage."""
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
            ptx.tcgen05.mma(
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
        ptx.tcgen05.commit(empty[stage])
    ptx.tcgen05.commit(done[0])


@kernel(
    in_specs=(A.tma_tile("M", "K"), B.tma_tile("K", "N")),
    out_specs=(Tile("M", "N", bf16, align=16),),  # alignment of C: 16-byte stores of eight elements
    grid=lambda M, N, K: (-(-M // BM), -(-N // BN)),
    block=THREADS,
    arch="sm_100a",
)
def gemm(a, b, c):
    """Compute C, one tile per CTA."""
    tiles = smem.tile(A), smem.tile(B)
    barriers = full, empty, done = smem.mbarrier(STAGES), smem.mbarrier(STAGES), smem.mbarrier(1)
    row, column = ptx.ctaid_x() * BM, ptx.ctaid_y() * BN
    warp = reg.from_(ptx.special.tid.x(), u32) >> 5

    with ptx.if_((warp == 0) & ptx.elect_sync()):
        for stage in range(STAGES):
            ptx.mbarrier.init(full[stage], 1)
            ptx.mbarrier.init(empty[stage], 1)
        ptx.mbarrier.init(done[0], 1)
        ptx.fence.proxy_async_shared_cta()  # makes the mbarriers visible to TMA and the tensor cores
    with ptx.tmem.alloc(BN, when=warp == 0, relinquish=True) as t:
        with ptx.if_((warp == PRODUCER) & ptx.elect_sync()):
            produce((a, b), tiles, (full, empty), row, column)
        with ptx.if_((warp == MULTIPLIER) & ptx.elect_sync()):
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
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((200, 328), (328, 264)))
    expected = reference(a, b)
    error = np.abs(gemm(a, b) - expected).max() / np.abs(expected).max()
    print(f"gemm_pipelined_blackwell 200x264x328: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
