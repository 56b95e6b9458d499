"""SwiGLU: `Y = G * sigmoid(G) * U`, elementwise over two matrices, in f32 (`swiglu`) and bf16 (`swiglu_bf16`).

Rows do not matter here: the matrices are arrays of 16-byte vectors, four of each per thread, 512 per thread block
(CTA). A thread starts its eight loads, 128 bytes, before it uses the first (of bf16, five of them). With 1024 threads
on an SM that is five times the bytes in flight that saturate memory (`examples/rows/plans.py` has the calculation). By
default ptxas aims at 32 registers, for 2048 threads, and puts the last loads after the first multiplications. With
`minnctapersm` it aims at eight CTAs per SM, with 64 registers per thread.

EX2 and RCP flush subnormal numbers. Without `.ftz`, each would cost a comparison and two multiplications or a selection
more. `.ftz` changes results if `exp(-G)` exceeds 2**126: they are 0 instead of less than 1e-36 times U.

    python examples/hopper/swiglu.py
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
from pyptx.types import PtxType, bf16, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.overlap import ATTRIBUTES, take_over
from examples.rows.numbers import by_halves, constant
from examples.rows.plans import HOPPER, Target
from examples.rows.vectors import BYTES, Vector

if TYPE_CHECKING:
    from pyptx.reg import Reg

THREADS = 128
SHARE = 64  # bytes of each matrix that a thread reads or writes
LOG2_E = math.log2(math.e)
BOUNDS = (("maxntid", (THREADS, 1, 1)), ("minnctapersm", (8,)))


def vector_of(elements: int, dtype: PtxType, target: Target) -> Vector:
    """Return the widest `Vector` that divides `elements` elements; raise ValueError if none does."""
    if elements * dtype.bytes % BYTES:
        raise ValueError(f"swiglu of {elements} {dtype}: a multiple of {BYTES // dtype.bytes} is needed")
    return target.vector(dtype, elements * dtype.bytes)


def silu(value: Reg) -> Reg:
    """Return `value / (1 + exp(-value))`: two multiplications, one addition, and EX2 and RCP per half of an f32x2."""
    power = by_halves(ptx.inst.ex2.approx.ftz.f32, value * constant(value.dtype, -LOG2_E))
    return value * by_halves(ptx.inst.rcp.approx.ftz.f32, power + constant(value.dtype, 1.0))


def multiply(vector: Vector, Gate, Up, Y, *, overlaps: bool) -> None:
    """Emit the SwiGLU kernel for one vector width."""
    if overlaps:
        take_over()
    vectors, chunk = math.prod(Gate.shape) // vector.elements, THREADS * SHARE // vector.bytes
    first = reg.from_(ptx.special.ctaid.x(), u32) * chunk + reg.from_(ptx.special.tid.x(), u32)
    gate, up, y = (pointer + first * vector.bytes for pointer in ptx.global_ptrs(Gate, Up, Y))
    steps = range(0, chunk, THREADS)
    inside = [first + step < vectors if vectors % chunk else None for step in steps]
    gates, ups = (
        [vector.load(ptx.addr(pointer, step * vector.bytes), fits) for step, fits in zip(steps, inside, strict=True)]
        for pointer in (gate, up)
    )
    for step, fits, g, u in zip(steps, inside, gates, ups, strict=True):
        products = [silu(one) * other for one, other in zip(g, u, strict=True)]
        vector.store(ptx.addr(y, step * vector.bytes), products, inside=fits)
    ptx.ret()


@functools.cache
def swiglu_for(dtype: PtxType, target: Target = HOPPER, *, overlaps: bool = False) -> Kernel[tuple[Tile]]:
    """Return the kernel `swiglu(Gate, Up)`; M * F must be a multiple of 4 (f32) or 8 (bf16).

    If `overlaps`, it starts before its prerequisite grid completes.
    """
    matrix = Tile("M", "F", dtype, align=target.widest)

    @kernel(
        in_specs=(matrix, matrix),
        out_specs=(matrix,),
        grid=lambda M, F: -(-M * F * dtype.bytes // (THREADS * SHARE)),
        block=THREADS,
        arch=target.arch,
        raw_directives=BOUNDS,
        launch=ATTRIBUTES if overlaps else {},
    )
    def swiglu(Gate, Up, Y) -> None:
        multiply(vector_of(math.prod(Gate.shape), dtype, target), Gate, Up, Y, overlaps=overlaps)

    return swiglu


swiglu, swiglu_bf16 = swiglu_for(f32), swiglu_for(bf16)


def reference(gate: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Return Y, computed by NumPy in float64."""
    g = gate.astype(np.float64)
    return g / 2 * (1 + np.tanh(g / 2)) * up.astype(np.float64)  # sigmoid(g) by tanh: exp(-g) overflows if g < -709


def report(swiglu_for) -> None:
    """Run the kernels on the simulator and print their largest errors against a float64 reference."""
    rng = np.random.default_rng(0)
    for dtype, array in ((f32, np.float32), (bf16, ml_dtypes.bfloat16)):
        gate, up = (rng.standard_normal((256, 4096), dtype=np.float32).astype(array) for _ in range(2))
        expected = reference(gate, up)
        error = np.abs(swiglu_for(dtype)(gate, up).astype(np.float64) - expected).max() / np.abs(expected).max()
        print(f"swiglu {dtype} 256x4096: largest relative error {error:.2e}")


def main() -> None:
    """Run the kernels on the simulator and print their largest errors against a float64 reference."""
    report(swiglu_for)


if __name__ == "__main__":
    main()
