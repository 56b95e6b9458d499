"""The gradients of RMS norm, and RMS norm as a function that torch and jax differentiate.

With `r = 1 / sqrt(mean(x**2) + eps)` and `g = dy * w`, for each row: `dx = r * g - x * r**3 * mean(g * x)`. The
gradient of the weights is a sum over all rows, `dw = sum(dy * x * r)`.

So the CTAs (thread blocks) are persistent: each takes every P-th row and keeps its share of `dw` in registers, 16
values per thread. Bulk copies load rows into a ring of two stages in shared memory: while one row is processed, the
next is in flight, which also hides the synchronization of warps and CTAs. A row is read from shared memory once, into
registers. When the warps have synchronized to reduce it, all have read it, and its stage is refilled. At the end each
CTA writes its share of `dw`, and a second kernel adds the P shares in the order of the CTAs. So results have the same
bits in every run, which atomics would not ensure.

Memory traffic is X, DY and DX, and 8 bytes for each of the P * N elements of the shares; P is one to four per SM.

    python examples/hopper/rms_norm_backward.py
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pyptx import Kernel, Tile, differentiable_kernel, kernel, ptx, reg, smem
from pyptx.types import PtxType, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.hopper.rms_norm import rms_norm_for
from examples.rows.plans import AVAILABLE, CLUSTERS, FEWEST, MOST, Plan, power_of_two
from examples.rows.ring import STAGES, Ring
from examples.rows.row import Row
from examples.rows.vectors import BYTES, Vector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx.kernel import DifferentiableKernel
    from pyptx.reg import Reg

OWNED = 16  # columns per thread; their x, dy, w and dw are in registers
SMS = 132  # SMs of an H100 or H200
WARPS = 32  # warps per CTA of the kernel that adds partial sums of dw
WIDTH = 32 * 4  # columns of dw per CTA of the kernel that adds partial sums


def plan_for(columns: int, dtype: PtxType) -> Plan:
    """Choose a `Plan` (distribution over threads) for a row length; raise ValueError above 65,536 elements."""
    for cluster in (1, *CLUSTERS):
        if columns <= cluster * OWNED * MOST:
            return Plan(columns, dtype, power_of_two(columns / cluster / OWNED, FEWEST, MOST), cluster=cluster)
    raise ValueError(f"the gradients of rows of {columns} elements do not fit the registers of {CLUSTERS[-1]} blocks")


def workers(plan: Plan) -> int:
    """Return the number of rows that an H100 processes at a time; shared memory and 512 threads per SM limit it."""
    ring = STAGES * 2 * plan.slice * BYTES
    return SMS * min(MOST // plan.lanes, AVAILABLE // ring) // plan.cluster


def differentiate(plan: Plan, X, W, DY, DX, Shares, eps: float) -> None:
    """Emit the gradient kernel for one `Plan`: row length, and threads that process a row."""
    count, stride = X.shape[0], Shares.shape[0]
    row = Row(plan, count, exchanges=STAGES)
    places = list(row.places())
    ring = Ring(row, count, stride, X, DY)
    w, dx = row.columns(W), row.pointer(DX)
    weights = [w.at(place) for place in places]
    sums = [[reg.scalar(f32, init=0.0) for _ in range(plan.per_vector)] for _ in places]

    turn = ptx.pipeline(STAGES)
    for _ in ptx.range_(row.number, count, stride):
        stage, phase = turn.advance()
        ptx.mbarrier.wait(ring.full[stage], phase)
        x, dy = (row.read(start) for start in ring.starts(stage))
        squares, products = reg.scalar(f32, init=0.0), reg.scalar(f32, init=0.0)
        for a, g, weight in each(x, dy, weights):
            ptx.inst.fma.rn.f32(squares, a, a, squares)
            ptx.inst.fma.rn.f32(products, a, g * weight, products)
        row.meet()
        row.sum(squares, products, slot=stage, phase=phase)
        row.part()
        if plan.warps == 1:
            ptx.bar.warp.sync()  # all lanes have read the stage; with several warps, `sum` synchronizes them
        ring.fetch(stage)

        rstd = reg.scalar(f32)
        ptx.inst.fma.rn.f32(rstd, squares, 1.0 / plan.columns, eps)
        ptx.inst.rsqrt.approx.f32(rstd, rstd)
        pull = rstd * rstd * rstd * products * (-1.0 / plan.columns)
        for place, xs, dys, ws in zip(places, x, dy, weights, strict=True):
            results = [g * weight * rstd for g, weight in zip(dys, ws, strict=True)]
            for result, a in zip(results, xs, strict=True):
                ptx.inst.fma.rn.f32(result, a, pull, result)
            row.store(dx, place, results)
        for a, g, total in each(x, dy, sums):
            ptx.inst.fma.rn.f32(total, g, a * rstd, total)
        dx += stride * plan.columns * plan.dtype.bytes
    row.meet()
    hand_in(row, places, sums, Shares)
    ptx.ret()


def each(*parts: Sequence[Sequence[Reg]]) -> Iterator[tuple[Reg, ...]]:
    """Yield tuples of corresponding elements of several arrays, each given as a list of vectors."""
    for group in zip(*parts, strict=True):
        yield from zip(*group, strict=True)


def hand_in(row: Row, places, sums, Shares) -> None:
    """Store this CTA's partial sum of `dw`, in f32."""
    plan = row.plan
    wider = f32.bytes // plan.dtype.bytes
    (pointer,) = ptx.global_ptrs(Shares)
    pointer += row.number * (plan.columns * f32.bytes) + row.lane * (BYTES * wider)
    if plan.cluster > 1:
        pointer += row.rank * (plan.slice * BYTES * wider)
    for place, values in zip(places, sums, strict=True):
        for first in range(0, plan.per_vector, 4):
            address = ptx.addr(pointer, place.offset * wider + first * f32.bytes)
            ptx.st(f32, address, values[first : first + 4], pred=place.inside)


@functools.cache
def rms_norm_gradients_for(N: int, dtype: PtxType = f32, plan: Plan | None = None) -> Kernel[tuple[Tile, Tile]]:
    """Return the kernel `rms_norm_gradients(X, W, DY, *, P, eps=1e-6)` for rows of N elements: DX, P partial DW sums.

    N is a multiple of 4 (f32) or 8 (bf16), up to 65,536. P rows are processed at a time, by one CTA or cluster each.
    """
    chosen = plan or plan_for(N, dtype)
    row, vector = Tile("B", N, dtype, align=BYTES), Tile(N, dtype, align=BYTES)

    @kernel(
        in_specs=(row, vector, row),
        out_specs=(row, Tile("P", N, f32, align=BYTES)),
        grid=lambda P: P * chosen.cluster,
        block=chosen.lanes,
        cluster=chosen.cluster,
        raw_directives=chosen.directives,
        arch="sm_90a",
    )
    def rms_norm_gradients(X, W, DY, DX, Shares, *, eps: float = 1e-6) -> None:
        differentiate(chosen, X, W, DY, DX, Shares, eps)

    return rms_norm_gradients


def add_up(dtype: PtxType, Shares, Y) -> None:
    """Emit the kernel that sums an f32 matrix over its rows, for one output type."""
    rows, columns = Shares.shape
    four = Vector(f32)
    shares, y = ptx.global_ptrs(Shares, Y)
    tid = reg.from_(ptx.special.tid.x(), u32)
    warp, lane = tid >> 5, tid & 31
    column = reg.from_(ptx.special.ctaid.x(), u32) * WIDTH + lane * 4
    inside = column < columns

    sums = [reg.scalar(f32, init=0.0) for _ in range(4)]
    parts = smem.alloc(f32, (WARPS, WIDTH))
    with ptx.if_(inside):
        for index in ptx.range_(warp, rows, WARPS):
            add(sums, four.load(ptx.addr(shares + index * (columns * 4) + column * 4), nc=True))
    four.store(parts.address(warp, lane * 4), sums, space="shared")
    ptx.bar.sync(0)
    with ptx.if_((warp == 0) & inside):
        for index in range(1, WARPS):
            add(sums, four.load(parts.address(index, lane * 4), space="shared"))
        Vector(dtype).store(ptx.addr(y + column * dtype.bytes), sums)
    ptx.ret()


def add(totals: Sequence[Reg], values: Sequence[Reg]) -> None:
    """Emit `totals[i] += values[i]` for each f32 register."""
    for total, value in zip(totals, values, strict=True):
        ptx.inst.add.f32(total, total, value)


@functools.cache
def column_sums_for(dtype: PtxType = f32) -> Kernel[tuple[Tile]]:
    """Return the kernel `column_sums(Shares)`, which sums an f32 matrix over its rows, to another type.

    Each of 32 warps sums every 32nd row of 128 columns, and warp 0 adds the partial sums. N is a multiple of 4.
    """

    @kernel(
        in_specs=(Tile("P", "N", f32, align=BYTES),),
        out_specs=(Tile("N", dtype, align=BYTES),),
        grid=lambda N: -(-N // WIDTH),
        block=WARPS * 32,
        arch="sm_90a",
    )
    def column_sums(Shares, Y) -> None:
        add_up(dtype, Shares, Y)

    return column_sums


@dataclass(frozen=True, slots=True)
class Gradients:
    """Gradient function of RMS norm: two kernels; the first processes P = `most` rows at a time, or all if fewer."""

    rows: Kernel[tuple[Tile, Tile]]
    columns: Kernel[tuple[Tile]]
    most: int

    def __call__(self, x, w, dy, *, eps: float = 1e-6) -> tuple[object, object]:
        """Return the gradients of x and w, which are arrays of any framework."""
        dx, shares = self.rows(x, w, dy, P=min(x.shape[0], self.most), eps=eps)
        return dx, self.columns(shares)


@functools.cache
def gradients_for(N: int, dtype: PtxType = f32, most: int | None = None) -> Gradients:
    """Return the gradient function for rows of N elements; `most` is the largest P, by default that for an H100."""
    limit = most or workers(plan_for(N, dtype))
    return Gradients(rms_norm_gradients_for(N, dtype), column_sums_for(dtype), limit)


@functools.cache
def differentiable_rms_norm_for(
    N: int, dtype: PtxType = f32, most: int | None = None
) -> DifferentiableKernel[tuple[Tile]]:
    """Return `rms_norm(x, w, *, eps=1e-6)`, differentiable, for rows of N elements; `most` limits concurrent rows."""
    return differentiable_kernel(rms_norm_for(N, dtype), gradients_for(N, dtype, most))


def reference(x: np.ndarray, w: np.ndarray, dy: np.ndarray, eps: float = 1e-6) -> tuple[np.ndarray, np.ndarray]:
    """Compute the gradients of x and w by NumPy in float64."""
    x64, w64, dy64 = (array.astype(np.float64) for array in (x, w, dy))
    rstd = 1 / np.sqrt(np.mean(x64 * x64, axis=1, keepdims=True) + eps)
    pull = rstd**3 * np.mean(dy64 * w64 * x64, axis=1, keepdims=True)
    return dy64 * w64 * rstd - x64 * pull, (dy64 * x64 * rstd).sum(axis=0)


def main() -> None:
    """Run the kernels on the simulator and print their largest errors against a float64 reference."""
    rng = np.random.default_rng(0)
    x, dy = (rng.standard_normal((64, 4096), dtype=np.float32) for _ in range(2))
    w = rng.standard_normal(4096, dtype=np.float32)
    dx, shares = rms_norm_gradients_for(4096)(x, w, dy, P=8)
    for name, result, expected in zip(("dx", "dw"), (dx, column_sums_for()(shares)), reference(x, w, dy), strict=True):
        print(f"rms_norm 64x4096, {name}: {np.abs(result - expected).max() / np.abs(expected).max():.2e}")


if __name__ == "__main__":
    main()
