"""Dot products of MMAs, of integers and of floats.

Floats are added by `fast` numerics (error bound, FMA chains) or `exact` numerics (the bits of a target GPU).

`a` is `[…, rows, k]`. `b` is `[…, columns, k]`, or `[…, rows, columns, k]` if each row of a sparse `a` selects its own
elements of `b`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_sim.numerics.fma_chains import chained, sparsely_chained
from pyptx_sim.numerics.fused import fma_f64
from pyptx_sim.numerics.nan import canonical
from pyptx_sim.numerics.tensor_cores import Model, exact_sum, model_of, rounded
from pyptx_sim.operation import Array

if TYPE_CHECKING:
    from pyptx_sim.numerics.sparse_operands import SparseSelection

Sum: TypeAlias = Callable[[Array, Array, Array], Array]
"""Dot product function of an MMA: from a, b and the addend c to d, as arrays of numbers."""

SparseSum: TypeAlias = Callable[[Array, Array, Array, Array], Array]
"""Dot product function of a sparse MMA: from the metadata register, a, b and the addend c to d."""

_I64 = np.int64
_LIMITS: Final = (-(1 << 31), (1 << 31) - 1)


def dot(a: Array, b: Array) -> Array:
    """Return the dot products of the rows of a and the columns of b, in the dtype of a and b."""
    if b.ndim == a.ndim:
        return np.asarray(np.matmul(a, b.swapaxes(-1, -2)))
    return np.asarray(np.matmul(b, a[..., None])[..., 0])


def paired(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a and b with axes inserted, so that they broadcast to `[…, rows, columns, k]`."""
    return a[..., :, None, :], b if b.ndim > a.ndim else b[..., None, :, :]


def fast_float(types: tuple[str, str, str, str]) -> Sum:
    """Return the dot product function of `fast` numerics: a chain of float32 FMAs in the order of k, plus c.

    |error| ≤ (k + 1) · 2^-23 · (Σ|a·b| + |c|), plus half an ulp of f16 for f16 results.
    """
    return lambda a, b, c: rounded(fast(a, b, c), types[0])


def fast(a: Array, b: Array, c: Array) -> Array:
    """Return the dot products, by chains of FMAs in the dtype of a and b, plus c. The caller may modify the result.

    For float64, |error| ≤ (k + 1) · 2^-52 · (Σ|a·b| + |c|).
    """
    sums = chained(a, b)
    return np.add(sums, c, out=sums if sums.flags.c_contiguous else None)


def fast_sparse(types: tuple[str, str, str, str], select: SparseSelection) -> SparseSum:
    """Return the dot product function of `fast` numerics for a sparse a: FMA chains over stored elements, plus c."""

    def total(metadata: Array, a: Array, b: Array, c: Array) -> Array:
        sums = sparsely_chained(a, select.places(metadata)[:, None], b)
        return rounded(np.add(sums, c, out=sums), types[0])

    return total


def selected(total: Sum, select: SparseSelection) -> SparseSum:
    """Return the dot product function for a sparse a: apply `total` to a's stored and b's selected elements."""
    return lambda metadata, a, b, c: total(a, select(metadata, b), c)


def fast_scaled(a: Array, b: Array, scales: tuple[Array, Array], c: Array, places: Array | None = None) -> Array:
    """Return the dot products of `fast` numerics with block scaling: float64 FMA chains plus c, rounded to float32.

    `scales`: float64 scale factors of a and of b, each for an equal part of K; scaled elements are exact in float64.
    `places`: the k index of each stored element of a sparse a.
    """
    left, right = (
        np.repeat(of, values.shape[-1] // of.shape[-1], axis=-1) * values
        for values, of in zip((a, b), scales, strict=True)
    )
    sums = chained(left, right) if places is None else sparsely_chained(left, places, right)
    return canonical(np.add(sums, c, out=sums).astype(np.float32))


def exact_float(types: tuple[str, str, str, str], target: str, *, warpgroup: bool = False) -> Sum:
    """Return the dot product function whose results equal a target's, bit for bit, for warp or warpgroup MMAs."""
    return summing(types, model_of(target, types[1], warpgroup=warpgroup))


def summing(types: tuple[str, str, str, str], model: Model) -> Sum:
    """Return the dot product function of a tensor core `Model`; `types` are the element types of d, a, b and c."""
    return lambda a, b, c: rounded(exact_sum(*paired(a, b), c, types, model), types[0])


def exact_double(mode: str) -> Sum:
    """Return the float64 dot product function: FMAs in the order of k from c on, each rounded in direction `mode`."""

    def chain(a: Array, b: Array, c: Array) -> Array:
        left, right = paired(a, b)
        for k in range(a.shape[-1]):
            c = fma_f64(left[..., k], right[..., k], c, mode)
        return c

    return chain


def integer(a: Array, b: Array, c: Array, *, saturates: bool) -> Array:
    """Return c plus dot products of integers, wrapped or clamped to s32; float32 sums are exact (below 2^24)."""
    total = dot(a, b).astype(_I64) + c
    return (np.clip(total, *_LIMITS) if saturates else total).astype(np.int32)


def population(a: Array, b: Array, c: Array, *, operation: str) -> Array:
    """Return c plus the number of set bits in `a & b` or `a ^ b` along K; a and b hold one bit per element."""
    both = dot(a, b)
    if operation == "xor":
        both = a.sum(axis=-1)[..., :, None] + b.sum(axis=-1)[..., None, :] - 2 * both
    return (both.astype(_I64) + c).astype(np.int32)
