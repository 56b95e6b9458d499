"""Tensor-core MMA through nvcuda::wmma, as nvcc compiles it."""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from .problem import F4, F8, Array, Fresh, Near, Problem, Row, draws

F2, B2 = np.float16, ml_dtypes.bfloat16
STRIDE = 64  # leading dimension, in elements, of every matrix of wmma.cu
STEPS = 3


def _inputs(random: np.random.Generator, dtype: Any, count: int) -> Array:
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, count, dtype, endpoint=True)
    return random.standard_normal(count).astype(dtype)


def _matrix(data: Array, first: int, rows: int, columns: int, *, by_rows: bool) -> Array:
    """Return the matrix at offset `first` in float64, which is exact for products and sums of all inputs but f64."""
    row, column = np.arange(rows)[:, None], np.arange(columns)
    return data[first + (row * STRIDE + column if by_rows else column * STRIDE + row)].astype(F8)


def _product(shape: tuple[int, int, int], types: tuple[Any, Any], layouts: str, bound: float) -> Problem:
    """`product`: c = 2 · Σ a b over `STEPS` steps of K elements each."""
    m, n, k = shape
    random = draws(m + n)
    a, b = (_inputs(random, types[0], STRIDE * 40) for _ in range(2))
    total, size = np.zeros((m, n)), np.zeros((m, n))
    for step in range(STEPS):
        left = _matrix(a, step * k, m, k, by_rows=layouts[0] == "r")
        right = _matrix(b, step * k, k, n, by_rows=layouts[1] == "r")
        total, size = total + left @ right, size + np.abs(left) @ np.abs(right)
    c, slack = np.zeros((m, STRIDE)), np.zeros((m, STRIDE))
    c[:, :n], slack[:, :n] = 2 * total, 2 * size * bound
    exact = np.issubdtype(types[1], np.integer)
    expected = c.astype(types[1]).reshape(-1) if exact else Near(c.reshape(-1), absolute=slack.reshape(-1))
    bits = a.view(np.uint16) if types[0] is B2 else a
    other = b.view(np.uint16) if types[0] is B2 else b
    return Problem((bits, other, Fresh(m * STRIDE, types[1]), STEPS), {2: expected})


def _tensor_floats() -> Problem:
    """`tensor_floats`: c + a b, with a rounded to tf32 and b truncated to tf32; c is column-major."""
    random = draws(8)
    a, b, c = (random.standard_normal(count).astype(F4) for count in (128, 128, 256))
    left, right = a.reshape(16, 8).astype(F8), b.reshape(16, 8).T.astype(F8)
    wanted = c.reshape(16, 16).T + left @ right
    slack = (np.abs(left) @ np.abs(right)) * 2.0**-9
    return Problem((a, b, c), {2: Near(wanted.T.reshape(-1), absolute=slack.T.reshape(-1) + 1e-6)})


def _nibbles(data: Array) -> Array:
    parts = np.stack((data & 15, data >> 4), axis=-1).reshape(8, 32).astype(np.int64)
    return (parts ^ 8) - 8


def _sub_byte() -> Problem:
    """`sub_byte`: 1 + a b with four-bit integers."""
    a, b = (draws(seed).integers(0, 256, 128, np.uint8) for seed in (1, 2))
    wanted = 1 + _nibbles(a) @ _nibbles(b).T
    return Problem((a, b, Fresh(64, np.int32)), {2: wanted.astype(np.int32).reshape(-1)})


# Mangled template arguments: shape, types of operands and accumulator, layouts, error bound relative to Σ|a b|.
PRODUCTS: dict[str, tuple[tuple[int, int, int], tuple[Any, Any], str, float]] = {
    "ILi16ELi16ELi16E6__halff": ((16, 16, 16), (F2, F4), "rc", 2.0**-18),
    "ILi32ELi8ELi16E6__halfS": ((32, 8, 16), (F2, F2), "cr", 2.0**-8),
    "ILi8ELi32ELi16E6__halff": ((8, 32, 16), (F2, F4), "rr", 2.0**-18),
    "ILi16ELi16ELi16Eai": ((16, 16, 16), (np.int8, np.int32), "rc", 0),
    "ILi32ELi8ELi16Ehi": ((32, 8, 16), (np.uint8, np.int32), "cc", 0),
    "ILi16ELi16ELi16E13__nv_bfloat16f": ((16, 16, 16), (B2, F4), "rc", 2.0**-18),
    "ILi8ELi8ELi4Edd": ((8, 8, 4), (F8, F8), "rc", 2.0**-48),
}

ROWS = (
    *(Row("wmma", name, partial(_product, *case), title=name[1:]) for name, case in PRODUCTS.items()),
    Row("wmma", "tensor_floats", _tensor_floats),
    Row("wmma", "sub_byte", _sub_byte),
)
