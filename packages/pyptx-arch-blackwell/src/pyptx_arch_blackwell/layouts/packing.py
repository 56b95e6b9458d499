"""Packing of elements of A, B and D along a row, in shared and tensor memory.

Manual: "Packing formats of elements in Tensor and Shared memory", "Absolute address mode for K dimension being 48B".

For kinds f8f6f4 and mxf8f6f4, 16 elements of 4 or 6 bits occupy 16 bytes. In shared memory they are packed and followed
by padding, as TMA writes them (`.b4x16_p64`, `.b6x16_p32`); in tensor memory each element is in a byte of its own: a
6-bit element in the lower bits, a 4-bit element in bits 2-5: the manual states this for mma.sync, and has a figure for
tcgen05, which was not available. Elements of other kinds are contiguous, the first element in the lowest bits. Not
verified on hardware.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CONTAINERS",
    "PADDED",
    "WIDTHS",
    "Packing",
    "chunk_addresses",
    "in_shared_memory",
    "in_tensor_memory",
    "lanes_of_a",
    "of_sums",
]

_CELL = 32  # number of bits of a tensor memory cell (one lane of one column)
_BYTE = 8
# Bytes of a core matrix row: the part of an operand row that is contiguous in shared memory with any swizzle.
_CHUNK = 16
_ROW = 128  # bytes of a shared memory row of the widest swizzle (128B)
_LANES = 128

WIDTHS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("f16", "bf16"), 16),
    **dict.fromkeys(("tf32", "f32", "s32"), 32),
    **dict.fromkeys(("e4m3", "e5m2", "s8", "u8"), 8),
    **dict.fromkeys(("e2m3", "e3m2"), 6),
    "e2m1": 4,
}
"""Bits of one element, by element type."""

_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "f16": ("f16", "bf16"),
    "tf32": ("tf32",),
    "i8": ("s8", "u8"),
    **dict.fromkeys(("f8f6f4", "mxf8f6f4"), ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")),
    **dict.fromkeys(("mxf4", "mxf4nvf4"), ("e2m1",)),
}
_IN_CONTAINERS: Final = ("f8f6f4", "mxf8f6f4")


@dataclass(frozen=True, slots=True)
class Packing:
    """Packing of `bits`-wide elements: `together` contiguous elements in each `room` bits, from bit `shift` on."""

    bits: int
    room: int
    together: int = 1
    shift: int = 0

    def bit(self, index: int) -> int:
        """Return the bit offset of an element from the start of its row; bit 8 is the lowest bit of the second byte."""
        group, inside = divmod(index, self.together)
        return group * self.room + inside * self.bits + self.shift

    def cell(self, index: int) -> tuple[int, int]:
        """Return the tensor memory column of element `index` of a row (0: the row's first), and its first bit there."""
        return divmod(self.bit(index), _CELL)

    def columns(self, count: int) -> int:
        """Return the number of tensor memory columns that `count` elements of a row occupy."""
        return -(-count * self.room // (self.together * _CELL))


PADDED: Final[Mapping[int, Packing]] = {bits: Packing(bits, _BYTE * _CHUNK, _CHUNK) for bits in (4, 6)}
"""Sixteen elements of 4 or 6 bits in 16 bytes: `.b4x16_p64` and `.b6x16_p32`."""

CONTAINERS: Final[Mapping[int, Packing]] = {4: Packing(4, _BYTE, shift=2), 6: Packing(6, _BYTE)}
"""One element of 4 or 6 bits per byte."""


def in_shared_memory(kind: str, element: str) -> Packing:
    """Return the packing of A and B in shared memory along K; raise ValueError if the kind lacks the element type."""
    bits = _width(kind, element)
    return PADDED[bits] if kind in _IN_CONTAINERS and bits in PADDED else Packing(bits, bits)


def in_tensor_memory(kind: str, element: str) -> Packing:
    """Return the packing of A in tensor memory along K; raise ValueError if the kind lacks the element type.

    For a sparse A, tensor memory holds only the stored elements.
    """
    bits = _width(kind, element)
    return CONTAINERS[bits] if kind in _IN_CONTAINERS and bits in CONTAINERS else Packing(bits, bits)


def of_sums(element: str) -> Packing:
    """Return the packing of D along N in tensor memory: one column per element, an f16 in its lower half."""
    return Packing(WIDTHS[element], _CELL)


def _width(kind: str, element: str) -> int:
    if element not in _KINDS.get(kind, ()):
        raise ValueError(f"kind::{kind} does not support {element} elements")
    return WIDTHS[element]


def lanes_of_a(
    row: int, *, m: int, group: int = 1, sparse: bool = False, weight_stationary: bool = False
) -> tuple[int, ...]:
    """Return the lanes that hold row `row` of one CTA's part of A (of `group` CTAs), relative to A's address.

    If groups of lanes compute different columns of the same rows of D, each lane group has a copy of A: with M = 128 of
    a CTA pair, as in CuTe, and in weight-stationary MMAs with M of 32 and 64, which is an assumption. Raise IndexError
    for a row that the CTA does not have.
    """
    rows = m // group
    if not 0 <= row < rows:
        raise IndexError(f"row {row} is out of range: {rows} rows")
    half = rows < _LANES and not weight_stationary and (group == 1 or sparse)
    if half:
        band, inside = divmod(row, 16)
        return (32 * band + inside,)
    return tuple(range(row, _LANES, rows))


def chunk_addresses(start: int, following: int, count: int = 3) -> tuple[int, ...]:
    """Return the addresses of a row's 16-byte chunks, before swizzling, with the absolute leading address `following`.

    K = 96 (48 bytes) is read this way from rows of 128 bytes: chunks past the end of the row at `start` continue at
    `following`. Both are addresses in the matrix's first row; other rows are as in any K-major matrix. CUTLASS issues
    eight MMAs for three rows of 128 bytes; two of the eight continue at `following`.
    """
    fitting = (_ROW - start % _ROW) // _CHUNK
    return tuple(
        start + _CHUNK * chunk if chunk < fitting else following + _CHUNK * (chunk - fitting) for chunk in range(count)
    )
