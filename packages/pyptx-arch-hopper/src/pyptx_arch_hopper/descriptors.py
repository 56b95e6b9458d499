"""The 64-bit matrix descriptor of wgmma for an operand in shared memory.

Manual: "Asynchronous Warpgroup Level Matrix Instructions: Matrix Descriptor Format". Address and byte-offset fields
hold bytes divided by 16:

| bits | field |
|---|---|
| 0–13 | start address |
| 16–29 | leading dimension byte offset |
| 32–45 | stride dimension byte offset |
| 49–51 | base offset: 128-byte row of addresses at which the swizzle pattern starts, 0 after a tensor copy |
| 62–63 | swizzle: 0 none, 1 128B, 2 64B, 3 32B |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_hopper.wgmma_layout import GmmaLayout
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.groups import matrix_descriptors
from pyptx_dsl.instructions.groups.matrix_descriptors import check_start, emit_descriptor, field_units
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.shared_memory.allocations import SharedAlloc, SharedSlice
from pyptx_dsl.shared_memory.tiles import SharedTile

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg

__all__ = ["advance", "constant_bits", "descriptor_of", "tile_of"]

_LEADING, _STRIDE, _BASE, _SWIZZLE = 16, 32, 49, 62


def constant_bits(*, leading: int, stride: int, swizzle: int, base: int = 0) -> int:
    """Return descriptor bits with start address 0; raise OperandError for a number that does not fit its field."""
    fields = (("leading_byte_offset", leading), ("stride_byte_offset", stride))
    units = [field_units(name, value) for name, value in fields]
    for name, value, most in (("swizzle", swizzle, 3), ("base_offset", base, 7)):
        if as_integer(value) is None or not 0 <= value <= most:
            raise OperandError(f"{name} of a matrix descriptor must be 0 to {most}, got {value!r}")
    return units[0] << _LEADING | units[1] << _STRIDE | base << _BASE | swizzle << _SWIZZLE


def advance(descriptor: Reg, byte_offset: int, times: Reg | None = None) -> Reg:
    """Emit three instructions and return the descriptor advanced by `byte_offset` bytes."""
    return matrix_descriptors.advance("ptx.wgmma.advance", descriptor, byte_offset, times)


def tile_of(value: object) -> SharedTile | None:
    """Return the `SharedTile` of an allocation made by `smem.tile`, or of one of its stages; None for other values.

    An allocation made by `smem.alloc_with_layout` with a `GmmaLayout` has a tile too, of the shape of the allocation.
    """
    owner = value.alloc if isinstance(value, SharedSlice) else value
    found = owner.gmma_layout if isinstance(owner, SharedAlloc) else None
    if isinstance(owner, SharedAlloc) and isinstance(found, GmmaLayout):
        return _agreed(owner, found)
    return matrix_descriptors.tile_of(value)


def _agreed(owner: SharedAlloc, layout: GmmaLayout) -> SharedTile:
    """Return the `SharedTile` of an allocation with a GmmaLayout; raise OperandError if their shapes disagree."""
    major = getattr(owner.gmma_major, "name", owner.gmma_major)
    if major is None:
        raise OperandError(f"the major dimension of {owner!r} is unknown", help='pass gmma_major="K" or "MN"')
    tile = SharedTile(owner.dtype, owner.shape[-2:], major=str(major), swizzle=layout.smem_swizzle)
    if GmmaLayout.of(tile) != layout or owner.swizzle != layout.smem_swizzle:
        raise OperandError(
            f"{owner!r} does not match {layout!r}",
            help=f"allocate it with smem.tile({tile!r})\n{tile.picture()}",
        )
    return tile


def descriptor_of(what: str, value: object, byte_offset: int = 0) -> Reg:
    """Emit the descriptor of a tile, or of a stage of a tile; see `emit_descriptor` for the number of instructions.

    Raise OperandError for an allocation without a layout, and with a diagram for an offset inside a swizzle atom.
    """
    tile = tile_of(value)
    if tile is None:
        raise OperandError(
            f"{what}: the matrix layout of {value!r} is unknown",
            help="allocate it with smem.tile(SharedTile(…)), or pass a descriptor from ptx.wgmma.make_descriptor",
        )
    if isinstance(value, SharedSlice):
        check_start(what, value, tile)
    layout = GmmaLayout.of(tile)
    constant = constant_bits(
        leading=layout.leading_byte_offset, stride=layout.stride_byte_offset, swizzle=layout.swizzle_code
    )
    return emit_descriptor(what, value, constant, byte_offset)
