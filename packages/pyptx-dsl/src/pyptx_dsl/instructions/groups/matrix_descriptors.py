"""Matrix descriptors of shared memory: computation of the start address field, which all architectures share.

A descriptor contains bits 4 to 17 of the start address in its lowest 14 bits. The other fields (strides, swizzle) are a
constant that an architecture's package computes; `SharedTile` has the numbers. Manual: "Matrix Descriptor Format",
"Shared memory descriptor".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.instructions.groups.stage_addresses import result_type
from pyptx_dsl.registers.operands import AddressOperand, as_integer
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.shared_memory.allocations import SharedAddress, SharedAlloc, SharedSlice
from pyptx_dsl.shared_memory.tiles import CORE_ROWS, SharedTile
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import BY_NAME, u32, u64
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.tracing.trace import Trace

__all__ = [
    "FIELD_BITS",
    "STEPS",
    "UNIT_BYTES",
    "advance",
    "check_start",
    "emit_descriptor",
    "emit_steps",
    "field_units",
    "tile_of",
]

UNIT_BYTES = 16
"""Unit of the address and offset fields of a matrix descriptor, in bytes."""
FIELD_BITS = 14
_MOST = (1 << FIELD_BITS) - 1
_UNIT_SHIFT = 4
STEPS: dict[str, tuple[str | int, ...]] = {
    "add": ("byte_offset",),
    "and": ("mask",),
    "shr": (_UNIT_SHIFT,),
    "bfe": (_UNIT_SHIFT, FIELD_BITS),
    "cvt": (),
    "or": ("const_bits",),
}
"""Opcode -> source operands after the previous step's result; a string is a key of `numbers` in `emit_steps`."""


def field_units(name: str, value: object) -> int:
    """Return a number of bytes as a descriptor field, in 16-byte units; raise OperandError if it does not fit."""
    number = as_integer(value)
    if number is None or number % UNIT_BYTES or not 0 <= number // UNIT_BYTES <= _MOST:
        raise OperandError(
            f"{name} of a matrix descriptor must be a multiple of {UNIT_BYTES} up to {_MOST * UNIT_BYTES} "
            f"bytes, got {value!r}",
            help="use the strides of a SharedTile",
        )
    return number // UNIT_BYTES


def emit_descriptor(what: str, base: object, constant: int, byte_offset: int = 0) -> Reg:
    """Emit a descriptor for the address `base + byte_offset` and return its register (u64).

    Three instructions: `bfe.u32` extracts the address field, `cvt.u64.u32` widens it, `or.b64` adds the other fields.
    One `mov` more if `base` is a symbol, one `add` more for a register with an offset, no `cvt` for a 64-bit register.
    """
    trace = active(what)
    start = _start(trace, base, byte_offset)
    result = trace.fresh(u64)
    if start.dtype.bits == u64.bits:
        trace.emit(("bfe", "u64"), (result, start, _UNIT_SHIFT, FIELD_BITS))
    else:
        field = trace.fresh(u32)
        trace.emit(("bfe", "u32"), (field, start, _UNIT_SHIFT, FIELD_BITS))
        trace.emit(("cvt", "u64", "u32"), (result, field))
    trace.emit(("or", "b64"), (result, result, constant))
    return result


def emit_steps(
    trace: Trace, base: Reg, steps: str, numbers: tuple[Reg | int, Reg | int, int], temps: Sequence[Reg] | None
) -> Reg:
    """Emit one instruction per opcode, each reading the result of the previous one, and return the last result.

    `numbers` are the byte offset, the address mask and the other fields of the descriptor. Instruction `n` writes
    `temps[n]`, or a new register.
    """
    said: dict[str, Reg | int] = {}
    said |= zip(("byte_offset", "mask", "const_bits"), numbers, strict=True)
    opcodes = [tuple(step.split(".")) for step in steps.split()]
    if temps is not None and len(temps) != len(opcodes):
        raise OperandError(
            f"expected {len(opcodes)} registers for {len(opcodes)} steps, got {len(temps)}",
            help="pass one register per opcode",
        )
    value = base
    for number, opcode in enumerate(opcodes):
        if opcode[0] not in STEPS or opcode[-1] not in BY_NAME:
            help = f"use {', '.join(STEPS)}, each with its type, as in 'add.s32'"
            raise OperandError(f"{'.'.join(opcode)!r} does not occur in the computation of a descriptor", help=help)
        result = trace.fresh(result_type(opcode)) if temps is None else temps[number]
        more = [said[each] if isinstance(each, str) else each for each in STEPS[opcode[0]]]
        trace.emit(opcode, (result, value, *more))
        value = result
    return value


def _start(trace: Trace, base: object, byte_offset: int) -> Reg:
    """Return a register with the address `base + byte_offset`; raise OperandError for an invalid address."""
    if isinstance(base, SharedAddress) and base.register is not None:
        base = base.register
    if isinstance(base, Reg):
        if not base.dtype.is_integer or base.dtype.bits < u32.bits:
            raise RegisterTypeError(
                f"expected an address, got the {base.dtype} register {base.raw_name}", help="pass a u32 register"
            )
        return base + byte_offset if byte_offset else base
    if isinstance(base, SharedAlloc):
        base = SharedAddress(base.name, 0, trace)
    if not isinstance(base, SharedAddress | AddressOperand | str):
        raise OperandError(
            f"expected an address in shared memory, got {base!r}",
            help="pass a tile, a stage of a tile, or a u32 register",
        )
    return _moved(trace, base, byte_offset)


def _moved(trace: Trace, base: SharedAddress | AddressOperand | str, byte_offset: int) -> Reg:
    """Emit `mov.u32 d, symbol+offset;` and return `d`."""
    address = AddressOperand(base, byte_offset).__ptx_operand__(trace)
    assert isinstance(address, tree.Address)  # noqa: S101  an AddressOperand becomes an Address
    if isinstance(address.base, tree.Register):
        raise OperandError(
            "a descriptor needs an address register, not ptx.addr(register)", help="pass the register itself"
        )
    whole = address.base if address.offset is None else tree.Binary("+", address.base, address.offset)
    result = trace.fresh(u32)
    trace.emit(("mov", "u32"), (result, whole))
    return result


def advance(what: str, descriptor: Reg, byte_offset: int, times: Reg | None = None) -> Reg:
    """Emit three instructions and return the descriptor for the address `byte_offset` bytes higher.

    Only the descriptor's lower half, with the address, changes. ptxas then treats the upper half as constant; a 64-bit
    addition would make ptxas compute both halves. With `times`, a 32-bit register, the distance is `times *
    byte_offset`.

    The address must be below 256 KiB, the range of the address field; shared memory addresses always are.
    """
    if descriptor.dtype.bits != u64.bits:
        raise RegisterTypeError(
            f"expected a descriptor, got the {descriptor.dtype} register {descriptor.raw_name}",
            help="pass a u64 register",
        )
    number = as_integer(byte_offset)
    if number is None or number % UNIT_BYTES:
        raise OperandError(
            f"a descriptor cannot advance by {byte_offset!r} bytes", help=f"pass a distance divisible by {UNIT_BYTES}"
        )
    trace = active(what)
    low, high, result = trace.fresh(u32), trace.fresh(u32), trace.fresh(u64)
    trace.emit(("mov", "b64"), ([low, high], descriptor))
    if times is None:
        trace.emit(("add", "u32"), (low, low, number // UNIT_BYTES))
    else:
        trace.emit(("mad", "lo", "u32"), (low, times, number // UNIT_BYTES, low))
    trace.emit(("mov", "b64"), (result, [low, high]))
    return result


def tile_of(value: object) -> SharedTile | None:
    """Return the SharedTile of an allocation by `smem.tile`, or of a stage of it; None for any other value."""
    owner = value.alloc if isinstance(value, SharedSlice) else value
    found = owner.gmma_layout if isinstance(owner, SharedAlloc) else None
    return found if isinstance(found, SharedTile) else None


def check_start(what: str, part: SharedSlice, tile: SharedTile) -> None:
    """Raise OperandError for a slice of a tile that begins, or may begin, inside an 8-row swizzle atom."""
    outer = len(part.alloc.shape) - 2
    if part.register is not None and len(part.indices) > outer:
        raise OperandError(
            f"{what}: the first row of {part!r} is not known while tracing",
            help="make a descriptor of the stage, and advance the descriptor by tile.offset(…)",
        )
    if part.register is None and part.byte_offset % (CORE_ROWS * tile.box_row_bytes):
        raise OperandError(
            f"{what}: {part!r} begins {part.byte_offset} bytes into {tile!r}, inside a swizzle atom",
            help=f"begin at a stage, or at a multiple of {CORE_ROWS} rows\n{tile.picture()}",
        )
