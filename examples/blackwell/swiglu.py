"""SwiGLU on Blackwell: `Y = G * sigmoid(G) * U`, elementwise over two matrices, in f32 (`swiglu`) and bf16.

The kernel is `examples/hopper/swiglu.py` for another target. A thread loads 64 bytes of each matrix in two accesses
(`ld.global.v8.f32`, LDG.256 in SASS), and adds and multiplies two elements per instruction (`mul.rn.f32x2`, FMUL2). EX2
and RCP still compute one element. Matrices that are not multiples of 32 bytes use 16-byte accesses.

    python examples/blackwell/swiglu.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx.types import PtxType, bf16, f32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.hopper import swiglu as hopper
from examples.rows.plans import BLACKWELL, Target

if TYPE_CHECKING:
    from pyptx import Kernel, Tile

reference = hopper.reference


def swiglu_for(dtype: PtxType, target: Target = BLACKWELL) -> Kernel[tuple[Tile]]:
    """Return the kernel `swiglu(Gate, Up)`; M * F must be a multiple of 4 (f32) or 8 (bf16)."""
    return hopper.swiglu_for(dtype, target)


swiglu, swiglu_bf16 = swiglu_for(f32), swiglu_for(bf16)


def main() -> None:
    """Run the kernels on the simulator and print their largest errors against a float64 reference."""
    hopper.report(swiglu_for)


if __name__ == "__main__":
    main()
