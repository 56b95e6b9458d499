"""RMS norm: `Y[b, i] = X[b, i] * W[i] / sqrt(mean(X[b, :]**2) + eps)`.

One block per row. Every thread loads its share of the row once, four floats at a time, keeps it in registers, and
writes it back scaled: the row crosses the memory bus once each way. In between stand one sum per thread, a butterfly
over the lanes of a warp, and one exchange of the warps' sums through shared memory.

    python examples/hopper/rms_norm.py
"""

from __future__ import annotations

import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

THREADS = 128
WARPS = THREADS // 32
VECTOR = 4  # floats per load: 16 bytes, the widest ordinary access
CHUNK = THREADS * VECTOR  # floats that the block loads in one step


@kernel(
    in_specs=(Tile("B", "N", f32), Tile("N", f32)),
    out_specs=(Tile("B", "N", f32),),
    grid=lambda B, N: (B, 1, 1),
    block=(THREADS, 1, 1),
    arch="sm_90a",
)
def rms_norm(X, W, Y, *, eps: float = 1e-6):
    """Normalise each row of `X` by its root mean square and scale it by `W`; N must be a multiple of 512."""
    N = X.shape[1]
    if N % CHUNK:
        raise ValueError(f"rms_norm needs N to be a multiple of {CHUNK}, not {N}")

    partials = smem.alloc(f32, (WARPS, 1))
    px, pw, py = ptx.global_ptrs(X, W, Y)
    tid = reg.from_(ptx.special.tid.x(), u32)
    row = reg.from_(ptx.special.ctaid.x(), u32)
    px += row * (N * 4)
    py += row * (N * 4)

    # The thread's slice of the row, and the sum of its squares.
    x = reg.array(f32, N // THREADS)
    sum_sq = reg.scalar(f32, init=0.0)
    for j in range(N // CHUNK):
        quad = x[j * VECTOR : (j + 1) * VECTOR]
        offset = (tid << 4) + j * (CHUNK * 4)
        ptx.inst.ld.global_.v4.f32(quad, ptx.addr(px + offset))
        for value in quad:
            ptx.inst.fma.rn.f32(sum_sq, value, value, sum_sq)

    # Lanes, then warps.
    ptx.warp.reduce_sum(sum_sq)
    lane = tid & 31
    with ptx.if_(lane == 0):
        partials[tid >> 5, 0] = sum_sq
    ptx.bar.sync(0)
    total = reg.scalar(f32, init=0.0)
    for w in range(WARPS):
        ptx.inst.add.f32(total, total, partials[w, 0])

    # The reciprocal of the row's root mean square.
    rstd = reg.scalar(f32)
    ptx.inst.fma.rn.f32(rstd, total, 1.0 / N, eps)
    ptx.inst.rsqrt.approx.f32(rstd, rstd)

    w = reg.array(f32, VECTOR)
    for j in range(N // CHUNK):
        quad = x[j * VECTOR : (j + 1) * VECTOR]
        offset = (tid << 4) + j * (CHUNK * 4)
        ptx.inst.ld.global_.v4.f32(w, ptx.addr(pw + offset))
        for value, weight in zip(quad, w, strict=True):
            ptx.inst.mul.f32(value, value, rstd)
            ptx.inst.mul.f32(value, value, weight)
        ptx.inst.st.global_.v4.f32(ptx.addr(py + offset), quad)
    ptx.ret()


def reference(x: np.ndarray, w: np.ndarray, eps: float = 1e-6) -> np.ndarray:
    """Compute the same in float64."""
    x64 = x.astype(np.float64)
    return x64 / np.sqrt(np.mean(x64 * x64, axis=1, keepdims=True) + eps) * w


def main() -> None:
    """Run on the simulator and print the largest error against float64."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((256, 4096), dtype=np.float32)
    w = rng.standard_normal(4096, dtype=np.float32)
    expected = reference(x, w)
    error = np.abs(rms_norm(x, w) - expected).max() / np.abs(expected).max()
    print(f"rms_norm 256x4096: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
