"""Layer norm: `Y[b, i] = (X[b, i] - mean) / sqrt(variance + eps) * W[i] + Bias[i]`.

One block per row, the row in registers. The variance is computed from the deviations in a second pass over the
registers, not as a difference of two large sums, so it loses nothing when the mean is far from zero.

    python examples/hopper/layer_norm.py
"""

from __future__ import annotations

import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

THREADS = 128
WARPS = THREADS // 32
VECTOR = 4  # floats per load: 16 bytes, the widest ordinary access
CHUNK = THREADS * VECTOR  # floats that the block loads in one step


def block_sum(value, partials, tid):
    """Emit the sum of `value` over the block: a butterfly, one store per warp, a barrier, and WARPS loads and adds."""
    ptx.warp.reduce_sum(value)
    with ptx.if_((tid & 31) == 0):
        partials[tid >> 5, 0] = value
    ptx.bar.sync(0)
    total = reg.scalar(f32, init=0.0)
    for w in range(WARPS):
        ptx.inst.add.f32(total, total, partials[w, 0])
    return total


@kernel(
    in_specs=(Tile("B", "N", f32), Tile("N", f32), Tile("N", f32)),
    out_specs=(Tile("B", "N", f32),),
    grid=lambda B, N: (B, 1, 1),
    block=(THREADS, 1, 1),
    arch="sm_90a",
)
def layer_norm(X, W, Bias, Y, *, eps: float = 1e-5):
    """Normalise each row of `X` to mean 0 and variance 1, then scale and shift; N must be a multiple of 512."""
    N = X.shape[1]
    if N % CHUNK:
        raise ValueError(f"layer_norm needs N to be a multiple of {CHUNK}, not {N}")

    sums = smem.alloc(f32, (WARPS, 1))
    squares = smem.alloc(f32, (WARPS, 1))  # of its own, so that no barrier is needed between the two reductions
    px, pw, pb, py = ptx.global_ptrs(X, W, Bias, Y)
    tid = reg.from_(ptx.special.tid.x(), u32)
    row = reg.from_(ptx.special.ctaid.x(), u32)
    px += row * (N * 4)
    py += row * (N * 4)

    x = reg.array(f32, N // THREADS)
    partial = reg.scalar(f32, init=0.0)
    for j in range(N // CHUNK):
        quad = x[j * VECTOR : (j + 1) * VECTOR]
        ptx.inst.ld.global_.v4.f32(quad, ptx.addr(px + ((tid << 4) + j * (CHUNK * 4))))
        for value in quad:
            ptx.inst.add.f32(partial, partial, value)
    mean = block_sum(partial, sums, tid)
    ptx.inst.mul.f32(mean, mean, 1.0 / N)

    deviation = reg.scalar(f32, init=0.0)
    for value in x:
        ptx.inst.sub.f32(value, value, mean)
        ptx.inst.fma.rn.f32(deviation, value, value, deviation)
    rstd = block_sum(deviation, squares, tid)
    ptx.inst.fma.rn.f32(rstd, rstd, 1.0 / N, eps)
    ptx.inst.rsqrt.approx.f32(rstd, rstd)

    w = reg.array(f32, VECTOR)
    b = reg.array(f32, VECTOR)
    for j in range(N // CHUNK):
        quad = x[j * VECTOR : (j + 1) * VECTOR]
        offset = (tid << 4) + j * (CHUNK * 4)
        ptx.inst.ld.global_.v4.f32(w, ptx.addr(pw + offset))
        ptx.inst.ld.global_.v4.f32(b, ptx.addr(pb + offset))
        for value, weight, bias in zip(quad, w, b, strict=True):
            ptx.inst.mul.f32(value, value, rstd)
            ptx.inst.fma.rn.f32(value, value, weight, bias)
        ptx.inst.st.global_.v4.f32(ptx.addr(py + offset), quad)
    ptx.ret()


def reference(x: np.ndarray, w: np.ndarray, bias: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    """Compute the same in float64."""
    x64 = x.astype(np.float64)
    centred = x64 - x64.mean(axis=1, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + eps) * w + bias


def main() -> None:
    """Run on the simulator and print the largest error against float64."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((256, 4096), dtype=np.float32) + 3
    w = rng.standard_normal(4096, dtype=np.float32)
    bias = rng.standard_normal(4096, dtype=np.float32)
    expected = reference(x, w, bias)
    error = np.abs(layer_norm(x, w, bias) - expected).max() / np.abs(expected).max()
    print(f"layer_norm 256x4096: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
