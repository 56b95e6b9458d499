"""Numerics of wgmma. Manual: "Asynchronous Warpgroup Level Matrix Multiply-Accumulate …"."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyptx_ir.isa.kinds.fragments import BITS
from pyptx_sim.numerics.dot_products import (
    SparseSum,
    Sum,
    exact_float,
    fast_float,
    fast_sparse,
    integer,
    population,
    selected,
)
from pyptx_sim.numerics.sparse_operands import selecting

if TYPE_CHECKING:
    from pyptx_arch_hopper.sim.wgmma.described import WgmmaDescription

_INTEGERS = ("s8", "u8")


def width_of(element: str) -> int:
    """Return the width of an element type in bits."""
    return BITS[element]


def sparse_sum_of(product: WgmmaDescription, target: str | None) -> SparseSum | None:
    """Return the dot product function of an MMA with a sparse A, for each warp; None if A is dense.

    The rows of A select elements of B as in mma.sp: see the figures of "Sparse WGMMA … metadata layout".
    """
    if product.selector is None:
        return None
    d, a, b = product.types
    select = selecting(f"m16n8k{product.depth}", a, product.selector)
    if target is not None or a in _INTEGERS:
        return selected(sum_of(product, target), select)
    return fast_sparse((d, a, b, d), select)


def sum_of(product: WgmmaDescription, target: str | None) -> Sum:
    """Return the dot product function of an MMA: fast, or bit-exact for the tensor cores of `target`."""
    d, a, b = product.types
    if a == "b1":
        return partial(population, operation=product.operation)
    if a in _INTEGERS:
        return partial(integer, saturates=product.saturates)
    types = (d, a, b, d)
    return fast_float(types) if target is None else exact_float(types, target, warpgroup=True)
