"""Sum of an array with atomics: each thread sums a grid-strided slice, each warp adds its sum to the total once.

The total is an array that the caller owns and has set: the kernel adds to it in place and returns nothing.

    python examples/ampere/reduce.py
"""

from __future__ import annotations

import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32

THREADS = 256
BLOCKS = 32


@kernel(
    in_specs=(Tile("N", f32), Tile(1, f32)),
    grid=(BLOCKS, 1, 1),
    block=(THREADS, 1, 1),
    arch="sm_80",
)
def reduce_sum(X, Total):
    """Add the sum of `X` to `Total[0]`, in place; one atomic per warp."""
    N = X.shape[0]
    px, ptotal = ptx.global_ptrs(X, Total)
    tid = reg.from_(ptx.special.tid.x(), u32)
    block = reg.from_(ptx.special.ctaid.x(), u32)
    start = reg.scalar(u32)
    ptx.inst.mad.lo.u32(start, block, THREADS, tid)

    total = reg.scalar(f32, init=0.0)
    value = reg.scalar(f32)
    for i in ptx.range_(start, N, BLOCKS * THREADS):
        ptx.inst.ld.global_.f32(value, ptx.addr(px + i * 4))
        ptx.inst.add.f32(total, total, value)

    ptx.warp.reduce_sum(total)
    with ptx.if_((tid & 31) == 0):
        ptx.inst.red.global_.add.f32(ptx.addr(ptotal), total)
    ptx.ret()


def reference(x: np.ndarray) -> float:
    """Compute the same in float64."""
    return float(x.astype(np.float64).sum())


def main() -> None:
    """Run on the simulator and print the error against float64, relative to the sum of magnitudes."""
    x = np.random.default_rng(0).standard_normal(1_000_003, dtype=np.float32)
    total = np.zeros(1, dtype=np.float32)
    reduce_sum(x, total)
    error = abs(float(total[0]) - reference(x)) / float(np.abs(x).sum())
    print(f"reduce 1000003: error {error:.2e} of the sum of magnitudes")


if __name__ == "__main__":
    main()
