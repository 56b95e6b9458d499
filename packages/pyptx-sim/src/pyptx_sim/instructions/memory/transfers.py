"""Loads and stores. Manual: "ld", "ld.global.nc", "ldu", "st", "prefetch", "createpolicy"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.instructions.compiling.registers import read_register, write_register
from pyptx_sim.instructions.memory.addresses import parameter_register, space_of, target
from pyptx_sim.machine.memory.access import Access
from pyptx_sim.observer import Order
from pyptx_sim.types import dtype_of, is_type

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.memory.access import Places
    from pyptx_sim.machine.memory.spaces import Memory
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array

_STRONG = frozenset({"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"})
_SCOPES = ("cta", "cluster", "gpu", "sys")


def scope_of(opcode: tuple[str, ...]) -> str:
    """Return the scope that an opcode names; where none is named, the widest."""
    return next((word for word in opcode if word in _SCOPES), "sys")


def is_strong(opcode: tuple[str, ...]) -> bool:
    """Tell whether a load or store is strong."""
    return not _STRONG.isdisjoint(opcode)


def _shape(operands: Operands, values: Operand) -> tuple[str, tuple[Operand, ...]]:
    """Return the element type and the elements of a load or store."""
    ptx_type = next((word for word in reversed(operands.opcode) if is_type(word)), None)
    if ptx_type is None:
        operands.fail("the instruction names no type")
    elements = operands.elements(values)
    vector = next((word for word in operands.opcode if word in {"v2", "v4", "v8"}), "v1")
    if len(elements) != int(vector[1:]):
        operands.fail(f"{len(elements)} registers for .{vector}")
    return ptx_type, elements


def compile_load(operands: Operands) -> Action:
    """Load a value or a vector into registers."""
    destination, source = operands.operands[:2]  # a cache policy may follow
    ptx_type, elements = _shape(operands, destination)
    writers = [operands.write(element, ptx_type) for element in elements]
    kept = parameter_register(operands, source)
    if kept is not None:
        read, write = read_register(kept.register, ptx_type, checked=operands.checked), writers[0]
        return lambda wave, lanes: write(wave, lanes, read(wave, lanes))
    dtype = dtype_of(ptx_type)
    count = len(elements)
    find = target(operands, source, space_of(operands.opcode))
    strong = is_strong(operands.opcode)
    order = Order(scope_of(operands.opcode), reads=True, writes=False, acquires="acquire" in operands.opcode)
    size, used = dtype.itemsize * count, operands.site.used_bytes
    access = Access("read", size, strong=strong, used=used, order=order if strong else None)

    def step(wave: Wave, lanes: Lanes) -> None:
        for memory, part, addresses in find(wave, lanes):
            for write, value in zip(writers, _load(wave, part, memory, addresses), strict=True):
                write(wave, part, value)

    def _load(wave: Wave, lanes: Lanes, memory: Memory, addresses: Array) -> list[Array]:
        places = access.places(wave, lanes, memory, addresses)
        if places is None:
            return _zeros(ptx_type, count)
        if wave.machine.checked:
            access.before(wave, lanes, memory, places)
        values = memory.arena.gather(places.offsets, dtype, count)
        return values if places.positions is None else [places.spread(value, lanes.height) for value in values]

    return step


def _zeros(ptx_type: str, count: int) -> list[Array]:
    return [np.zeros((1, 1), dtype_of(ptx_type))] * count


def compile_store(operands: Operands) -> Action:
    """Store a value or a vector from registers."""
    destination, source = operands.operands[:2]
    ptx_type, elements = _shape(operands, source)
    readers = [operands.read(element, ptx_type) for element in operands.defined(elements)]
    kept = parameter_register(operands, destination)
    if kept is not None:
        write, read = write_register(kept.register, ptx_type, checked=operands.checked), readers[0]
        return lambda wave, lanes: write(wave, lanes, read(wave, lanes))
    find = target(operands, destination, space_of(operands.opcode))
    strong, size = is_strong(operands.opcode), dtype_of(ptx_type).itemsize * len(elements)
    order = Order(scope_of(operands.opcode), reads=False, writes=True, releases="release" in operands.opcode)
    access = Access("write", size, strong=strong, order=order if strong else None)

    def step(wave: Wave, lanes: Lanes) -> None:
        for memory, part, addresses in find(wave, lanes):
            places = access.places(wave, part, memory, addresses)
            if places is None:
                continue
            if wave.machine.checked:
                access.before(wave, part, memory, places)
            values = [places.pick(read(wave, part)) for read in readers]
            _store(wave, memory, places, values, access.size)

    return step


def _store(wave: Wave, memory: Memory, places: Places, values: list[Array], size: int) -> None:
    offsets = places.offsets
    if places.positions is None and values[0].shape != offsets.shape:
        shape = np.broadcast_shapes(offsets.shape, *(value.shape for value in values))
        offsets = np.broadcast_to(offsets, shape)
    if wave.watching and memory.arena.holds(offsets, values):
        return
    memory.arena.scatter(offsets, values)
    memory.arena.mark(offsets, size)
    wave.version += 1


def compile_hint(operands: Operands) -> Action:
    """Do nothing: prefetches change no value, and a grid that runs alone has no other to wait for."""
    del operands
    return _nothing


def compile_policy(operands: Operands) -> Action:
    """Write a cache policy: any value will do, since nothing here has a cache. Manual: "createpolicy"."""
    write = operands.write(operands.operands[0], "b64")
    policy = np.zeros((1, 1), np.uint64)
    return lambda wave, lanes: write(wave, lanes, policy)


def _nothing(wave: Wave, lanes: Lanes) -> None:
    """Have no effect."""
