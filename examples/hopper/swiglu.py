"""SwiGLU: `Y = G * sigmoid(G) * U`, elementwise over two matrices, in f32 (`swiglu`) and bf16 (`swiglu_bf16`).

Rows mean nothing here: the matrices are arrays of 16-byte vectors, four of each to a thread, 512 to a block. A thread
starts its eight loads, 128 bytes, before it needs the first (of bf16, five of them): with 1024 threads on an SM that is
five times what keeps the memory busy (`rows.py` has the reasoning). Left alone, ptxas would aim at 32 registers, for
2048 threads, and put the last loads behind the first products; `minnctapersm` tells it that eight blocks, with 64
registers, will do.

    python examples/hopper/swiglu.py
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import PtxType, bf16, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where this file is run by itself

from examples.hopper.vectors import BYTES, load, store

THREADS = 128
STEPS = 4  # loads in flight per input
CHUNK = THREADS * STEPS  # vectors of a block
LOG2_E = math.log2(math.e)
BOUNDS = (("maxntid", (THREADS, 1, 1)), ("minnctapersm", (8,)))


def blocks(elements: int, dtype: PtxType) -> int:
    """Return how many blocks that many elements take."""
    return -(-elements * dtype.bytes // (BYTES * CHUNK))


def silu(value):
    """Return `value / (1 + exp(-value))`, by five instructions."""
    sigmoid = value * -LOG2_E
    ptx.inst.ex2.approx.f32(sigmoid, sigmoid)
    ptx.inst.add.f32(sigmoid, sigmoid, 1.0)
    ptx.inst.rcp.approx.f32(sigmoid, sigmoid)
    return value * sigmoid


def multiply(dtype: PtxType, Gate, Up, Y) -> None:
    """Emit the kernel for one element type."""
    elements = math.prod(Gate.shape)
    vectors, rest = divmod(elements * dtype.bytes, BYTES)
    if rest:
        raise ValueError(f"swiglu of {elements} {dtype}: a multiple of {BYTES // dtype.bytes} is needed")

    first = reg.from_(ptx.special.ctaid.x(), u32) * CHUNK + reg.from_(ptx.special.tid.x(), u32)
    gate, up, y = (pointer + first * BYTES for pointer in ptx.global_ptrs(Gate, Up, Y))
    steps = range(0, CHUNK, THREADS)
    inside = [first + step < vectors if vectors % CHUNK else None for step in steps]
    gates, ups = (
        [load(dtype, ptx.addr(pointer, step * BYTES), inside=fits) for step, fits in zip(steps, inside, strict=True)]
        for pointer in (gate, up)
    )
    for step, fits, g, u in zip(steps, inside, gates, ups, strict=True):
        products = [silu(one) * other for one, other in zip(g, u, strict=True)]
        store(dtype, ptx.addr(y, step * BYTES), products, inside=fits)
    ptx.ret()


@kernel(
    in_specs=(Tile("M", "F", f32, align=BYTES), Tile("M", "F", f32, align=BYTES)),
    out_specs=(Tile("M", "F", f32, align=BYTES),),
    grid=lambda M, F: blocks(M * F, f32),
    block=THREADS,
    arch="sm_90a",
    raw_directives=BOUNDS,
)
def swiglu(Gate, Up, Y):
    """Multiply `Up` by the SiLU of `Gate`; M * F must be a multiple of 4."""
    multiply(f32, Gate, Up, Y)


@kernel(
    in_specs=(Tile("M", "F", bf16, align=BYTES), Tile("M", "F", bf16, align=BYTES)),
    out_specs=(Tile("M", "F", bf16, align=BYTES),),
    grid=lambda M, F: blocks(M * F, bf16),
    block=THREADS,
    arch="sm_90a",
    raw_directives=BOUNDS,
)
def swiglu_bf16(Gate, Up, Y):
    """Multiply `Up` by the SiLU of `Gate`; M * F must be a multiple of 8."""
    multiply(bf16, Gate, Up, Y)


def reference(gate: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Compute the same in float64."""
    g = gate.astype(np.float64)
    return g / 2 * (1 + np.tanh(g / 2)) * up.astype(np.float64)  # exp(-g) would overflow below -709


def main() -> None:
    """Run on the simulator and print the largest errors against float64."""
    rng = np.random.default_rng(0)
    for function, dtype in ((swiglu, np.float32), (swiglu_bf16, ml_dtypes.bfloat16)):
        gate, up = (rng.standard_normal((256, 4096), dtype=np.float32).astype(dtype) for _ in range(2))
        expected = reference(gate, up)
        error = np.abs(function(gate, up).astype(np.float64) - expected).max() / np.abs(expected).max()
        print(f"{function.name} 256x4096: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
