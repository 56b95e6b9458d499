"""RMS norm: `Y[b, i] = X[b, i] * W[i] / sqrt(mean(X[b, :]**2) + eps)`, for any rows, in f32 and bf16.

A row is loaded once and stored once: it is summed when it is loaded, and kept on chip until it is scaled.
`examples/rows` shows where it is kept, and how values are reduced over threads, warps and CTAs (thread blocks).

`rms_norm` has a CTA of 128 threads per row. `rms_norm_for(N, dtype)` has a kernel for rows of that length: several
short rows share a CTA, a long row has a cluster.

    python examples/hopper/rms_norm.py
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import ml_dtypes
import numpy as np

from pyptx import Kernel, Tile, kernel, ptx, reg
from pyptx.types import PtxType, bf16, f32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.rows.numbers import fma, spread, total_of, zero
from examples.rows.plans import Plan
from examples.rows.row import Row
from examples.rows.vectors import BYTES


def normalize(plan: Plan, X, W, Y, eps: float) -> None:
    """Emit the RMS norm kernel for one `Plan`: row length, and threads that process a row."""
    row, number = Row(plan, X.shape[0]), plan.target.number
    (x,) = row.hold(X)
    w, y = row.columns(W), row.pointer(Y)

    squares = zero(number)
    for _, values in row.each(x):
        for value in values:
            fma(squares, value, value, squares)
    total = total_of(squares)
    row.sum(total)

    rstd = reg.scalar(f32)  # reciprocal of the row's root mean square
    ptx.inst.fma.rn.f32(rstd, total, 1.0 / plan.columns, eps)
    ptx.inst.rsqrt.approx.f32(rstd, rstd)
    scale = spread(rstd, number)

    for place, values, weights in row.each(x, w):
        row.store(y, place, [value * scale * weight for value, weight in zip(values, weights, strict=True)])
    ptx.ret()


@kernel(
    in_specs=(Tile("B", "N", f32, align=BYTES), Tile("N", f32, align=BYTES)),
    out_specs=(Tile("B", "N", f32, align=BYTES),),
    grid=lambda B, N: B,
    block=128,
    arch="sm_90a",
)
def rms_norm(X, W, Y, *, eps: float = 1e-6):
    """Normalize each row of `X` by its root mean square and scale it by `W`; N is a multiple of 4, up to 57,344."""
    normalize(Plan.block(X.shape[1]), X, W, Y, eps)


@functools.cache
def rms_norm_for(N: int, dtype: PtxType = f32, plan: Plan | None = None) -> Kernel[tuple[Tile]]:
    """Return the kernel `rms_norm(X, W, *, eps=1e-6)` for rows of N elements, by default with the plan for that length.

    N is a multiple of 4 (f32) or 8 (bf16), and a row has at most 1.75 MiB. Sums are in f32: squares must not overflow.
    """
    chosen = plan or Plan.of(N, dtype)
    row, vector = (Tile(*shape, dtype, align=chosen.vector.bytes) for shape in (("B", N), (N,)))

    @kernel(in_specs=(row, vector), out_specs=(row,), **chosen.launch)
    def rms_norm(X, W, Y, *, eps: float = 1e-6) -> None:
        normalize(chosen, X, W, Y, eps)

    return rms_norm


def reference(x: np.ndarray, w: np.ndarray, eps: float = 1e-6) -> np.ndarray:
    """Return Y, computed by NumPy in float64."""
    x64 = x.astype(np.float64)
    return x64 / np.sqrt(np.mean(x64 * x64, axis=1, keepdims=True) + eps) * w.astype(np.float64)


def report(rms_norm, rms_norm_for) -> None:
    """Run both kernels on the simulator and print their largest errors against a float64 reference."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((256, 4096), dtype=np.float32)
    w = rng.standard_normal(4096, dtype=np.float32)
    expected = reference(x, w)
    error = np.abs(rms_norm(x, w) - expected).max() / np.abs(expected).max()
    print(f"rms_norm 256x4096: largest relative error {error:.2e}")

    x = rng.standard_normal((4, 131_072)).astype(ml_dtypes.bfloat16)
    w = rng.standard_normal(131_072).astype(ml_dtypes.bfloat16)
    expected = reference(x, w)
    result = rms_norm_for(131_072, bf16)(x, w).astype(np.float64)
    print(f"bf16, a cluster to each of 4x131072: {np.abs(result - expected).max() / np.abs(expected).max():.2e}")


def main() -> None:
    """Run the kernels on the simulator and print their largest errors against a float64 reference."""
    report(rms_norm, rms_norm_for)


if __name__ == "__main__":
    main()
