"""Softmax over rows: `Y[b, i] = exp(X[b, i] - max) / sum(exp(X[b, :] - max))`, for any rows, in f32 and bf16.

Each thread computes the maximum of its elements, and the sum of exponentials relative to that. Two such pairs combine
to one: the sum whose maximum is smaller is scaled down. So lanes, warps and CTAs (thread blocks) exchange values once,
not first for the maximum and again for the sum. Memory is read once: `examples/rows` shows where a row is kept.

So an element takes one EX2: its exponential replaces it in registers, and a thread scales its own to the row's maximum
and sum by one factor. Rows in shared memory take two, since writing exponentials back would cost more. EX2 flushes
subnormal numbers (`.ftz`), which saves a comparison and two multiplications.

The maximum is subtracted before the multiplication by log2(e), not by one `fma` with it: for large numbers, the
rounding error of the product would be an error of the exponents. Rows may have -inf, as masks do; a row of nothing else
gives NaN.

`softmax` has a CTA of 128 threads per row. `softmax_for(N, dtype)` has a kernel for rows of that length: several short
rows share a CTA, a long row has a cluster.

    python examples/hopper/softmax.py
"""

from __future__ import annotations

import functools
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from pyptx import Kernel, Tile, kernel, ptx, reg
from pyptx.types import PtxType, bf16, f32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.rows.numbers import add, by_halves, constant, raise_to, spread, total_of, zero
from examples.rows.plans import Plan
from examples.rows.row import Row
from examples.rows.vectors import BYTES

if TYPE_CHECKING:
    from pyptx.reg import Reg

LOG2_E = math.log2(math.e)
LOWEST = float(np.finfo(np.float32).min)  # initial row maximum; with -inf, -inf minus -inf would be NaN


def exponential(value: Reg, peak: Reg) -> Reg:
    """Return `exp(value - peak)`: a subtraction, a multiplication, and EX2 for each half of an f32x2."""
    power = (value - peak) * constant(value.dtype, LOG2_E)
    return by_halves(ptx.inst.ex2.approx.ftz.f32, power)


def normalize(plan: Plan, X, Y) -> None:
    """Emit the softmax kernel for one `Plan`: row length, and threads that process a row."""
    row, number = Row(plan, X.shape[0]), plan.target.number
    (x,) = row.hold(X, fill=-math.inf)
    y = row.pointer(Y)

    peak = reg.scalar(f32, init=LOWEST)
    for _, values in row.each(x):
        for value in values:
            raise_to(peak, value)
    own = reg.from_(peak, f32)
    powers = row.mapped(x, functools.partial(exponential, peak=spread(own, number)))
    sums = zero(number)
    for _, values in row.each(powers):
        for value in values:
            add(sums, sums, value)
    total = total_of(sums)
    combine(row, peak, total)

    ptx.inst.rcp.approx.ftz.f32(total, total)
    scale = spread(exponential(own, peak) * total, number)
    for place, values in row.each(powers):
        row.store(y, place, [value * scale for value in values])
    ptx.ret()


def combine(row: Row, peak: Reg, total: Reg) -> None:
    """Replace each thread's maximum `peak` and sum `total` by those of the row."""

    def merge(width: int) -> None:
        """Combine the maxima and sums over each group of `width` lanes."""
        top = reg.from_(peak, f32)
        ptx.warp.reduce_max(top, width=width)
        ptx.inst.mul.f32(total, total, exponential(peak, top))
        ptx.warp.reduce_sum(total, width=width)
        ptx.mov(f32, peak, top)

    row.reduce([peak, total], merge)


@kernel(
    in_specs=(Tile("B", "N", f32, align=BYTES),),
    out_specs=(Tile("B", "N", f32, align=BYTES),),
    grid=lambda B, N: B,
    block=128,
    arch="sm_90a",
)
def softmax(X, Y):
    """Compute the softmax of each row of `X`; N is a multiple of 4, up to 57,344."""
    normalize(Plan.block(X.shape[1]), X, Y)


@functools.cache
def softmax_for(N: int, dtype: PtxType = f32, plan: Plan | None = None) -> Kernel[tuple[Tile]]:
    """Return the kernel `softmax(X)` for rows of N elements, by default with the `Plan` for that length.

    N is a multiple of 4 (f32) or 8 (bf16), and a row has at most 1.75 MiB.
    """
    chosen = plan or Plan.of(N, dtype)
    row = Tile("B", N, dtype, align=chosen.vector.bytes)

    @kernel(in_specs=(row,), out_specs=(row,), **chosen.launch)
    def softmax(X, Y) -> None:
        normalize(chosen, X, Y)

    return softmax


def reference(x: np.ndarray) -> np.ndarray:
    """Return Y, computed by NumPy in float64."""
    x64 = x.astype(np.float64)
    e = np.exp(x64 - x64.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def report(softmax, softmax_for) -> None:
    """Run both kernels on the simulator and print their largest errors against a float64 reference."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((256, 4096), dtype=np.float32) * 4
    expected = reference(x)
    error = (np.abs(softmax(x) - expected) / expected).max()
    print(f"softmax 256x4096: largest relative error {error:.2e}")

    x = (rng.standard_normal((4, 131_072)) * 4).astype(ml_dtypes.bfloat16)
    expected = reference(x)
    error = (np.abs(softmax_for(131_072, bf16)(x).astype(np.float64) - expected) / expected).max()
    print(f"bf16, a cluster to each of 4x131072: {error:.2e}")


def main() -> None:
    """Run the kernels on the simulator and print their largest errors against a float64 reference."""
    report(softmax, softmax_for)


if __name__ == "__main__":
    main()
