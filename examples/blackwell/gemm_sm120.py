"""GEMM for consumer Blackwell (sm_120): `C = A · B` in bf16, with `mma.sync` on tiles that TMA loads.

Structure of `warp_mma.py`: a ring of three stages, a warp that fills it, eight that compute 64 x 32 of C each. For
16 of K, a warp loads A with four ldmatrix and B with two (transposed), and issues 16 mma.sync.

A is M x K, B is K x N, C is M x N, in bf16 and row-major; N and K are multiples of 8.

    python examples/blackwell/gemm_sm120.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import ml_dtypes
import numpy as np

from pyptx import kernel, ptx
from pyptx.smem import SharedTile
from pyptx.types import bf16, f32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.blackwell import warp_mma
from examples.blackwell.warp_mma import BM, BN, DEPTH, STAGES, STEP, WM, WN, Block, Columns, Ring, Rows, Warp

BK = DEPTH // bf16.bytes
SHAPE = (16, 8, STEP // bf16.bytes)
A = SharedTile(bf16, (BM, BK), stages=STAGES)
B = SharedTile(bf16, (BK, BN), major="MN", stages=STAGES)


def consume(warp: Warp, ring: Ring, steps: int) -> None:
    """Multiply stage after stage, and accumulate the warp's 64 x 32 of C."""
    a = Rows(ring.a, A, warp.lane, warp.row, WM)
    b = Columns(ring.b, B, warp.lane, warp.column, WN)
    turn = ptx.pipeline(STAGES)
    for _ in ptx.range_(0, steps):
        stage, phase = turn.advance()
        ptx.mbarrier.wait(ring.full[stage], phase)
        for step in range(DEPTH // STEP):
            for d, left, right, _ in warp.products(a.load(stage, step), b.load(stage, step)):
                ptx.mma.sync(
                    shape=SHAPE, dtype_d=f32, dtype_a=bf16, dtype_b=bf16, dtype_c=f32, d=d, a=left, b=right, c=d
                )
        ring.release(stage, warp.lane)


@kernel(
    in_specs=(A.tma_tile("M", "K"), B.tma_tile("K", "N")),
    out_specs=(warp_mma.C.tma_tile("M", "N"),),
    grid=lambda M, N, K: warp_mma.blocks(M, N),
    block=warp_mma.THREADS,
    arch="sm_120a",
)
def gemm(a, b, c):
    """Compute C, one tile per CTA."""
    ring, block = Ring(A, B), Block.of(c)
    warp, steps = Warp(block), -(-a.shape[1] // BK)

    def fetch(step, stage, barrier) -> None:
        load = ptx.cp.async_.bulk.tensor_2d.shared_cta_global_tile
        load(dst=ring.a[stage], src=a, coord=(step * BK, block.row), mbar=barrier)
        for panel in range(B.boxes):
            at = (block.column + panel * B.box_columns, step * BK)
            load(dst=ring.b[stage, panel], src=b, coord=at, mbar=barrier)

    with ptx.if_((block.warp == warp_mma.PRODUCER) & ptx.elect_sync()):
        ring.produce(steps, fetch)
    with ptx.if_(block.warp < warp_mma.CONSUMERS):
        consume(warp, ring, steps)
    warp_mma.store(ring, c, block, lambda: warp.park(ring))
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
    print(f"gemm_sm120 200x136x328: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
