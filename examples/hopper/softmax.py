"""Softmax over rows: `Y[b, i] = exp(X[b, i] - max) / sum(exp(X[b, :] - max))`.

One block per row, the row in registers: one reduction for the maximum, one for the sum. The exponential is `ex2.approx`
on an argument scaled by log2(e); the scaling and the subtraction of the maximum are one `fma`.

    python examples/hopper/softmax.py
"""

from __future__ import annotations

import math

import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

THREADS = 128
WARPS = THREADS // 32
VECTOR = 4  # floats per load: 16 bytes, the widest ordinary access
CHUNK = THREADS * VECTOR  # floats that the block loads in one step
LOG2_E = math.log2(math.e)


def exchange(value, partials, tid):
    """Store each warp's `value` in shared memory, pass the barrier, and load all of them back."""
    with ptx.if_((tid & 31) == 0):
        partials[tid >> 5, 0] = value
    ptx.bar.sync(0)
    return [partials[w, 0] for w in range(WARPS)]


@kernel(
    in_specs=(Tile("B", "N", f32),),
    out_specs=(Tile("B", "N", f32),),
    grid=lambda B, N: (B, 1, 1),
    block=(THREADS, 1, 1),
    arch="sm_90a",
)
def softmax(X, Y):
    """Turn each row of `X` into probabilities; N must be a multiple of 512."""
    N = X.shape[1]
    if N % CHUNK:
        raise ValueError(f"softmax needs N to be a multiple of {CHUNK}, not {N}")

    maxima = smem.alloc(f32, (WARPS, 1))
    sums = smem.alloc(f32, (WARPS, 1))
    px, py = ptx.global_ptrs(X, Y)
    tid = reg.from_(ptx.special.tid.x(), u32)
    row = reg.from_(ptx.special.ctaid.x(), u32)
    px += row * (N * 4)
    py += row * (N * 4)

    x = reg.array(f32, N // THREADS)
    peak = reg.scalar(f32, init=-math.inf)
    for j in range(N // CHUNK):
        quad = x[j * VECTOR : (j + 1) * VECTOR]
        ptx.inst.ld.global_.v4.f32(quad, ptx.addr(px + ((tid << 4) + j * (CHUNK * 4))))
        for value in quad:
            ptx.inst.max.f32(peak, peak, value)
    ptx.warp.reduce_max(peak)
    for other in exchange(peak, maxima, tid):
        ptx.inst.max.f32(peak, peak, other)

    # exp(x - peak) = 2 ** (x * log2(e) - peak * log2(e))
    shift = reg.scalar(f32)
    ptx.inst.mul.f32(shift, peak, -LOG2_E)
    total = reg.scalar(f32, init=0.0)
    for value in x:
        ptx.inst.fma.rn.f32(value, value, LOG2_E, shift)
        ptx.inst.ex2.approx.f32(value, value)
        ptx.inst.add.f32(total, total, value)
    ptx.warp.reduce_sum(total)
    scale = reg.scalar(f32, init=0.0)
    for other in exchange(total, sums, tid):
        ptx.inst.add.f32(scale, scale, other)
    ptx.inst.rcp.approx.f32(scale, scale)

    for j in range(N // CHUNK):
        quad = x[j * VECTOR : (j + 1) * VECTOR]
        for value in quad:
            ptx.inst.mul.f32(value, value, scale)
        ptx.inst.st.global_.v4.f32(ptx.addr(py + ((tid << 4) + j * (CHUNK * 4))), quad)
    ptx.ret()


def reference(x: np.ndarray) -> np.ndarray:
    """Compute the same in float64."""
    x64 = x.astype(np.float64)
    e = np.exp(x64 - x64.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def main() -> None:
    """Run on the simulator and print the largest error against float64."""
    x = np.random.default_rng(0).standard_normal((256, 4096), dtype=np.float32) * 4
    expected = reference(x)
    error = (np.abs(softmax(x) - expected) / expected).max()
    print(f"softmax 256x4096: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
