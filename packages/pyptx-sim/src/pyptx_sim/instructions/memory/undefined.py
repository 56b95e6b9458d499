"""Undefined bits of loads and stores, which propagate between registers and memory without a finding.

A store of undefined bits to host-visible memory is a finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.instructions.compiling.carrying import undefined_in
from pyptx_sim.machine.lanes import WARP
from pyptx_sim.program.program import ALL_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_sim.instructions.compiling.carrying import Carried
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.memory.access import Access, LaneOffsets
    from pyptx_sim.machine.memory.spaces import SpaceMemory
    from pyptx_sim.machine.undefined import Origin
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask
    from pyptx_sim.types import DType

__all__ = ["leave_bits", "leave_loaded", "leave_stored", "loaded"]


def loaded(
    access: Access, wave: Wave, lanes: Lanes, memory: SpaceMemory, places: LaneOffsets, dtype: DType
) -> tuple[list[Array], Origin] | None:
    """Return the undefined bits of loaded values, as elements of `dtype`, and their origin; None if there are none."""
    count = access.size // dtype.itemsize
    bits = memory.arena.undefined(places.offsets, dtype, count)
    if bits is None:
        return None
    if access.used != ALL_BYTES:
        bits = [each & _used_bits(access.used, each.dtype.itemsize, number) for number, each in enumerate(bits)]
    missing: Mask = np.logical_or.reduce([each != 0 for each in bits])
    return (bits, access.origin(wave, lanes, memory, places, missing)) if missing.any() else None


def _used_bits(used: int, size: int, number: int) -> np.unsignedinteger:
    """Return the bits of loaded element `number` that the program uses; `used` has one bit per loaded byte."""
    mask = sum(0xFF << 8 * byte for byte in range(size) if used >> (number * size + byte) & 1)
    bits: np.unsignedinteger = np.dtype(f"<u{size}").type(mask)
    return bits


def leave_loaded(
    wave: Wave, lanes: Lanes, registers: Sequence[Carried | None], bits: Sequence[Array], origin: Origin
) -> None:
    """Set the undefined bits of registers that active lanes have just loaded."""
    for register, each in zip(registers, bits, strict=True):
        if register is not None:
            known = np.where(lanes.full_mask, each, each.dtype.type(0))
            if known.any():
                register.leave(wave, lanes, known, origin)


def leave_stored(
    access: Access,
    wave: Wave,
    lanes: Lanes,
    memory: SpaceMemory,
    places: LaneOffsets,
    registers: Sequence[Carried | None],
) -> None:
    """Set the undefined bits of stored values in memory, or report them if the memory is host-visible.

    The values of `registers` are stored contiguously at each offset of `places`.
    """
    found = undefined_in(wave, lanes, registers)
    if found is not None:
        leave_bits(access, wave, lanes, memory, places, registers, *found)


def leave_bits(
    access: Access,
    wave: Wave,
    lanes: Lanes,
    memory: SpaceMemory,
    places: LaneOffsets,
    registers: Sequence[Carried | None],
    bits: Sequence[Array | None],
    origin: Origin,
) -> None:
    """Set or report undefined bits like `leave_stored`, given the undefined `bits` of the stored values."""
    if all(each is None for each in bits):
        return
    positions, columns = lanes.active
    offsets = places.offsets
    if places.positions is None or places.columns is None:
        offsets = np.broadcast_to(offsets, (lanes.height, WARP))[positions, columns]
    else:
        positions, columns = places.positions, places.columns
    size = access.size
    kind = next(each.dtype for each in bits if each is not None)
    flat = [np.zeros(len(offsets), kind) if each is None else each[positions, columns] for each in bits]
    dirty: Mask = np.logical_or.reduce([each != 0 for each in flat])
    if memory.space == "global":
        shown = dirty & wave.machine.memories["global"].buffers.shown(offsets)
        whole: Mask = np.logical_and.reduce([each == ~each.dtype.type(0) for each in flat])
        told = shown & whole if origin.padding else shown  # no finding if the stored element also has defined bytes
        _report_shown(wave, lanes, registers, (positions[told], columns[told]))
        dirty &= ~shown
    if dirty.any():
        memory.arena.leave(offsets[dirty], size, [each[dirty] for each in flat], origin)


def _report_shown(
    wave: Wave, lanes: Lanes, registers: Sequence[Carried | None], where: tuple[IntArray, IntArray]
) -> None:
    """Report registers whose undefined bits lanes store to host-visible memory; `where` is (rows, lane numbers)."""
    mask = np.zeros((lanes.height, WARP), np.bool_)
    mask[where] = True
    some = lanes.narrowed(mask)
    if some is not None:
        for each in registers:
            if each is not None:
                each.used(wave, some)
