"""Matrix transpose through shared memory, with both global accesses coalesced and no bank conflicts.

A thread block (CTA) of 32x8 threads moves a 32x32 tile: it reads rows, and writes the tile's columns as rows. Shared
memory has 32 banks of four bytes; rows of the tile are 33 words apart, so a column touches every bank once.

    python examples/ampere/transpose.py
"""

from __future__ import annotations

import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

TILE = 32
ROWS = 8  # rows of threads per CTA; each thread moves TILE / ROWS elements
PITCH = TILE + 1  # row pitch of the tile in shared memory, in 32-bit words: one more than TILE avoids bank conflicts


@kernel(
    in_specs=(Tile("M", "N", f32),),
    out_specs=(Tile("N", "M", f32),),
    grid=lambda M, N: (N // TILE, M // TILE, 1),
    block=(TILE, ROWS, 1),
    arch="sm_80",
)
def transpose(X, Y):
    """Write the transpose of `X` to `Y`; the numbers of rows and columns must be multiples of 32."""
    M, N = X.shape
    if M % TILE or N % TILE:
        raise ValueError(f"transpose needs multiples of {TILE}, not {M}x{N}")

    tile = smem.alloc(f32, (TILE, PITCH))
    px, py = ptx.global_ptrs(X, Y)
    tx = reg.from_(ptx.special.tid.x(), u32)
    ty = reg.from_(ptx.special.tid.y(), u32)
    column = reg.from_(ptx.special.ctaid.x(), u32) << 5
    row = reg.from_(ptx.special.ctaid.y(), u32) << 5

    value = reg.scalar(f32)
    source = px + (row + ty) * (N * 4) + (column + tx) * 4
    for i in range(0, TILE, ROWS):
        ptx.inst.ld.global_.f32(value, ptx.addr(source, i * N * 4))
        tile[ty + i, tx] = value
    ptx.bar.sync(0)

    target = py + (column + ty) * (M * 4) + (row + tx) * 4
    for i in range(0, TILE, ROWS):
        ptx.inst.st.global_.f32(ptx.addr(target, i * M * 4), tile[tx, ty + i])
    ptx.ret()


def reference(x: np.ndarray) -> np.ndarray:
    """Return the transpose of `x`, computed by NumPy."""
    return x.T


def main() -> None:
    """Run the kernel on the simulator; print the number of elements that differ from NumPy's transpose."""
    x = np.random.default_rng(0).standard_normal((256, 512), dtype=np.float32)
    wrong = np.count_nonzero(transpose(x) != reference(x))
    print(f"transpose 256x512: {wrong} elements differ")


if __name__ == "__main__":
    main()
