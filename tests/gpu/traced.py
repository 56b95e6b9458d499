"""A kernel traced from Python with line information, launched once, for a profiler or a debugger.

    python -m tests.gpu.traced

Runs the kernel and prints its largest error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32
from pyptx_dsl.kernels.images import image_of
from pyptx_ir.plugins.rows import Argument
from pyptx_launch import Module, plan_for

from .driver import device

SIZE = 1024
MARK = "# the line that profilers and debuggers are asked for"
SOURCE = Path(__file__).resolve()


def square() -> Any:
    """Return Y = X * X, one element per thread."""

    @kernel(
        in_specs=(Tile("N", f32),),
        out_specs=(Tile("N", f32),),
        grid=lambda N: N // 128,
        block=128,
        arch=device().target,
        lineinfo=True,
    )
    def traced(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        at = reg.from_(ptx.special.ctaid.x(), u32) * 128 + reg.from_(ptx.special.tid.x(), u32)
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + at * 4))
        ptx.inst.mul.rn.f32(value, value, value)  # the line that profilers and debuggers are asked for
        ptx.inst.st.global_.f32(ptx.addr(py + at * 4), value)
        ptx.ret()

    return traced


def marked() -> int:
    """Return the number of this file's source line that ends with the comment `MARK`."""
    rows = SOURCE.read_text(encoding="utf-8").splitlines()
    return next(number for number, row in enumerate(rows, 1) if row.endswith(MARK) and "mul" in row)


def main() -> None:
    """Launch the kernel and print the largest error of its result, which is 0."""
    gpu, x = device(), np.random.default_rng(0).standard_normal(SIZE, np.float32)
    special = square().specialize([Argument((SIZE,), "f32", (1,), 0, "cuda:0")], {})
    px, py = gpu.upload(x), gpu.upload(np.zeros_like(x))
    plan_for(special, Module(image_of(special, gpu.target))).launch((px, py), 0, 0)
    gpu.synchronize()
    print("off by", float(np.abs(gpu.download(py, x) - x * x).max()))  # noqa: T201 - the program's output


if __name__ == "__main__":
    main()
