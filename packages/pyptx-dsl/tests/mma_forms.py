"""The products of `mma.sync` and `mma.sp.sync` that the instruction table has, one by one."""

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
    """One shape with its types, and the registers that a thread holds of d, a, b and c."""

    shape: str
    types: tuple[str, str, str, str]
    counts: tuple[int, int, int, int]
    saturates: bool = False
    bitwise: bool = False
    any_layout: bool = False
    rounds: bool = False
    selectors: int = 0


def dense_forms() -> Iterator[MmaForm]:
    """Yield the products of dense matrices."""
    for entry in PRODUCTS:
        for shape in entry.shapes:
            for types in entry.types():
                counts = entry.registers(shape, types)
                flags = (entry.saturates, bool(entry.operation), entry.any_layout, entry.rounds)
                yield MmaForm(shape, types, counts, *flags)


def sparse_forms() -> Iterator[MmaForm]:
    """Yield the products with a sparse first matrix."""
    for entry in SPARSE:
        for a, b in product(entry.a, entry.a):
            d = mma_fragment(entry.shape, "d", entry.d).registers
            halved = sparse_fragment(entry.shape, a).registers
            counts = (d, halved, mma_fragment(entry.shape, "b", b).registers, d)
            yield MmaForm(entry.shape, (entry.d, a, b, entry.d), counts, entry.saturates, selectors=entry.selector + 1)
