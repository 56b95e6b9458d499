"""Where the scale factors of block-scaled products lie in tensor memory. Manual: "Block Scaling for tcgen05.mma.sync".

A factor is a byte. Those of row i (of A, or of B transposed) lie in lane i mod 32, a word to each group of 32 rows:
row 0 in the first column, row 32 in the second. Each quarter of the lanes, 32 of them, has a copy of it all. A word has
room for four factors of a row; the instruction descriptor says with an identifier at which byte the product's begin.
With K = 96 they may run over the end of the word, into the same row's word of the next group of columns.

The manual's figures are pictures. What is here follows from CuTe's fragments of tensor memory (`tmem_sf_frg`), from
the blocks of 128 rows by 4 factors that cuBLAS documents and DeepGEMM copies, and for K = 96 from how CUTLASS advances
the address from product to product. None of it is confirmed by hardware here. Two cases have one source: K = 96 with N
above 128, where the next group lies 8 columns on, and the halves of B's factors with M = 128 in a pair of CTAs, which
CuTe lays out and no kernel of CUTLASS copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LANES", "Operand", "ScaleFactors", "ScalePlace", "factors_of_row", "scale_factors"]

Operand: TypeAlias = Literal["a", "b"]

LANES: Final = 32
"""Lanes of a quarter, which a warp has access to."""

_QUARTERS = 4
_WORD = 4  # factors in a column
_BLOCK = 128  # rows that a group of columns holds factors of, if the matrix has no more
_WIDE = 96  # the K whose factors cross words

# Factors of a row, by kind and by what the opcode says; with K = 96 a block of 16 or 32 says more. Manual: "Valid
# combinations of scale_vectorsize and shapes". Nothing said: mxf4 takes .block32, and mxf8f6f4 has one choice.
_COUNTS: Final[Mapping[str, Mapping[str, int]]] = {
    "mxf8f6f4": {"": 1, "scale_vec::1X": 1, "block32": 1},
    "mxf4": {"": 2, "scale_vec::2X": 2, "block32": 2},
    "mxf4nvf4": {"scale_vec::2X": 2, "block32": 2, "scale_vec::4X": 4, "block16": 4},
}
_WIDE_COUNTS: Final[Mapping[str, int]] = {"": 3, "block32": 3, "block16": 6}
_DEPTHS: Final[Mapping[str, tuple[int, ...]]] = {"mxf8f6f4": (32, 64), "mxf4": (64, 96, 128), "mxf4nvf4": (64, 96, 128)}

# At which bytes of a word the factors may begin, by their number. Manual: "Scale Factor A ID".
_STARTS: Final[Mapping[int, tuple[int, ...]]] = {1: (0, 1, 2, 3), 2: (0, 2), 3: (0, 1, 2, 3), 4: (0,), 6: (0, 2)}


class ScalePlace(NamedTuple):
    """Where a factor lies: a byte of a column, relative to the address, in some lanes; each of them has a copy."""

    lanes: tuple[int, ...]
    column: int
    byte: int


@dataclass(frozen=True, slots=True)
class ScaleFactors:
    """The factors of one operand in the tensor memory of one CTA.

    `rows` of them, `chunks` in each, the first at byte `start` of its word. If `halves` is 2, the lower 64 lanes have
    the first half of the rows and the upper 64 the second, twice each; if 1, every quarter has all of them. What does
    not fit in a word lies `group` columns behind it.
    """

    rows: int
    chunks: int
    start: int = 0
    halves: int = 1
    group: int = _WORD

    def place(self, row: int, chunk: int) -> ScalePlace:
        """Return where the factor of a chunk of a row lies; raise IndexError for one that is not there."""
        if not (0 <= row < self.rows and 0 <= chunk < self.chunks):
            raise IndexError(f"row {row}, chunk {chunk} of {self.rows} rows of {self.chunks} factors")
        half, inside = divmod(row, self.rows // self.halves)
        column, lane = divmod(inside, LANES)
        group, byte = divmod(self.start + chunk, _WORD)
        each = _QUARTERS // self.halves
        lanes = tuple(LANES * quarter + lane for quarter in range(half * each, (half + 1) * each))
        return ScalePlace(lanes, group * self.group + column, byte)

    def rows_of(self, quarter: int) -> range:
        """Return the rows whose factors a quarter of the lanes has."""
        half = self.rows // self.halves
        first = quarter * self.halves // _QUARTERS * half
        return range(first, first + half)

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that the product reads, relative to the address."""
        filled = -(-self.rows // self.halves // LANES)
        groups = -(-(self.start + self.chunks) // _WORD)
        return tuple(group * self.group + column for group in range(groups) for column in range(filled))


def factors_of_row(kind: str, vector: str, k: int) -> int:
    """Return how many factors each row has: each is for K over so many elements.

    `kind` and `vector` are as in the opcode, `mxf4nvf4` and `scale_vec::4X`, `block16` or nothing; K is that of the
    product, of a sparse one twice that of what is stored of A. Raise ValueError for what goes together in no product.
    """
    if k in _DEPTHS.get(kind, ()):
        counts = _WIDE_COUNTS if k == _WIDE else _COUNTS[kind]
        if vector in counts and (vector or "" in _COUNTS[kind]) and (vector != "block16" or kind == "mxf4nvf4"):
            return counts[vector]
    raise ValueError(f"no product of kind::{kind} has K={k} and {vector or 'no'} scale vectors")


def scale_factors(
    operand: Operand, kind: str, vector: str, *, m: int, n: int, k: int, group: int = 1, identifier: int = 0
) -> ScaleFactors:
    """Return where the factors of A or B lie in the tensor memory of each CTA of a product.

    `m`, `n` and `k` are the product's, of both CTAs together if `group` is 2; `identifier` is the operand's in the
    instruction descriptor. A CTA has the factors of its own rows of A and of all N of B.

    Raise ValueError for a product that does not exist, or a start that its factors cannot have.
    """
    count = factors_of_row(kind, vector, k)
    if (m, group) not in {(128, 1), (128, 2), (256, 2)} or (k == _WIDE and (m, group) == (128, 2)):
        raise ValueError(f"no block-scaled product has M={m}, K={k} in {group} CTAs")
    if identifier not in _STARTS[count]:
        raise ValueError(f"{count} factors begin at byte {' or '.join(map(str, _STARTS[count]))}, not {identifier}")
    if operand == "a":
        return ScaleFactors(m // group, count, identifier)
    halves = 2 if (m, group) == (128, 2) else 1  # layout B: the columns of D are dealt out to two halves of the lanes
    return ScaleFactors(n, count, identifier, halves, -(-n // _BLOCK) * _WORD)
