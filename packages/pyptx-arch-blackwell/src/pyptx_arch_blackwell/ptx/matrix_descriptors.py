"""Shared memory descriptors for tcgen05: of a tile, of an address, or from given bits.

Manual: "Shared memory descriptor", "Major-ness supported by Strides". Bit fields: `pyptx_arch_blackwell.descriptors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_arch_blackwell.descriptors import DescriptorError, InstructionDescriptor, SharedDescriptor
from pyptx_arch_blackwell.ptx.operands import descriptor_register, refused
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.groups import matrix_descriptors as shared_matrices
from pyptx_dsl.instructions.groups.matrix_descriptors import check_start, emit_descriptor, emit_steps, tile_of
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.shared_memory.allocations import SharedAlloc, SharedSlice
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import u32, u64

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.shared_memory.tiles import SharedTile

__all__ = [
    "MASKED_B128",
    "advance",
    "descriptor",
    "make_descriptor",
    "make_instr_desc_f16bf16_f32",
    "masked_descriptor",
    "matrix_operand",
    "shared_descriptor",
]

MASKED_B128: Final = 0x4000404000010000
"""Descriptor bits with address 0: 128-byte swizzle, 1024 bytes between groups of 8 rows."""
_ADDRESS_MASK = 0x3FFF0
_SWIZZLES = {"NONE": (0, 16), "32B": (32, 16), "64B": (64, 16), "128B": (128, 16), "128B_BASE32B": (128, 32)}
_UNIT = 16


def shared_descriptor(tile: SharedTile) -> SharedDescriptor:
    """Return the descriptor of a tile, with address 0."""
    swizzle = 0 if tile.swizzle is None else tile.box_row_bytes
    return SharedDescriptor(leading=tile.leading_byte_offset, stride=tile.stride_byte_offset, swizzle=swizzle)


def matrix_operand(what: str, name: str, value: object, byte_offset: int = 0) -> object:
    """Return the descriptor operand: the register `value`, or a new register with the descriptor of tile `value`."""
    if isinstance(value, SharedAlloc | SharedSlice):
        return _of_tile(f"{what}: {name}", value, byte_offset)
    register = descriptor_register(what, name, value)
    if not byte_offset:
        return register
    if not isinstance(register, Reg):
        raise OperandError(
            f"{what}: {name}_k_offset={byte_offset} is not valid for {value!r}", help="pass a tile, or its descriptor"
        )
    return shared_matrices.advance(what, register, byte_offset)


def _of_tile(what: str, value: SharedAlloc | SharedSlice, byte_offset: int) -> Reg:
    tile = tile_of(value)
    if tile is None:
        raise OperandError(
            f"{what}: the matrix layout of {value!r} is unknown",
            help="allocate it with smem.tile(SharedTile(…)), or pass a descriptor from ptx.tcgen05.make_descriptor",
        )
    if isinstance(value, SharedSlice):
        check_start(what, value, tile)
    return emit_descriptor(what, value, shared_descriptor(tile).bits, byte_offset)


def descriptor(
    tile: object,
    *,
    mn: int = 0,
    k: int = 0,
    byte_offset: int = 0,
    stride_bytes: int | None = None,
    leading_bytes: int = 16,
    swizzle: str | None = "128B",
    version: int = 1,
    base_offset: int = 0,
    lbo_mode: int = 0,
) -> Reg:
    """Return the descriptor of a tile of `smem.tile`, or of a stage of a tile, for an MMA that starts at (mn, k).

    Emits three instructions (`bfe`, `cvt`, `or`), preceded by one `mov` or `add` if the address is static or has an
    offset. Strides and swizzle are those of the tile. Raise SpecError, with a diagram, for a position at which no MMA
    can start.

    For an address (a u32 register, a shared variable), pass strides and swizzle: `stride_bytes` between groups of 8
    rows (MN-major: groups of 8 elements along K), `leading_bytes`, and `swizzle`, "NONE", "32B", "64B", "128B", or
    "128B_BASE32B" with atoms of 32 bytes. `lbo_mode=1` makes `leading_bytes` an address.
    """
    what = "ptx.tcgen05.descriptor"
    layout = tile_of(tile)
    if layout is not None:
        if stride_bytes is not None:
            raise OperandError(
                f"{what}: stride_bytes is not valid for {layout!r}",
                help=f"leave stride_bytes= out: the tile defines it\n{layout.picture()}",
            )
        assert isinstance(tile, SharedAlloc | SharedSlice)  # noqa: S101 - only these have a tile
        return _of_tile(what, tile, layout.offset(mn=mn, k=k) + byte_offset)
    if stride_bytes is None or mn or k:
        help = "pass a tile of smem.tile(SharedTile(…)), or stride_bytes= (and byte_offset=) of an address"
        raise OperandError(f"{what}: the matrix layout of {tile!r} is unknown", help=help)
    if version != 1:
        raise OperandError(f"{what}: version={version!r}", help="tcgen05 descriptors must have version 1")
    return make_descriptor(
        tile,
        leading_byte_offset=leading_bytes,
        stride_byte_offset=stride_bytes,
        swizzle=swizzle,
        base_offset=base_offset,
        addr_byte_offset=byte_offset,
        absolute_leading=bool(lbo_mode),
    )


def make_descriptor(
    smem_base: object,
    *,
    leading_byte_offset: int,
    stride_byte_offset: int,
    swizzle: str | int | None = None,
    base_offset: int = 0,
    addr_byte_offset: int = 0,
    absolute_leading: bool = False,
) -> Reg:
    """Return a descriptor with the given field values, in bytes, for a matrix at `smem_base + addr_byte_offset`.

    Emits three instructions (`bfe`, `cvt`, `or`), preceded by one `mov` or `add` if the address is static or has an
    offset. `swizzle` is 0, 32, 64 or 128 bytes, None, "32B", "64B", "128B", or "128B_BASE32B". Raise OperandError for a
    number that does not fit its field.
    """
    what = "ptx.tcgen05.make_descriptor"
    name = "NONE" if swizzle in (None, 0, "NONE") else f"{swizzle}B" if isinstance(swizzle, int) else str(swizzle)
    if name not in _SWIZZLES:
        raise OperandError(f"{what}: swizzle={swizzle!r}", help=f"use one of {', '.join(_SWIZZLES)}")
    width, atom = _SWIZZLES[name]
    try:
        fields = SharedDescriptor(
            leading=leading_byte_offset,
            stride=stride_byte_offset,
            swizzle=width,
            atom=atom,
            base_offset=base_offset,
            absolute_leading=absolute_leading,
        )
    except DescriptorError as error:
        refused(what, error)
    return emit_descriptor(what, smem_base, fields.bits, addr_byte_offset)


def advance(descriptor: Reg, byte_offset: int, *, times: Reg | None = None) -> Reg:
    """Return the descriptor advanced by `byte_offset` bytes (see `SharedTile.offset`), with three instructions.

    `mov.b64` splits the descriptor, `add.u32` advances its lower half, which contains the address, and `mov.b64`
    combines the halves. With `times` (a u32 register, such as the index of a stage) `byte_offset` is multiplied by
    `times`: `mad.lo.u32` replaces `add.u32`.
    """
    return shared_matrices.advance("ptx.tcgen05.advance", descriptor, byte_offset, times)


def masked_descriptor(
    smem_addr: Reg,
    byte_offset: Reg | int = 0,
    *,
    mask: Reg | int = _ADDRESS_MASK,
    const_bits: int = MASKED_B128,
    steps: str | None = None,
    temps: Sequence[Reg] | None = None,
) -> Reg:
    """Return a descriptor computed as `((smem_addr + byte_offset) & mask) >> 4 | const_bits`.

    Emits four instructions (`and`, `shr`, `cvt`, `or`), preceded by one `add` for an offset. `steps` are the opcodes of
    another compiler's equivalent instructions, in order: `"add.s64 and.b64 shr.u64 or.b64"`. Instruction `n` writes
    `temps[n]`, or a new register if `temps` is None; the last instruction writes the descriptor.
    """
    trace = active("ptx.tcgen05.masked_descriptor")
    if steps is not None:
        return emit_steps(trace, smem_addr, steps, (byte_offset, mask, const_bits), temps)
    if temps is not None:
        raise OperandError("temps= needs steps=", help='pass steps= too: "add.s64 and.b64 shr.u64 or.b64"')
    start = smem_addr if as_integer(byte_offset) == 0 else smem_addr + byte_offset
    field, result = trace.fresh(u32), trace.fresh(u64)
    trace.emit(("and", "b32"), (field, start, mask))
    trace.emit(("shr", "u32"), (field, field, 4))
    trace.emit(("cvt", "u64", "u32"), (result, field))
    trace.emit(("or", "b64"), (result, result, const_bits))
    return result


def make_instr_desc_f16bf16_f32(
    *,
    m: int = 128,
    n: int = 256,
    ab_dtype: str = "bf16",
    a_major: str = "K",
    b_major: str = "K",
    scale_a: int = 1,
    scale_b: int = 1,
    saturate: bool = False,
    sparse: bool = False,
    max_shift: int = 0,
) -> int:
    """Return the instruction descriptor bits of an MMA f32 += f16, bf16 or tf32; nothing is emitted.

    `InstructionDescriptor` supports all kinds. `scale_a=-1` and `scale_b=-1` negate; `max_shift` is 0, 1, 2 or 3 for no
    shift, 8, 16 or 32 columns. Raise OperandError for an invalid combination.
    """
    what = "ptx.tcgen05.make_instr_desc_f16bf16_f32"
    if scale_a not in (1, -1) or scale_b not in (1, -1):
        raise OperandError(f"{what}: invalid scale_a={scale_a!r}, scale_b={scale_b!r}", help="use 1, or -1 to negate")
    if max_shift not in (0, 1, 2, 3):
        raise OperandError(
            f"{what}: invalid max_shift {max_shift!r}", help="use 0, 1, 2 or 3 for no shift, 8, 16 or 32 columns"
        )
    try:
        return InstructionDescriptor(
            "tf32" if ab_dtype == "tf32" else "f16",
            d="f32",
            a=ab_dtype,
            b=ab_dtype,
            m=m,
            n=n,
            a_major=a_major,
            b_major=b_major,
            negate_a=scale_a == -1,
            negate_b=scale_b == -1,
            saturate=saturate,
            sparse=sparse,
            max_shift=(0, 8, 16, 32)[max_shift],
        ).bits
    except DescriptorError as error:
        refused(what, error)
