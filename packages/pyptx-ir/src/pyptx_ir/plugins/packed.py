"""Sub-byte elements of tensor maps."""

from __future__ import annotations

from typing import Final

from pyptx_ir.values import Value, value

__all__ = ["PACKED_ELEMENTS", "PackedElements"]


@value
class PackedElements(Value):
    """Sub-byte elements of tensor maps: `bits` per element in the tensor, and the CUtensorMapDataType number.

    `padded`: 16 elements take 16 bytes of shared memory, and a copy moves 128 elements in the innermost dimension.
    Manual: "Sub-byte Types".
    """

    name: str
    bits: int
    tensor_map: int
    padded: bool = False

    def elements(self, count: int) -> int:
        """Return the number of sub-byte elements in `count` bytes of the tensor."""
        return count * 8 // self.bits

    def bytes(self, count: int) -> int:
        """Return the number of bytes that `count` sub-byte elements take in the tensor."""
        return count * self.bits // 8


PACKED_ELEMENTS: Final = {
    row.name: row
    for row in (
        PackedElements("b4x16", 4, 13),
        PackedElements("b4x16_p64", 4, 14, padded=True),
        PackedElements("b6x16_p32", 6, 15, padded=True),
    )
}
"""Sub-byte elements by name in the manual; the manual calls the last element type `b6p2x16` in stores."""
