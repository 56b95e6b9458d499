"""Two kernels in Triton, compiled here without a GPU. Imported only where Triton is installed."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

# mypy: ignore-errors
# pyright: basic
# The newest PTX version that ptxas of CUDA 13.0 accepts.
_OPTIONS = {"num_warps": 1, "ptx_version": 90}


@triton.jit
def scaled(x, out, n, alpha, size: tl.constexpr):
    at = tl.program_id(0) * size + tl.arange(0, size)
    tl.store(out + at, tl.load(x + at, at < n) * alpha, at < n)


@triton.jit
def copied(x, out, row, size: tl.constexpr):
    tile = x.load([row, 0])
    at = tl.arange(0, size)
    tl.store(out + at[:, None] * size + at[None, :], tile)


def compiled(name: str) -> Any:
    """Compile the kernel `name` for Hopper."""
    signatures = {
        "scaled": {"x": "*fp32", "out": "*fp32", "n": "i32", "alpha": "fp32", "size": "constexpr"},
        "copied": {"x": "tensordesc<fp32[8, 8]>", "out": "*fp32", "row": "i32", "size": "constexpr"},
    }
    signature, size = signatures[name], {"scaled": 32, "copied": 8}[name]
    source = ASTSource(globals()[name], signature, {(len(signature) - 1,): size})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=_OPTIONS)
