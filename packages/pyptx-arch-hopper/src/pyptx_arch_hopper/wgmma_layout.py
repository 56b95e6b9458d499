"""Layouts of wgmma operands with the API of pyptx 0.1.1; `SharedTile` provides the same layouts.

layout = layout_for_a(dtype=bf16, m=64, k=64)
layout.swizzle_code, layout.leading_byte_offset, layout.stride_byte_offset   # for ptx.wgmma.make_descriptor
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from pyptx_dsl.errors import SpecError
from pyptx_dsl.shared_memory.tiles import Major, SharedTile
from pyptx_dsl.types import b8, b16, b32

if TYPE_CHECKING:
    from pyptx_dsl.types import PtxType

__all__ = ["GmmaLayout", "LayoutType", "layout_for_a", "layout_for_b", "pick_gmma_layout"]

_BY_BYTES = {1: b8, 2: b16, 4: b32}
_TRANSPOSABLE_BITS = 16


class LayoutType(IntEnum):
    """The swizzle field of a descriptor. Manual: "Matrix Descriptor Format", bits 62-63."""

    INTERLEAVE = 0
    B128 = 1
    B64 = 2
    B32 = 3


@dataclass(frozen=True, slots=True)
class GmmaLayout:
    """Descriptor fields of a tile, in bytes, and the names of the swizzle for TMA and for `smem.alloc`."""

    layout_type: LayoutType
    leading_byte_offset: int
    stride_byte_offset: int
    tma_swizzle: str
    smem_swizzle: str | None

    @property
    def swizzle_code(self) -> int:
        """Swizzle field, the argument `swizzle` of `ptx.wgmma.make_descriptor`."""
        return int(self.layout_type)

    @staticmethod
    def of(tile: SharedTile) -> GmmaLayout:
        """Return a tile's descriptor fields; raise SpecError, with a diagram, for a tile that wgmma cannot read."""
        if tile.major == Major.MN.name and tile.dtype.bits != _TRANSPOSABLE_BITS:
            raise SpecError(
                f"{tile!r}: wgmma reads MN-major matrices of 16-bit types only",
                help=f"store it K-major: transpose it when it is written\n{tile.picture()}",
            )
        return GmmaLayout(
            LayoutType(tile.swizzle_code),
            tile.leading_byte_offset,
            tile.stride_byte_offset,
            tile.swizzle or "NONE",
            tile.swizzle,
        )


def pick_gmma_layout(*, elem_bytes: int, m_or_n: int, k: int, major: Major) -> GmmaLayout:
    """Return the layout with the widest swizzle for a tile of elements of 1, 2 or 4 bytes.

    Raise SpecError, which is a ValueError, with a diagram for a tile that wgmma cannot read.
    """
    dtype = _BY_BYTES.get(elem_bytes)
    if dtype is None:
        raise SpecError(f"elem_bytes must be 1, 2 or 4, got {elem_bytes!r}")
    return GmmaLayout.of(_tile(dtype, m_or_n, k, Major(major)))


def layout_for_a(*, dtype: PtxType, m: int, k: int) -> GmmaLayout:
    """Return the shared memory layout of operand A, M x K with K contiguous."""
    return GmmaLayout.of(_tile(dtype, m, k, Major.K))


def layout_for_b(*, dtype: PtxType, k: int, n: int) -> GmmaLayout:
    """Return the shared memory layout of operand B, K x N with N contiguous."""
    return GmmaLayout.of(_tile(dtype, n, k, Major.MN))


def _tile(dtype: PtxType, mn: int, k: int, major: Major) -> SharedTile:
    return SharedTile(dtype, (mn, k) if major is Major.K else (k, mn), major=major.name)
