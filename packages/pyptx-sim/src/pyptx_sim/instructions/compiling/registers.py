"""Readers and writers of registers: closures of which compiled instructions are composed.

Register arrays are never modified in place: registers may share an array, and a snapshot of all registers is a list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_sim.errors import ProgramError
from pyptx_sim.machine.lanes import Lanes, merged
from pyptx_sim.machine.wave import Wave
from pyptx_sim.operation import Array
from pyptx_sim.types import B128, DType, bits_dtype, dtype_of, is_signed

if TYPE_CHECKING:
    from pyptx_sim.program.scopes import RegisterBinding

Reader: TypeAlias = Callable[[Wave, Lanes], Array]
Writer: TypeAlias = Callable[[Wave, Lanes, Array], None]

_BOOL = np.dtype(np.bool_)


def stored_dtype(width: int) -> DType:
    """Return the dtype in which a register of `width` bytes is stored; width 0 denotes a predicate."""
    return bits_dtype(width) if width else _BOOL


def read_register(register: RegisterBinding, ptx_type: str, *, checked: bool) -> Reader:
    """Return a function that reads `register` as `ptx_type`; a narrower type reads the low bits.

    With `checked`, the function reports undefined bits.
    """
    slot, width, dtype = register.slot, register.width, dtype_of(ptx_type)
    _require_kind(register, ptx_type)
    bits = stored_dtype(width)
    if width and dtype.itemsize > width:
        raise ProgramError(f".{register.type} register {register.name} is too narrow to be read as .{ptx_type}")
    narrow = width > dtype.itemsize
    low_bits = bits_dtype(dtype.itemsize)
    blank = np.zeros((1, 1), bits)
    blank.flags.writeable = False

    def read(wave: Wave, lanes: Lanes) -> Array:
        value = wave.registers[slot]
        if value is None:
            value = blank
        if narrow:
            value = (value.view(bits) if bits != B128 else value["lo"]).astype(low_bits)
        if value.dtype is not dtype:
            value = value.view(dtype)
        rows = lanes.rows
        return value if rows is None or value.shape[0] == 1 else value.take(rows, axis=0)

    if not checked:
        return read

    low = 8 * dtype.itemsize if narrow else 0

    def read_checked(wave: Wave, lanes: Lanes) -> Array:
        if slot in wave.undefined:
            wave.undefined.used(slot, register.name, lanes, low)
        return read(wave, lanes)

    return read_checked


def write_register(register: RegisterBinding, ptx_type: str, *, checked: bool) -> Writer:
    """Return a function that writes `ptx_type` values to `register`, sign- or zero-extended to a wider register."""
    width, dtype = register.width, dtype_of(ptx_type)
    _require_kind(register, ptx_type)
    if width and dtype.itemsize > width:
        raise ProgramError(f".{register.type} register {register.name} is too narrow for a .{ptx_type} result")
    store = write_slot(register.slot, checked=checked)
    if not width or dtype.itemsize == width:
        return store
    extend = extension(dtype.itemsize, min(width, 8), signed=is_signed(ptx_type))
    if width == B128.itemsize:
        return lambda wave, lanes, value: store(wave, lanes, _widest(extend(value), signed=is_signed(ptx_type)))
    return lambda wave, lanes, value: store(wave, lanes, extend(value))


def extension(size: int, width: int, *, signed: bool) -> Callable[[Array], Array]:
    """Return a function that sign- or zero-extends values of `size` bytes to `width` bytes."""
    kind = "i" if signed else "u"
    narrow, wide = np.dtype(f"<{kind}{size}"), np.dtype(f"<{kind}{width}")
    return lambda value: value.view(narrow).astype(wide)


def _widest(value: Array, *, signed: bool) -> Array:
    """Return 64-bit values sign- or zero-extended to 128 bits."""
    result = np.zeros(value.shape, B128)
    result["lo"] = value.view(np.uint64)
    if signed:
        result["hi"] = (value >> 63).view(np.uint64)
    return result


def _require_kind(register: RegisterBinding, ptx_type: str) -> None:
    if (register.type == "pred") != (ptx_type == "pred"):
        raise ProgramError(f"expected a .{ptx_type} register, got .{register.type} register {register.name}")


def write_slot(slot: int, *, checked: bool) -> Writer:
    """Return a function that writes arrays, which must have the register's width, to the register in `slot`."""

    def write(wave: Wave, lanes: Lanes, value: Array) -> None:
        if lanes.whole:
            wave.registers[slot] = value
        else:
            wave.registers[slot] = merged(wave.registers[slot], value, lanes, wave.height)

    if not checked:
        return write

    def write_checked(wave: Wave, lanes: Lanes, value: Array) -> None:
        if slot in wave.undefined:
            wave.undefined.define(slot, lanes)
        write(wave, lanes, value)

    return write_checked
