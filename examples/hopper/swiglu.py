"""SwiGLU: `Y = G * sigmoid(G) * U`, elementwise over two matrices.

A grid of one block per 2048 elements of a row: sixteen per thread in four 16-byte loads of each input, all of them
issued before the first is used, so that the memory system has eight loads per thread to overlap.

    python examples/hopper/swiglu.py
"""

from __future__ import annotations

import math

import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32

THREADS = 128
VECTOR = 4  # floats per load: 16 bytes, the widest ordinary access
STEPS = 4  # loads in flight per input
CHUNK = THREADS * VECTOR * STEPS
LOG2_E = math.log2(math.e)


@kernel(
    in_specs=(Tile("M", "F", f32), Tile("M", "F", f32)),
    out_specs=(Tile("M", "F", f32),),
    grid=lambda M, F: (F // CHUNK, M, 1),
    block=(THREADS, 1, 1),
    arch="sm_90a",
)
def swiglu(Gate, Up, Y):
    """Multiply `Up` by the SiLU of `Gate`; F must be a multiple of 2048."""
    F = Gate.shape[1]
    if F % CHUNK:
        raise ValueError(f"swiglu needs F to be a multiple of {CHUNK}, not {F}")

    pg, pu, py = ptx.global_ptrs(Gate, Up, Y)
    tid = reg.from_(ptx.special.tid.x(), u32)
    row = reg.from_(ptx.special.ctaid.y(), u32)
    chunk = reg.from_(ptx.special.ctaid.x(), u32)
    start = row * (F * 4)  # in bytes, here and below
    chunk_start = chunk * (CHUNK * 4)
    thread_start = tid << 4
    pg, pu, py = (pointer + start + chunk_start + thread_start for pointer in (pg, pu, py))

    gate = reg.array(f32, VECTOR * STEPS)
    up = reg.array(f32, VECTOR * STEPS)
    for source, values in ((pg, gate), (pu, up)):
        for j in range(STEPS):
            quad = values[j * VECTOR : (j + 1) * VECTOR]
            ptx.inst.ld.global_.v4.f32(quad, ptx.addr(source, j * (THREADS * VECTOR * 4)))

    sigmoid = reg.scalar(f32)
    for g, u in zip(gate, up, strict=True):
        ptx.inst.mul.f32(sigmoid, g, -LOG2_E)
        ptx.inst.ex2.approx.f32(sigmoid, sigmoid)
        ptx.inst.add.f32(sigmoid, sigmoid, 1.0)
        ptx.inst.rcp.approx.f32(sigmoid, sigmoid)
        ptx.inst.mul.f32(g, g, sigmoid)
        ptx.inst.mul.f32(g, g, u)

    for j in range(STEPS):
        quad = gate[j * VECTOR : (j + 1) * VECTOR]
        ptx.inst.st.global_.v4.f32(ptx.addr(py, j * (THREADS * VECTOR * 4)), quad)
    ptx.ret()


def reference(gate: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Compute the same in float64."""
    g = gate.astype(np.float64)
    return g / (1 + np.exp(-g)) * up


def main() -> None:
    """Run on the simulator and print the largest error against float64."""
    rng = np.random.default_rng(0)
    gate = rng.standard_normal((256, 4096), dtype=np.float32)
    up = rng.standard_normal((256, 4096), dtype=np.float32)
    expected = reference(gate, up)
    error = np.abs(swiglu(gate, up) - expected).max() / np.abs(expected).max()
    print(f"swiglu 256x4096: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
