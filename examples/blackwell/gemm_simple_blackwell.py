"""GEMM, the first step: `C = A · B` in bf16, with a tile of 128 x 128 per CTA of one warpgroup.

For every 64 of K, one thread loads a tile of A and one of B with TMA, waits for the bytes, and issues four
`tcgen05.mma` over 16 of K each. They read shared memory and accumulate the tile of C in tensor memory: no register
holds an accumulator until all of K is done. A `commit` signals an mbarrier when they are complete; then the tiles may
be refilled. Nothing overlaps yet: while TMA copies, the tensor cores wait. The next step is
`gemm_pipelined_blackwell.py`.

A is M x K, B is K x N, C is M x N, all row-major. M, N and K may be any numbers that TMA supports: N and K are
multiples of 8, so that rows are multiples of 16 bytes. TMA fills the parts of a tile that are past the edges with
zeros.

    python examples/blackwell/gemm_simple_blackwell.py
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

BM, BN, BK = 128, 128, 64
A = SharedTile(bf16, (BM, BK))
B = SharedTile(bf16, (BK, BN), major="MN")


def produce_and_multiply(t, maps, tiles, barriers, row: Reg, column: Reg) -> None:
    """For each step of K, in one thread: load a tile of A and one of B, issue the MMAs, wait for their completion."""
    (a, b), (sA, sB), (full, done) = maps, tiles, barriers
    phase = reg.scalar(u32, init=0)
    for k in ptx.range_(0, a.shape[1], BK):
        ptx.mbarrier.arrive_expect_tx(full[0], A.stage_bytes + B.stage_bytes)
        ptx.cp.async_.bulk.tensor_2d(dst=sA, src=a, coord=(k, row), mbar=full[0])
        for panel in range(B.boxes):
            at = (column + panel * B.box_columns, k)
            ptx.cp.async_.bulk.tensor_2d(dst=sB[panel], src=b, coord=at, mbar=full[0])
        ptx.mbarrier.wait(full[0], phase)
        for step in range(0, BK, A.k_step):
            ptx.tcgen05.mma(
                t,
                sA,
                sB,
                shape=(BM, BN),
                dtype_d=f32,
                dtype_a=bf16,
                dtype_b=bf16,
                a_k_offset=A.offset(k=step),
                b_k_offset=B.offset(k=step),
                accumulate=True if step else k > 0,
            )
        ptx.tcgen05.commit(done[0])
        ptx.mbarrier.wait(done[0], phase)
        phase ^= 1


@kernel(
    in_specs=(A.tma_tile("M", "K"), B.tma_tile("K", "N")),
    out_specs=(Tile("M", "N", bf16, align=16),),  # alignment of C: 16-byte stores of eight elements
    grid=lambda M, N, K: (-(-N // BN), -(-M // BM)),
    block=128,
    arch="sm_100a",
)
def gemm(a, b, c):
    """Compute C, one tile per CTA."""
    tiles = smem.tile(A), smem.tile(B)
    barriers = full, done = smem.mbarrier(1), smem.mbarrier(1)
    row, column = ptx.ctaid_y() * BM, ptx.ctaid_x() * BN
    warp = reg.from_(ptx.special.tid.x(), u32) >> 5
    leader = (warp == 0) & ptx.elect_sync()

    with ptx.if_(leader):
        ptx.mbarrier.init(full[0], 1)
        ptx.mbarrier.init(done[0], 1)
        ptx.fence.proxy_async_shared_cta()  # makes the mbarriers visible to TMA
    with ptx.tmem.alloc(BN, when=warp == 0, relinquish=True) as t:
        with ptx.if_(leader):
            produce_and_multiply(t, (a, b), tiles, barriers, row, column)
        ptx.bar.sync()  # all threads wait until the leader has observed the last MMA's completion
        ptx.tcgen05.fence_after_thread_sync()
        accumulators.store(t, c, warp, row + ptx.special.tid.x(), column)
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
    print(f"gemm_simple_blackwell 200x72x136: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
