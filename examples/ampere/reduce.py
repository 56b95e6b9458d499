"""Sum of an array with atomics: threads stride over it by 16 bytes, and each CTA adds its sum to the total once.

Memory is saturated if enough bytes are in flight: 1.5 TB/s times 0.6 us of latency are 0.9 MB on an A100. Four CTAs on
each of its 108 SMs request 1.7 MB at a time. Atomics on one address are serialized, so the kernel executes few.

The total is an array that the caller owns and has set: the kernel adds to it in place and returns nothing.

    python examples/ampere/reduce.py
"""

from __future__ import annotations

import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

THREADS = 256
WARPS = THREADS // 32
MOST = 4 * 108  # maximum number of CTAs: four per SM of an A100
VECTOR = 4  # f32 elements per 16-byte load


def blocks(N: int) -> int:
    """Return the number of CTAs that sum N elements."""
    return min(-(-N // (VECTOR * THREADS)), MOST)


@kernel(
    in_specs=(Tile("N", f32, align=4 * VECTOR), Tile(1, f32)),
    grid=blocks,
    block=(THREADS, 1, 1),
    arch="sm_80",
)
def reduce_sum(X, Total):
    """Add the sum of `X` to `Total[0]`, in place; one atomic per CTA."""
    vectors, rest = divmod(X.shape[0], VECTOR)
    px, ptotal = ptx.global_ptrs(X, Total)
    tid = reg.from_(ptx.special.tid.x(), u32)
    block = reg.from_(ptx.special.ctaid.x(), u32)
    start = reg.scalar(u32)
    ptx.inst.mad.lo.u32(start, block, THREADS, tid)

    total = reg.scalar(f32, init=0.0)
    values = reg.array(f32, VECTOR)
    for i in ptx.range_(start, vectors, blocks(X.shape[0]) * THREADS):
        ptx.inst.ld.global_.v4.f32(values, ptx.addr(px + i * (4 * VECTOR)))
        for value in values:
            ptx.inst.add.f32(total, total, value)
    if rest:
        with ptx.if_(start < rest):
            ptx.inst.ld.global_.f32(values[0], ptx.addr(px + start * 4, vectors * VECTOR * 4))
            ptx.inst.add.f32(total, total, values[0])

    ptx.warp.reduce_sum(total)
    parts = smem.alloc(f32, WARPS)
    with ptx.if_((tid & 31) == 0):
        parts.store(total, tid >> 5)
    ptx.bar.sync(0)
    with ptx.if_(tid < 32):
        total = parts.load(tid & (WARPS - 1))
        ptx.warp.reduce_sum(total, width=WARPS)
        ptx.inst.red.global_.add.f32(ptx.addr(ptotal), total, pred=tid == 0)
    ptx.ret()


def reference(x: np.ndarray) -> float:
    """Return the sum of `x`, computed by NumPy in float64."""
    return float(x.astype(np.float64).sum())


def main() -> None:
    """Run the kernel on the simulator; print its error against float64, relative to the sum of magnitudes."""
    x = np.random.default_rng(0).standard_normal(1_000_003, dtype=np.float32)
    total = np.zeros(1, dtype=np.float32)
    reduce_sum(x, total)
    error = abs(float(total[0]) - reference(x)) / float(np.abs(x).sum())
    print(f"reduce 1000003: error {error:.2e} of the sum of magnitudes")


if __name__ == "__main__":
    main()
