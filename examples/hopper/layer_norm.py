"""Layer norm: `Y[b, i] = (X[b, i] - mean) / sqrt(variance + eps) * W[i] + Bias[i]`, for any rows, in f32 and bf16.

The variance is computed from the deviations in a second pass over the row, not as a difference of two large sums: it
loses no precision if the mean is far from zero. Memory is read once: `examples/rows` shows where a row is kept.

`layer_norm` has a thread block (CTA) of 128 threads per row. `layer_norm_for(N, dtype)` has a kernel for rows of that
length: several short rows share a CTA, a long row has a cluster.

    python examples/hopper/layer_norm.py
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import ml_dtypes
import numpy as np

from pyptx import Kernel, Tile, kernel, ptx
from pyptx.types import PtxType, bf16, f32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.rows.numbers import add, fma, spread, total_of, zero
from examples.rows.plans import Plan
from examples.rows.row import Row
from examples.rows.vectors import BYTES

# By default ptxas loads weights early, into 122 registers, and 4 CTAs fit an SM; 5 CTAs have more rows in flight.
BOUNDS = (("maxntid", (128, 1, 1)), ("minnctapersm", (5,)))


def normalize(plan: Plan, X, W, Bias, Y, eps: float) -> None:
    """Emit the layer norm kernel for one `Plan`: row length, and threads that process a row."""
    row, number = Row(plan, X.shape[0], exchanges=2), plan.target.number
    (x,) = row.hold(X)
    w, bias, y = row.columns(W), row.columns(Bias), row.pointer(Y)

    sums = zero(number)
    for _, values in row.each(x):
        for value in values:
            add(sums, sums, value)
    total = total_of(sums)
    row.sum(total, slot=0)
    ptx.inst.mul.f32(total, total, 1.0 / plan.columns)
    mean = spread(total, number)

    squares = zero(number)
    for place, values in row.each(x):
        for value in values:
            deviation = value - mean
            fma(squares, deviation, deviation, squares, pred=place.inside)
    variance = total_of(squares)
    row.sum(variance, slot=1)
    ptx.inst.fma.rn.f32(variance, variance, 1.0 / plan.columns, eps)
    ptx.inst.rsqrt.approx.f32(variance, variance)
    rstd = spread(variance, number)

    for place, values, weights, biases in row.each(x, w, bias):
        results = [(value - mean) * rstd for value in values]
        for result, weight, shift in zip(results, weights, biases, strict=True):
            fma(result, result, weight, shift)
        row.store(y, place, results)
    ptx.ret()


@kernel(
    in_specs=(Tile("B", "N", f32, align=BYTES), *[Tile("N", f32, align=BYTES)] * 2),
    out_specs=(Tile("B", "N", f32, align=BYTES),),
    grid=lambda B, N: B,
    block=128,
    arch="sm_90a",
    raw_directives=BOUNDS,
)
def layer_norm(X, W, Bias, Y, *, eps: float = 1e-5):
    """Normalize each row of `X` to mean 0 and variance 1, scale and shift; N is a multiple of 4, up to 57,344."""
    normalize(Plan.block(X.shape[1]), X, W, Bias, Y, eps)


@functools.cache
def layer_norm_for(N: int, dtype: PtxType = f32, plan: Plan | None = None) -> Kernel[tuple[Tile]]:
    """Return the kernel `layer_norm(X, W, Bias, *, eps=1e-5)` for rows of N elements, by the `Plan` for that length.

    N is a multiple of 4 (f32) or 8 (bf16), and a row has at most 1.75 MiB. Sums are in f32: squares must not overflow.
    """
    chosen = plan or Plan.of(N, dtype)
    row, vector = (Tile(*shape, dtype, align=chosen.vector.bytes) for shape in (("B", N), (N,)))

    @kernel(in_specs=(row, vector, vector), out_specs=(row,), **chosen.launch)
    def layer_norm(X, W, Bias, Y, *, eps: float = 1e-5) -> None:
        normalize(chosen, X, W, Bias, Y, eps)

    return layer_norm


def reference(x: np.ndarray, w: np.ndarray, bias: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    """Return Y, computed by NumPy in float64."""
    x64, w64, bias64 = (array.astype(np.float64) for array in (x, w, bias))
    centred = x64 - x64.mean(axis=1, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + eps) * w64 + bias64


def report(layer_norm, layer_norm_for) -> None:
    """Run both kernels on the simulator and print their largest errors against a float64 reference."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((256, 4096), dtype=np.float32) + 3
    w = rng.standard_normal(4096, dtype=np.float32)
    bias = rng.standard_normal(4096, dtype=np.float32)
    expected = reference(x, w, bias)
    error = np.abs(layer_norm(x, w, bias) - expected).max() / np.abs(expected).max()
    print(f"layer_norm 256x4096: largest relative error {error:.2e}")

    shapes = (4, 131_072), 131_072, 131_072
    x, w, bias = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in shapes)
    expected = reference(x, w, bias)
    result = layer_norm_for(131_072, bf16)(x, w, bias).astype(np.float64)
    print(f"bf16, a cluster to each of 4x131072: {np.abs(result - expected).max() / np.abs(expected).max():.2e}")


def main() -> None:
    """Run the kernels on the simulator and print their largest errors against a float64 reference."""
    report(layer_norm, layer_norm_for)


if __name__ == "__main__":
    main()
