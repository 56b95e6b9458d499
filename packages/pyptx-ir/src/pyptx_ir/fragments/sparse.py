"""Fragments of MMA with sparse A. Manual: "Sparse matrix storage", and fragments "with sparse matrix A".

Only the nonzero half of the elements of A is stored. The metadata contains their positions in 2-bit fields. Some of the
four lanes of a group hold the metadata; the instruction's sparsity selector chooses these lanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from pyptx_ir.fragments.distribution import distributed
from pyptx_ir.fragments.layout import Fragment, Stride
from pyptx_ir.fragments.mma import sizes
from pyptx_ir.isa.matrix_rows import BITS

_FIELD = 2  # bits of a metadata field, the index of one stored element of a sparse matrix
_FIELDS = 16  # number of sparse-matrix metadata fields in a 32-bit register
_WORD = 32
_HALF_ROWS = 8


@dataclass(frozen=True, slots=True)
class Sparsity:
    """Sparsity of A: of each `chunk` consecutive elements `kept` are stored, in units of `together` elements.

    Each unit has `fields` fields of metadata. The metadata of a lane covers 16 rows if `both_halves`, otherwise 8.
    """

    chunk: int
    kept: int
    together: int
    fields: int
    both_halves: bool


# Stored elements: of 16- or 8-bit elements 2 of 4; of 32-bit elements 1 of 2, whose two metadata fields together are
# 0b1110 or 0b0100; of 4-bit elements 2 of 4 pairs.
_HALVES = Sparsity(4, 2, 1, 1, both_halves=True)
_WORDS = Sparsity(2, 1, 1, 2, both_halves=True)
_BYTES = Sparsity(4, 2, 1, 1, both_halves=False)
_NIBBLES = Sparsity(8, 4, 2, 1, both_halves=False)
SPARSITY: dict[int, Sparsity] = {16: _HALVES, 32: _WORDS, 8: _BYTES, 4: _NIBBLES}


@cache
def sparse_fragment(shape: str, element: str) -> Fragment:
    """Return the register layout of the stored elements of A: `k / 2` elements in each row."""
    m, _, k = sizes(shape)
    bits = BITS[element]
    return distributed(f"{shape} sparse a .{element}", m, k // 2, bits, _WORD // bits)


@cache
def metadata_fragment(shape: str, element: str) -> Fragment:
    """Return the layout of the 2-bit metadata fields in registers, for sparsity selector 0.

    Lanes without metadata repeat the fields of other lanes; `selected_lanes` returns the lanes that the MMA reads. The
    fields of a lane are consecutive along its row. With 16-bit or wider elements, the lower half of a lane's register
    has the fields of row g and the upper half those of row g + 8.
    """
    m, _, k = sizes(shape)
    kind = SPARSITY[BITS[element]]
    fields = k // kind.chunk * (kind.kept // kind.together) * kind.fields
    along = _FIELDS // 2 if kind.both_halves else _FIELDS
    lower = Stride(_HALF_ROWS)
    further = tuple(Stride(0, along << bit) for bit in range((fields // along).bit_length() - 1))
    quad = further if kind.both_halves else (lower, *further)
    lanes = (*quad, *(Stride(),) * (2 - len(quad)), Stride(1), Stride(2), Stride(4))
    elements = tuple(Stride(0, 1 << bit) for bit in range(along.bit_length() - 1))
    elements += (lower,) if kind.both_halves else ()
    return Fragment(f"{shape} metadata .{element}", m, fields, _FIELD, lanes, elements)


def selected_lanes(shape: str, element: str, selector: int) -> tuple[int, ...]:
    """Return which lanes of each group of four hold the metadata, for a sparsity selector."""
    fragment = metadata_fragment(shape, element)
    count = 1 << sum(step != Stride() for step in fragment.lanes[:2])
    if not 0 <= selector < 4 // count:
        raise ValueError(f"sparsity selector of {shape} .{element} must be 0 to {4 // count - 1}, got {selector}")
    return tuple(range(selector * count, (selector + 1) * count))
