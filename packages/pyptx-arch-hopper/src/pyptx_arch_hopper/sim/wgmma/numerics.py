"""How products of warpgroups are summed. Manual: "Asynchronous Warpgroup Level Matrix Multiply-Accumulate …"."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyptx_ir.isa.kinds.fragments import BITS
from pyptx_sim.numerics.dot_products import Sum, exact_float, fast_float, integer, population
from pyptx_sim.numerics.sparse_factors import Select, selecting

if TYPE_CHECKING:
    from pyptx_arch_hopper.sim.wgmma.described import WarpgroupProduct

_INTEGERS = ("s8", "u8")


def width_of(element: str) -> int:
    """Return the bits of an element."""
    return BITS[element]


def sum_of(product: WarpgroupProduct, target: str | None) -> Sum:
    """Return how a product is summed: fast, or as the tensor cores of `target` do it, bit for bit."""
    d, a, b = product.types
    if a == "b1":
        return partial(population, operation=product.operation)
    if a in _INTEGERS:
        return partial(integer, saturates=product.saturates)
    types = (d, a, b, d)
    return fast_float(types) if target is None else exact_float(types, target, warpgroup=True)


def selection(product: WarpgroupProduct) -> Select | None:
    """Return how the rows of a sparse a pick elements of b, warp by warp: as those of mma.sp; None if a is dense.

    Manual: the figures of "Sparse WGMMA … metadata layout" are those of mma.sp.
    """
    if product.selector is None:
        return None
    return selecting(f"m16n8k{product.depth}", product.types[1], product.selector)
