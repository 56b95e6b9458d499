"""Scale factors of block-scaled MMAs, read from tensor memory. Manual: "Block Scaling for tcgen05.mma"."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pyptx_arch_blackwell.datapath import LANES
from pyptx_arch_blackwell.sim.tensor_memory import COLUMNS, WORD, columns_of
from pyptx_sim.numerics.scales import scales

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_arch_blackwell.layouts.scale_factors import ScaleFactors, ScalePlace
    from pyptx_arch_blackwell.sim.mma.batch import MmaBatch
    from pyptx_sim.extension import Array, IntArray

__all__ = ["scales_of"]

_RULE = "tcgen05-scales"


@lru_cache(maxsize=256)
def _where(factors: ScaleFactors) -> IntArray:
    """Return byte offsets of scale factors from lane 0, column 0 of tensor memory, `[copies, rows, parts of K]`."""
    places = [[factors.place(row, chunk) for chunk in range(factors.chunks)] for row in range(factors.rows)]
    copies = range(len(places[0][0].lanes))

    def at(place: ScalePlace, copy: int) -> int:
        return (place.lanes[copy] * COLUMNS + place.column) * WORD + place.byte

    return np.array([[[at(place, copy) for place in line] for line in places] for copy in copies], np.int64)


def scales_of(products: MmaBatch) -> tuple[Array, Array]:
    """Return the scale factors of each row of A, and of each column of B."""
    plan = products.plan
    element = plan.descriptor.scale or ""
    both = plan.opcode.blocks
    of_a, of_b = plan.scales("a"), plan.scales("b")
    parts = [_codes(products, "a", of_a, products.further[0], block) for block in range(both)]
    codes_a = np.concatenate(parts, axis=1)
    copies = [_codes(products, "b", of_b, products.further[1], block) for block in range(both)]
    if any(not np.array_equal(copies[0], other) for other in copies[1:]):
        _differ(products, "b", "the two CTAs of the pair")
    return scales(codes_a, element), scales(copies[0], element)


def _codes(products: MmaBatch, name: str, factors: ScaleFactors, addresses: IntArray, block: int) -> NDArray[np.uint8]:
    """Return the scale factors in one CTA's tensor memory as bytes, `[n, rows, parts of K]`."""
    tensor = products.tensor
    start = ((products.blocks + block) * LANES * COLUMNS + columns_of(addresses)) * WORD
    at = start[:, None, None, None] + _where(factors)
    copies: NDArray[np.uint8] = tensor.arena.units(1).take(at)
    known = tensor.arena.known(1)
    if known is not None:
        missing = int(np.count_nonzero(known.take(at) != 0xFF))
        if missing:
            message = f"tcgen05.mma reads uninitialized scale factors of {name.upper()}"
            help = "copy the scale factors with tcgen05.cp (.warpx4) before the MMA"
            products.report("uninitialized-memory", message, help, missing)
        elif (copies != copies[:, :1]).any():
            _differ(products, name, "the four lane quarters")
    return copies[:, 0]


def _differ(products: MmaBatch, name: str, among: str) -> None:
    message = f"scale factors of {name.upper()} differ between {among}"
    help = "copy them with .warpx4, in both CTAs of a pair"
    products.report(_RULE, message, help)
