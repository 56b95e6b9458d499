"""Softmax on Blackwell: `Y[b, i] = exp(X[b, i] - max) / sum(exp(X[b, :] - max))`, for any rows, in f32 and bf16.

The kernel is `examples/hopper/softmax.py` for another target. A thread loads or stores 32 bytes at once
(`ld.global.v8.f32`, LDG.256 in SASS), subtracts, multiplies and adds two elements per instruction (`add.rn.f32x2`,
FADD2), and takes the maximum of three operands (`max.f32`). EX2 still computes one element. Rows that are not multiples
of 32 bytes, and rows kept in shared memory, use 16-byte accesses.

    python examples/blackwell/softmax.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx import Tile, kernel
from pyptx.types import PtxType, f32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.hopper import softmax as hopper
from examples.rows.plans import BLACKWELL, Plan

if TYPE_CHECKING:
    from pyptx import Kernel

WIDE = BLACKWELL.widest
reference = hopper.reference


@kernel(
    in_specs=(Tile("B", "N", f32, align=WIDE),),
    out_specs=(Tile("B", "N", f32, align=WIDE),),
    grid=lambda B, N: B,
    block=128,
    arch=BLACKWELL.arch,
)
def softmax(X, Y):
    """Turn each row of `X` into probabilities; N is a multiple of 4, up to 57,344."""
    hopper.normalize(Plan.block(X.shape[1], BLACKWELL), X, Y)


def softmax_for(N: int, dtype: PtxType = f32, plan: Plan | None = None) -> Kernel[tuple[Tile]]:
    """Return the kernel `softmax(X)` for rows of N elements, with the `Plan` for that length.

    The limits are those of the Hopper kernel. Rows that are multiples of 32 bytes must be aligned to 32 bytes; a plan
    whose target has `widest=16` supports smaller alignments.
    """
    return hopper.softmax_for(N, dtype, plan or Plan.of(N, dtype, BLACKWELL))


def main() -> None:
    """Run the kernels on the simulator and print their largest errors against a float64 reference."""
    hopper.report(softmax, softmax_for)


if __name__ == "__main__":
    main()
