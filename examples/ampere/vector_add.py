"""Vector addition, the smallest kernel with a bounds check: `C[i] = A[i] + B[i]` for any length.

python examples/ampere/vector_add.py
"""

from __future__ import annotations

import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32

THREADS = 256


@kernel(
    in_specs=(Tile("N", f32), Tile("N", f32)),
    out_specs=(Tile("N", f32),),
    grid=lambda N: -(-N // THREADS),
    block=(THREADS, 1, 1),
    arch="sm_80",
)
def vector_add(A, B, C):
    """Add `A` and `B`, one element per thread; threads past the end of the arrays return at once."""
    pa, pb, pc = ptx.global_ptrs(A, B, C)
    tid = reg.from_(ptx.special.tid.x(), u32)
    block = reg.from_(ptx.special.ctaid.x(), u32)
    index = reg.scalar(u32)
    ptx.inst.mad.lo.u32(index, block, THREADS, tid)
    ptx.ret(pred=index >= A.shape[0])

    a = reg.scalar(f32)
    b = reg.scalar(f32)
    ptx.inst.ld.global_.f32(a, ptx.addr(pa + index * 4))
    ptx.inst.ld.global_.f32(b, ptx.addr(pb + index * 4))
    ptx.inst.add.f32(a, a, b)
    ptx.inst.st.global_.f32(ptx.addr(pc + index * 4), a)
    ptx.ret()


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return `a + b`, computed by NumPy in float64."""
    return a.astype(np.float64) + b


def main() -> None:
    """Run the kernel on the simulator for a length that is not a multiple of the CTA size; print the largest error."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 100_003), dtype=np.float32)
    error = np.abs(vector_add(a, b) - reference(a, b)).max()
    print(f"vector_add 100003: largest error {error:.2e}")


if __name__ == "__main__":
    main()
