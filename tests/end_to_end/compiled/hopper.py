"""GEMM with tensor maps and wgmma, as nvcc and NVRTC compile it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from pyptx_ir.plugins.rows import TensorMap
from pyptx_sim import WithDescriptor

from .problem import F8, Array, Problem, Row, draws

BF16 = ml_dtypes.bfloat16
# Shared memory, in bytes: 3 pipeline stages of A and B, a tile of C, and 2 mbarriers per stage.
SHARED_BYTES = 3 * (128 + 256) * 64 * 2 + 128 * 256 * 2 + 2 * 3 * 8


def _map(array: Array, box: tuple[int, int]) -> WithDescriptor:
    return WithDescriptor(array, TensorMap("bf16", array.shape, array.strides, box, (1, 1), swizzle="128B"))


def _factor(random: np.random.Generator, rows: int, columns: int) -> Any:
    return random.integers(-4, 5, (rows, columns)).astype(BF16)


def gemm() -> Problem:
    """`gemm<3>`: C = A B^T of small whole numbers; two CTAs compute four tiles, each in five steps over K."""
    random = draws(60)
    a, b = _factor(random, 136, 264), _factor(random, 264, 264)
    c = np.zeros((136, 264), np.uint16)
    args = (_map(a.view(np.uint16), (128, 64)), _map(b.view(np.uint16), (256, 64)), _map(c, (64, 64)), 136, 264, 264)
    expected = (a.astype(F8) @ b.astype(F8).T).astype(BF16).view(np.uint16)
    return Problem(args, {2: expected}, grid=2, block=384, shared_bytes=SHARED_BYTES)


ROWS = (Row("hopper_gemm", "gemm", gemm),)
