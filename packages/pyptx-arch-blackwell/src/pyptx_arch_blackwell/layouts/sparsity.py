"""Layout of the metadata of a sparse A in tensor memory, and its decoding. Manual: "Sparse Matrices" of tcgen05.

A row of A consists of chunks; half of the elements of a chunk are stored, and a 4-bit code has their positions. With
elements of 8 bits or less, all codes of a row are in its lane: 16 codes in two columns. With 16- and 32-bit elements
there are 8 codes per row, and one column has the codes of all rows: 16 lanes hold the codes of 16 rows. Lanes 0-7 of
the 16 have the codes of the first four chunks, lanes 8-15 the codes of the last four chunks. In lanes g and g + 8, the
lower half of the column has the codes of row g, the upper half the codes of row g + 8. The selector in the instruction
descriptor chooses among several adjacent columns with metadata.

The manual has figures only. The layouts with all 128 lanes and the weight-stationary layouts are CuTe's (`tmem_e_frg`,
`tmem_e_frg_ws`), whose sparse kernels copy the metadata of four MMAs at once, one column each. The layouts with half
the lanes follow from the rule that A, D and the metadata have the same alignment, as in layouts C and F. CuTe uses bit
0 of the column as the selector: that 2 and 3 are the next two columns is an assumption. Not verified on hardware.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from pyptx_ir.fragments.sparse import SPARSITY, Sparsity

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CODES", "Metadata", "MetadataPlace", "metadata", "positions", "sparsity_of"]

_CODE = 4  # number of bits of one metadata code of a sparse A
_FIELD = 2
_COLUMN = 32
_LANES = 128
_BAND = 16  # number of rows of A whose sparsity metadata are in the same 16 lanes
_HALF_BAND = 8
_SELECTORS = 4

# The sparsity pattern depends on the MMA kind, not on the element type: fp4 elements of f8f6f4 use the byte pattern.
_SPARSITY: Final[Mapping[str, Sparsity]] = {
    "tf32": SPARSITY[32],
    "f16": SPARSITY[16],
    **dict.fromkeys(("f8f6f4", "mxf8f6f4", "i8"), SPARSITY[8]),
    **dict.fromkeys(("mxf4", "mxf4nvf4"), SPARSITY[4]),
}
_DEPTHS: Final[Mapping[str, int]] = {
    "tf32": 16,
    "f16": 32,
    **dict.fromkeys(("f8f6f4", "mxf8f6f4", "i8"), 64),
    **dict.fromkeys(("mxf4", "mxf4nvf4"), 128),
}
_SCALED: Final = ("mxf8f6f4", "mxf4", "mxf4nvf4")
_BANDED: Final = ("tf32", "f16")

_TWO_OF_FOUR: Final = (0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b0110, 0b1110)
CODES: Final[Mapping[str, tuple[int, ...]]] = {
    kind: (0b1110, 0b0100) if kind == "tf32" else _TWO_OF_FOUR for kind in _SPARSITY
}
"""Valid metadata codes, by MMA kind; other codes are undefined."""


def sparsity_of(kind: str) -> Sparsity:
    """Return the sparsity pattern of A by kind (`f16`, `mxf4`): 1 of 2, 2 of 4, or 2 pairs of 4."""
    return _SPARSITY[kind]


def positions(kind: str, code: int) -> tuple[int, ...]:
    """Return each stored element's position in its chunk, in storage order, for a metadata code.

    `0b0110` stores the element at position 2 first, then that at position 1. Raise ValueError for an invalid code.
    """
    if code not in CODES[kind]:
        raise ValueError(f"invalid sparsity code {code:#06b} of a chunk for kind::{kind}")
    thinned = _SPARSITY[kind]
    step = thinned.fields  # a metadata code has two index fields per tf32 element, one for each 16-bit half
    fields = [code >> _FIELD * field & (1 << _FIELD) - 1 for field in range(0, _CODE // _FIELD, step)]
    return tuple(field // step * thinned.together + offset for field in fields for offset in range(thinned.together))


class MetadataPlace(NamedTuple):
    """Location of a metadata code: lanes with a copy, column relative to the operand's address, first bit `shift`."""

    lanes: tuple[int, ...]
    column: int
    shift: int


@dataclass(frozen=True, slots=True)
class Metadata:
    """Metadata codes of a sparse A in the tensor memory of one CTA: `rows` rows with `chunks` codes each.

    If `banded`, 16 rows share 16 lanes. `spread` is the distance in lanes between groups of 16 rows; the codes of all
    rows are stored `copies` times.
    """

    rows: int
    chunks: int
    banded: bool
    spread: int = _BAND
    copies: int = 1
    selector: int = 0

    def place(self, row: int, chunk: int) -> MetadataPlace:
        """Return the location of the metadata code of a row's chunk; raise IndexError for an invalid index."""
        if not (0 <= row < self.rows and 0 <= chunk < self.chunks):
            raise IndexError(f"row {row}, chunk {chunk} is out of range: {self.rows} rows of {self.chunks} codes")
        band, inside = divmod(row, _BAND)
        if self.banded:
            upper, lane = divmod(inside, _HALF_BAND)
            later, along = divmod(chunk, self.chunks // 2)
            lane, column, shift = lane + _HALF_BAND * later, 0, _COLUMN // 2 * upper + _CODE * along
        else:
            column, shift = divmod(_CODE * chunk, _COLUMN)
            lane = inside
        first = band * self.spread + lane
        step = _LANES // self.copies
        return MetadataPlace(tuple(first + step * copy for copy in range(self.copies)), self.selector + column, shift)

    @property
    def columns(self) -> tuple[int, ...]:
        """Columns with metadata that the MMA reads, relative to the operand's address."""
        count = 1 if self.banded else self.chunks * _CODE // _COLUMN
        return tuple(range(self.selector, self.selector + count))


def metadata(kind: str, *, m: int, group: int = 1, weight_stationary: bool = False, selector: int = 0) -> Metadata:
    """Return the layout of an MMA's metadata in the tensor memory of each CTA.

    `m` is the MMA's M, of both CTAs together if `group` is 2: a CTA has the metadata of its own rows.
    `weight_stationary` is `.ws`; then several lane groups compute the same rows, and each has a copy of the metadata.
    Raise ValueError for an invalid MMA or selector.
    """
    if kind not in _SPARSITY:
        raise ValueError(f"kind::{kind} does not support a sparse A")
    allowed = _SELECTORS if kind in _BANDED else 1
    if not 0 <= selector < allowed:
        raise ValueError(f"the sparsity selector of kind::{kind} must be 0 to {allowed - 1}, got {selector}")
    if m not in _sizes(kind, group, weight_stationary=weight_stationary):
        from pyptx_ir.isa.modules.counting import counted

        raise ValueError(
            f"invalid sparse MMA of kind::{kind}{'.ws' * weight_stationary}: M = {m} in {counted(group, 'CTA')}"
        )
    rows = m // group
    chunks = _DEPTHS[kind] // _SPARSITY[kind].chunk
    if weight_stationary:
        return Metadata(rows, chunks, kind in _BANDED, _BAND, _LANES // rows, selector)
    return Metadata(rows, chunks, kind in _BANDED, _BAND * _LANES // rows, 1, selector)


def _sizes(kind: str, group: int, *, weight_stationary: bool) -> tuple[int, ...]:
    """Return the valid M of a sparse MMA. Manual: "Various combinations of .kind and shapes"."""
    if weight_stationary:
        return () if kind in _SCALED or group != 1 else (32, 64, 128)
    if kind in _SCALED:
        return (128 * group,)
    return (64 * group, 128 * group)
