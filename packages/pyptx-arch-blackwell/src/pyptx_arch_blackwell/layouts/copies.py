"""Data movement of tcgen05.cp and tcgen05.shift. Manual: "tcgen05.cp", "tcgen05.shift", "Optional Decompression".

The source of a copy is a K-major matrix in shared memory with a descriptor: rows of one or two chunks of 16 bytes, in
core matrices of eight rows. A 16-byte chunk is copied to four columns of a lane. In a CTA pair, each CTA copies from
its own shared memory, at the same addresses, to its own tensor memory: DeepGEMM and CUTLASS copy the scale factors of A
this way, which the CTAs do not share.

The lanes are those of CuTe's UTCCP traits. CuTe describes tcgen05.cp.4x256b, the copy of four rows, as a refresh of the
last lane of each lane quarter, which tcgen05.shift does not write. According to the manual, tcgen05.cp may follow
tcgen05.shift without a wait ("Pipelined tcgen05 Instructions"). Not verified on hardware.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyptx_arch_blackwell.layouts.packing import CONTAINERS, PADDED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_arch_blackwell.layouts.packing import Packing

__all__ = ["COPIES", "FORMATS", "SHIFT_COLUMNS", "SHIFT_LANES", "Copy", "Format", "shifted_from"]

_COLUMNS = 4  # number of 32-bit tensor memory columns that a 16-byte chunk fills


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy of `rows` rows of `chunks` 16-byte chunks: groups of `band` consecutive lanes, `stride` lanes apart.

    Lanes and columns are relative to the instruction's address. Each row is copied to one lane for each lane distance
    in `copies`.
    """

    rows: int
    chunks: int
    band: int
    stride: int = 0
    copies: tuple[int, ...] = (0,)

    def lanes(self, row: int) -> tuple[int, ...]:
        """Return the tensor memory lanes to which a row of the source matrix is copied."""
        if not 0 <= row < self.rows:
            raise IndexError(f"row {row} is out of range: {self.rows} rows")
        band, inside = divmod(row, self.band)
        return tuple(band * self.stride + inside + distance for distance in self.copies)

    def chunk_columns(self, chunk: int) -> range:
        """Return the four destination columns of a source row's 16-byte chunk, in byte order."""
        if not 0 <= chunk < self.chunks:
            raise IndexError(f"chunk {chunk} is out of range: {self.chunks} chunks")
        return range(_COLUMNS * chunk, _COLUMNS * (chunk + 1))

    @property
    def beginnings(self) -> range:
        """Valid lanes of the destination address: 0; any lane below 32 if each lane quarter receives only one row."""
        return range(self.stride if self.band == 1 else 1)

    @property
    def columns(self) -> int:
        """Number of tensor memory columns that the copy writes."""
        return _COLUMNS * self.chunks


COPIES: Final[Mapping[tuple[str, str], Copy]] = {
    ("128x256b", ""): Copy(128, 2, 128),
    ("4x256b", ""): Copy(4, 2, 1, 32),
    ("128x128b", ""): Copy(128, 1, 128),
    ("64x128b", "warpx2::02_13"): Copy(64, 1, 64, copies=(0, 64)),
    ("64x128b", "warpx2::01_23"): Copy(64, 1, 32, 64, copies=(0, 32)),
    ("32x128b", "warpx4"): Copy(32, 1, 32, copies=(0, 32, 64, 96)),
}
"""Copies of tcgen05.cp, by shape and multicast modifiers."""


@dataclass(frozen=True, slots=True)
class Format:
    """Decompression of a 16-byte chunk: 16 packed elements, followed by padding, become 16 bytes."""

    source: Packing
    result: Packing

    def decompressed(self, chunk: bytes) -> bytes:
        """Return the decompressed chunk; bits of a byte outside its element are zero."""
        bits = int.from_bytes(chunk, "little")
        mask = (1 << self.source.bits) - 1
        found = 0
        for index in range(self.source.together):
            found |= (bits >> self.source.bit(index) & mask) << self.result.bit(index)
        return found.to_bytes(len(chunk), "little")


FORMATS: Final[Mapping[str, Format]] = {
    "b4x16_p64": Format(PADDED[4], CONTAINERS[4]),
    "b6x16_p32": Format(PADDED[6], CONTAINERS[6]),
}
"""Source formats of `.b8x16`. A 4-bit element is copied to bits 2-5 of its byte (by ldmatrix to bits 0-3)."""

SHIFT_LANES: Final = 31
"""Lanes that tcgen05.shift writes: all except the last of the 32 lanes from its address on."""

SHIFT_COLUMNS: Final = 8
"""Columns that tcgen05.shift moves: 32 bytes per lane."""


def shifted_from(lane: int) -> int:
    """Return the lane whose columns tcgen05.shift moves to `lane`, both relative to the operand's address.

    The matrix moves down: each lane receives the columns of the next lane, and the last lane is unchanged. Raise
    IndexError for an unwritten lane.
    """
    if not 0 <= lane < SHIFT_LANES:
        raise IndexError(f"lane {lane} is out of range: a shift writes {SHIFT_LANES} lanes")
    return lane + 1
