"""GEMM, the third step: warp specialization.

A thread block (CTA) has three warpgroups. One thread of the first only starts TMA copies; the other two warpgroups only
multiply, each 64 x 256 of a tile of 128 x 256 of C. No warp waits for the slowest: the producer runs ahead by the
number of stages, and each consumer proceeds at its own pace. The accumulator of 64 x 256 takes 128 registers per
thread, so `setmaxnreg` moves registers from the producer, which needs few, to the consumers.

The tensor cores still idle while a CTA starts and while it stores its tile, and every CTA loads all its tiles from L2
by itself. `gemm_highperf_hopper.py` is the last step.

A is M x K, B is K x N, C is M x N, in bf16, all row-major; N and K must be multiples of 8.

    python examples/hopper/gemm_warp_specialized.py
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

BM, BN, BK, STAGES = 128, 256, 64, 4
ROWS = 64  # rows of C per warpgroup: M of one wgmma
CONSUMERS = BM // ROWS  # consumer warpgroups; the producer warpgroup precedes them
THREADS = 128 * (1 + CONSUMERS)
PRODUCER_REGISTERS, CONSUMER_REGISTERS = 40, 232  # registers per thread: 40 + 2 * 232 = 504 = 3 * 168 at launch
A = SharedTile(bf16, (BM, BK), stages=STAGES)
B = SharedTile(bf16, (BK, BN), major="MN", stages=STAGES)


def produce(maps, tiles, barriers, row: Reg, column: Reg) -> None:
    """Fill stage after stage, each as soon as the consumers have read its previous tiles."""
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


def consume(acc: RegArray, tiles, barriers, group: Reg, steps: int) -> None:
    """Multiply stage after stage, with one wgmma group in flight, and release each stage after it is read."""
    (sA, sB), (full, empty) = tiles, barriers
    a0 = ptx.wgmma.advance(ptx.wgmma.descriptor(sA), A.offset(mn=ROWS), times=group)
    b0 = ptx.wgmma.descriptor(sB)
    elected, ring, read = ptx.elect_sync(), ptx.pipeline(STAGES), ptx.pipeline(STAGES)
    for step in ptx.range_(0, steps):
        stage, phase = ring.advance()
        ptx.mbarrier.wait(full[stage], phase)
        a = ptx.wgmma.advance(a0, A.stage_bytes, times=stage)
        b = ptx.wgmma.advance(b0, B.stage_bytes, times=stage)
        multiply(acc, a, b, fresh=step == 0)
        ptx.wgmma.wait_group(1)  # the MMAs of the previous step are complete and have read their stage
        with ptx.if_(step > 0):
            stage, _ = read.advance()
            ptx.mbarrier.arrive(empty[stage], pred=elected)
    ptx.wgmma.wait_group(0)


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
    raw_directives=[("maxntid", (THREADS, 1, 1)), ("minnctapersm", (1,))],  # setmaxnreg requires both directives
)
def gemm(a, b, c):
    """Compute C = A · B, one CTA per tile of C."""
    tiles = smem.tile(A), smem.tile(B)
    barriers = full, empty = smem.mbarrier(STAGES), smem.mbarrier(STAGES)
    row, column = ptx.ctaid_y() * BM, ptx.ctaid_x() * BN
    tid = reg.from_(ptx.special.tid.x(), u32)
    leader = (tid < 32) & ptx.elect_sync()
    warpgroup = ptx.shfl.sync.idx(reg.scalar(u32), tid >> 7, 0)  # lets ptxas infer a warp-uniform warpgroup index

    with ptx.if_(leader):
        for stage in range(STAGES):
            ptx.mbarrier.init(full[stage], 1)
            ptx.mbarrier.init(empty[stage], CONSUMERS * 4)  # one arrival per warp of the consumer warpgroups
        ptx.fence.proxy_async_shared_cta()  # makes the mbarriers visible to TMA (async proxy)
    ptx.bar.sync()

    with ptx.if_(warpgroup == 0):
        ptx.setmaxnreg_dec(PRODUCER_REGISTERS)
        with ptx.if_(leader):
            produce((a, b), tiles, barriers, row, column)
    with ptx.else_():
        ptx.setmaxnreg_inc(CONSUMER_REGISTERS)
        group = warpgroup - 1
        acc = reg.wgmma_frag(m=ROWS, n=BN, dtype=f32)
        consume(acc, tiles, barriers, group, steps=-(-a.shape[1] // BK))
        store(acc, c, row + group * ROWS, column)
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
    print(f"gemm_warp_specialized 200x264x328: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
