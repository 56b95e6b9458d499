"""All forms of `mma.sync` and `mma.sp.sync` in the instruction table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from pyptx_ir.fragments import mma_fragment, sparse_fragment
from pyptx_ir.isa.table.mma import PRODUCTS
from pyptx_ir.isa.table.mma_sparse import PRODUCTS as SPARSE

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class MmaForm:
    """MMA form: shape, types, and the number of registers per thread of D, A, B and C."""

    shape: str
    types: tuple[str, str, str, str]
    counts: tuple[int, int, int, int]
    saturates: bool = False
    bitwise: bool = False
    any_layout: bool = False
    rounds: bool = False
    selectors: int = 0


def dense_forms() -> Iterator[MmaForm]:
    """Yield the dense MMA forms."""
    for entry in PRODUCTS:
        for shape in entry.shapes:
            for types in entry.types():
                counts = entry.registers(shape, types)
                flags = (entry.saturates, bool(entry.operation), entry.any_layout, entry.rounds)
                yield MmaForm(shape, types, counts, *flags)


def sparse_forms() -> Iterator[MmaForm]:
    """Yield the MMA forms with a sparse A."""
    for entry in SPARSE:
        for a, b in product(entry.a, entry.a):
            d = mma_fragment(entry.shape, "d", entry.d).registers
            halved = sparse_fragment(entry.shape, a).registers
            counts = (d, halved, mma_fragment(entry.shape, "b", b).registers, d)
            yield MmaForm(entry.shape, (entry.d, a, b, entry.d), counts, entry.saturates, selectors=entry.selector + 1)
