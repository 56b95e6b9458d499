"""Vector kernels and GEMMs from the CuTe DSL. A tensor argument is a structure: pointer, then its dynamic layout."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pyptx_ir.plugins.rows import TensorMap
from pyptx_sim import WithDescriptor

from .problem import F4, F8, Array, Fresh, Near, Problem, Row, draws

STAGES = 3


def _matrix(array: Any) -> tuple[Any, ...]:
    """Return the kernel argument for a matrix with dynamic extents and row stride: array, extents, stride."""
    rows, columns = array.shape
    return array, np.int32(rows), np.int32(columns), np.int64(columns)


def add() -> Problem:
    """`a + 2 b` of whole numbers, for which fused and separate rounding of the product agree."""
    random, length = draws(70), 500
    a, b = (random.integers(-1000, 1000, length).astype(F4) for _ in range(2))
    vectors = [(each, np.int32(length)) for each in (a, b, Fresh(length, F4))]
    return Problem((*vectors, length), {2: a + 2 * b}, grid=2, block=256)


def totals() -> Problem:
    """`exp(sum) + rsqrt(sum)` of each row."""
    x = draws(71).random((3, 16384)).astype(F4) / F4(8192)
    sums = x.astype(F8).sum(axis=1)
    expected = np.exp(sums) + 1 / np.sqrt(sums)
    rows = np.int32(3)
    return Problem(((x, rows), (Fresh(3, F4), rows)), {1: Near(expected, 1e-5)}, grid=3, block=256, shared_bytes=32)


def polynomial(dtype: Any) -> Problem:
    """`x x + x` of a matrix with a static layout: its argument is a pointer only."""
    x = draws(72).integers(-20, 20, (1024, 1024)).astype(dtype)
    return Problem(((x,), (Fresh((1024, 1024), dtype),)), {1: x * x + x}, grid=256, block=128)


def _factors(m: int, n: int, k: int) -> tuple[Array, Array, Array]:
    """Return operands A and B of small whole numbers, both K-major, and their exact product."""
    random = draws(73)
    a, b = (random.integers(-3, 4, (size, k)).astype(np.float16) for size in (m, n))
    return a, b, (a.astype(F8) @ b.astype(F8).T).astype(np.float16)


def ampere() -> Problem:
    """GEMM with cp.async, ldmatrix and mma.sync."""
    a, b, c = _factors(128, 256, 128)
    args = tuple(_matrix(each) for each in (a, b, Fresh(c.shape, np.float16)))
    return Problem(args, {2: c}, grid=(1, 2), block=128, shared_bytes=2 * 128 * 40 * 2)


def warpgroups(m: int, n: int) -> Problem:
    """GEMM with TMA in three pipeline stages and wgmma; one m x n tile per CTA. The first argument is a zero byte."""
    a, b, c = _factors(m, 2 * n, 320)
    sizes = [tuple(np.int32(extent) for extent in each.shape) for each in (a, b)]
    maps = [
        WithDescriptor(each, TensorMap("f16", each.shape, each.strides, (rows, 64), (1, 1), "128B"))
        for each, rows in ((a, m), (b, n))
    ]
    args = (bytes(1), maps[0], sizes[0], maps[1], sizes[1], _matrix(Fresh(c.shape, np.float16)))
    shared = 1024 + STAGES * (m + n) * 64 * 2
    return Problem(args, {5: c}, grid=(1, 2), block=2 * m, shared_bytes=shared)


ROWS = (
    Row("vectors", "add_kernel", add),
    Row("vectors", "totals_kernel", totals),
    *(
        Row("vectors", "polynomial_kernel", partial(polynomial, F4), build=f"{target}.polynomial.ptx")
        for target in ("sm_80", "sm_120a")
    ),
    *(
        Row("vectors", "polynomial_kernel", partial(polynomial, np.float16), build=f"{target}.polynomial-half.ptx")
        for target in ("sm_90a", "sm_103a")
    ),
    *(
        Row("products", "kernel_cutlass", ampere, build=f"{target}.ampere.ptx")
        for target in ("sm_80", "sm_90a", "sm_120a")
    ),
    Row("products", "kernel_cutlass", partial(warpgroups, 64, 128), build="sm_90a.warpgroup.ptx"),
    Row("products", "kernel_cutlass", partial(warpgroups, 128, 128), build="sm_90a.warpgroups.ptx"),
    Row("products", "kernel_cutlass", partial(warpgroups, 128, 256), build="sm_90a.warpgroups-wide.ptx"),
)
