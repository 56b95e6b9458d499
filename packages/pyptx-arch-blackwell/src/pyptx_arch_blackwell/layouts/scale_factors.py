"""Tensor memory layout of scale factors. Manual: "Block Scaling for tcgen05.mma.sync".

A scale factor is a byte. The scale factors of row i (of A, or of B transposed) are in lane i mod 32 and column i / 32.
Each lane quarter has a copy of all scale factors. A 32-bit column of a lane holds four scale factors of a row; the
scale factor ID in the instruction descriptor is the first byte that the MMA uses. With K = 96, the row's scale factors
may continue in the same column of the next group of columns.

The manual has figures only. This layout follows from

- CuTe's tensor memory fragments (`tmem_sf_frg`);
- the blocks of 128 rows by 4 scale factors that cuBLAS documents and DeepGEMM copies;
- for K = 96, the addresses that CUTLASS uses in consecutive MMAs.

Not verified on hardware. Two cases have one source only: K = 96 with N above 128, where the next group is 8 columns
further; and the halves of B's scale factors with M = 128 in a CTA pair. CuTe defines the latter, and no CUTLASS kernel
copies them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LANES", "Operand", "ScaleFactors", "ScalePlace", "factors_of_row", "scale_factors"]

Operand: TypeAlias = Literal["a", "b"]

LANES: Final = 32
"""Number of lanes of a lane quarter; a warp can access one lane quarter."""

_QUARTERS = 4
_WORD = 4  # number of scale factors in one 32-bit column of a lane
_BLOCK = 128  # number of rows of A or B whose scale factors share 4 columns
_WIDE = 96  # the K of block-scaled MMAs that have 3 or 6 scale factors per row of A or B

# Scale factors per row, by kind and opcode modifier, for K other than 96. Manual: "Valid combinations of
# scale_vectorsize and shapes". Key "" is the default without a modifier.
_COUNTS: Final[Mapping[str, Mapping[str, int]]] = {
    "mxf8f6f4": {"": 1, "scale_vec::1X": 1, "block32": 1},
    "mxf4": {"": 2, "scale_vec::2X": 2, "block32": 2},
    "mxf4nvf4": {"scale_vec::2X": 2, "block32": 2, "scale_vec::4X": 4, "block16": 4},
}
_WIDE_COUNTS: Final[Mapping[str, int]] = {"": 3, "block32": 3, "block16": 6}
_DEPTHS: Final[Mapping[str, tuple[int, ...]]] = {"mxf8f6f4": (32, 64), "mxf4": (64, 96, 128), "mxf4nvf4": (64, 96, 128)}

# Valid first bytes in a 32-bit column, by number of scale factors. Manual: "Scale Factor A ID".
_STARTS: Final[Mapping[int, tuple[int, ...]]] = {1: (0, 1, 2, 3), 2: (0, 2), 3: (0, 1, 2, 3), 4: (0,), 6: (0, 2)}


class ScalePlace(NamedTuple):
    """Location of a scale factor: lanes with a copy, column relative to the operand's address, byte in the column."""

    lanes: tuple[int, ...]
    column: int
    byte: int


@dataclass(frozen=True, slots=True)
class ScaleFactors:
    """Scale factors of one operand in the tensor memory of one CTA.

    `rows` rows with `chunks` scale factors each, the first at byte `start` of its column. If `halves` is 2, the lower
    64 lanes have two copies of the first half of the rows, and the upper 64 lanes two copies of the second half; if 1,
    every lane quarter has all rows. Scale factors past the end of a 32-bit column are `group` columns further.
    """

    rows: int
    chunks: int
    start: int = 0
    halves: int = 1
    group: int = _WORD

    def place(self, row: int, chunk: int) -> ScalePlace:
        """Return the location of the scale factor of a chunk of a row; raise IndexError for an invalid index."""
        if not (0 <= row < self.rows and 0 <= chunk < self.chunks):
            raise IndexError(
                f"row {row}, chunk {chunk} is out of range: {self.rows} rows of {self.chunks} scale factors"
            )
        half, inside = divmod(row, self.rows // self.halves)
        column, lane = divmod(inside, LANES)
        group, byte = divmod(self.start + chunk, _WORD)
        each = _QUARTERS // self.halves
        lanes = tuple(LANES * quarter + lane for quarter in range(half * each, (half + 1) * each))
        return ScalePlace(lanes, group * self.group + column, byte)

    def rows_of(self, quarter: int) -> range:
        """Return the rows whose scale factors a lane quarter holds."""
        half = self.rows // self.halves
        first = quarter * self.halves // _QUARTERS * half
        return range(first, first + half)

    @property
    def columns(self) -> tuple[int, ...]:
        """Columns with scale factors that the MMA reads, relative to the operand's address."""
        filled = -(-self.rows // self.halves // LANES)
        groups = -(-(self.start + self.chunks) // _WORD)
        return tuple(group * self.group + column for group in range(groups) for column in range(filled))


def factors_of_row(kind: str, vector: str, k: int) -> int:
    """Return the number of scale factors per row: K / block size.

    `kind` and `vector` are as in the opcode: `mxf4nvf4`, and `scale_vec::4X`, `block16` or "". K is that of the MMA,
    for a sparse MMA twice the stored K of A. Raise ValueError for a combination that no MMA has.
    """
    if k in _DEPTHS.get(kind, ()):
        counts = _WIDE_COUNTS if k == _WIDE else _COUNTS[kind]
        if vector in counts and (vector or "" in _COUNTS[kind]) and (vector != "block16" or kind == "mxf4nvf4"):
            return counts[vector]
    raise ValueError(f"kind::{kind} does not support K = {k} with {vector or 'no'} scale vectors")


def scale_factors(
    operand: Operand, kind: str, vector: str, *, m: int, n: int, k: int, group: int = 1, identifier: int = 0
) -> ScaleFactors:
    """Return the layout of A's or B's scale factors in the tensor memory of each CTA.

    `m`, `n` and `k` are those of the MMA, of both CTAs together if `group` is 2; `identifier` is the operand's scale
    factor ID in the instruction descriptor. A CTA has the scale factors of its own rows of A and of all N of B. Raise
    ValueError for an invalid MMA, or an invalid ID.
    """
    count = factors_of_row(kind, vector, k)
    if (m, group) not in {(128, 1), (128, 2), (256, 2)} or (k == _WIDE and (m, group) == (128, 2)):
        from pyptx_ir.isa.modules.counting import counted

        raise ValueError(f"invalid block-scaled MMA: M = {m}, K = {k} in {counted(group, 'CTA')}")
    if identifier not in _STARTS[count]:
        raise ValueError(
            f"invalid scale factor ID {identifier}: {count} scale factors start at byte "
            f"{' or '.join(map(str, _STARTS[count]))}"
        )
    if operand == "a":
        return ScaleFactors(m // group, count, identifier)
    halves = 2 if (m, group) == (128, 2) else 1  # manual's layout B: columns N/2 to N - 1 of D are in lanes 64-127
    return ScaleFactors(n, count, identifier, halves, -(-n // _BLOCK) * _WORD)
