"""Elements of tensor maps that share bytes."""

from __future__ import annotations

from typing import Final

from pyptx_ir.values import Value, value

__all__ = ["PACKED_ELEMENTS", "PackedElements"]


@value
class PackedElements(Value):
    """Elements of tensor maps that share bytes: `bits` of each in the tensor, and the number of a CUtensorMapDataType.

    `padded`: 16 of them take 16 bytes of shared memory, where a copy moves 128 along the innermost dimension. Manual:
    "Sub-byte Types".
    """

    name: str
    bits: int
    tensor_map: int
    padded: bool = False

    def elements(self, count: int) -> int:
        """Return how many elements bytes of the tensor hold."""
        return count * 8 // self.bits

    def bytes(self, count: int) -> int:
        """Return the bytes of the tensor that elements take."""
        return count * self.bits // 8


PACKED_ELEMENTS: Final = {
    row.name: row
    for row in (
        PackedElements("b4x16", 4, 13),
        PackedElements("b4x16_p64", 4, 14, padded=True),
        PackedElements("b6x16_p32", 6, 15, padded=True),
    )
}
"""By their names in the manual; stores call the last one `b6p2x16`."""
