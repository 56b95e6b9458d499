"""Loads and stores. Manual: "ld", "ld.global.nc", "ldu", "st", "prefetch", "createpolicy"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.instructions.compiling.carrying import Carried, carrying, unchanged
from pyptx_sim.instructions.compiling.registers import read_register, write_register
from pyptx_sim.instructions.memory.addresses import bare_target, parameter_register, within_of
from pyptx_sim.instructions.memory.undefined import leave_loaded, leave_stored, loaded
from pyptx_sim.machine.memory.access import Access
from pyptx_sim.observer import Order
from pyptx_sim.types import dtype_of

if TYPE_CHECKING:
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.compiling.registers import Reader, Writer
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.memory.access import LaneOffsets
    from pyptx_sim.machine.memory.spaces import SpaceMemory
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.undefined import Origin
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array
    from pyptx_sim.types import DType


def order_of(operands: Operands, *, reads: bool, writes: bool) -> Order | None:
    """Return the `Order` (scope, acquire, release) of a strong load or store, by default `.sys`; None if it is weak."""
    semantics = operands.word("sem")
    if not (semantics or operands.word("volatile")):
        return None
    scope = operands.word("scope") or "sys"
    return Order(scope, reads, writes, acquires=semantics == "acquire", releases=semantics == "release")


def compile_load(operands: Operands) -> Action:
    """Compile `ld`: load a value or a vector into registers."""
    source, types = operands.named("a"), operands.types("d")
    elements, ptx_type = operands.elements(operands.named("d")), types[0]
    writers = [operands.write(*pair) for pair in zip(elements, types, strict=True)]
    carried = [operands.carried(*pair) for pair in zip(elements, types, strict=True)]
    kept = parameter_register(operands, source)
    if kept is not None:
        read = read_register(kept.register, ptx_type, checked=False)
        return _moved(operands, (read, writers[0]), Carried(kept.register, ptx_type, operands.pc), carried[0])
    dtype = dtype_of(ptx_type)
    count = len(elements)
    find = bare_target(operands, source, operands.space)
    order = order_of(operands, reads=True, writes=False)
    access = Access(
        "read",
        dtype.itemsize * count,
        strong=order is not None,
        used=operands.site.used_bytes,
        order=order,
        noncoherent=bool(operands.word("nc")),
        within=within_of(operands, source),
    )

    def step(wave: Wave, lanes: Lanes) -> None:
        for memory, part, addresses in find(wave, lanes):
            places = access.places(wave, part, memory, addresses)
            if places is None:
                values, unknown = _zeros(ptx_type, count), None
            else:
                read = access.gather(wave, part, memory, places, dtype, count)
                unknown = _undefined(access, wave, part, memory, places, dtype) if wave.machine.checked else None
                values = [places.spread(each, part.height) for each in read]
            for write, value in zip(writers, values, strict=True):
                write(wave, part, value)
            if unknown is not None:
                leave_loaded(wave, part, carried, *unknown)

    return step


def _undefined(
    access: Access, wave: Wave, lanes: Lanes, memory: SpaceMemory, places: LaneOffsets, dtype: DType
) -> tuple[list[Array], Origin] | None:
    """Return the undefined bits of loaded values, in lane order, and their origin; None if there are none."""
    found = loaded(access, wave, lanes, memory, places, dtype)
    return found and ([places.spread(each, lanes.height) for each in found[0]], found[1])


def _moved(
    operands: Operands, how: tuple[Reader, Writer], source: Carried | None, destination: Carried | None
) -> Action:
    """Compile a load or store of a `.param` variable that the simulator stores in a register."""
    read, write = how

    def step(wave: Wave, lanes: Lanes) -> None:
        write(wave, lanes, read(wave, lanes))

    return carrying(step, [source], [], [destination], unchanged) if operands.checked else step


def _zeros(ptx_type: str, count: int) -> list[Array]:
    return [np.zeros((1, 1), dtype_of(ptx_type))] * count


def compile_store(operands: Operands) -> Action:
    """Compile `st`: store a value or a vector from registers."""
    destination, types = operands.named("a"), operands.types("b")
    elements, ptx_type = operands.defined(operands.elements(operands.named("b"))), types[0]
    given = operands.unchecked()
    readers = [given.read(*pair) for pair in zip(elements, types, strict=True)]
    carried = [operands.carried(*pair) for pair in zip(elements, types, strict=True)]
    kept = parameter_register(operands, destination)
    if kept is not None:
        write = write_register(kept.register, ptx_type, checked=operands.checked)
        into = Carried(kept.register, ptx_type, operands.pc)
        return _moved(operands, (readers[0], write), carried[0], into)
    find = bare_target(operands, destination, operands.space)
    order = order_of(operands, reads=False, writes=True)
    size, within = dtype_of(ptx_type).itemsize * len(types), within_of(operands, destination)
    access = Access("write", size, strong=order is not None, order=order, within=within)

    def step(wave: Wave, lanes: Lanes) -> None:
        for memory, part, addresses in find(wave, lanes):
            places = access.places(wave, part, memory, addresses)
            if places is None:
                continue
            values = [places.pick(read(wave, part)) for read in readers]
            hidden = access.hidden(wave, part, memory, places)
            if wave.machine.checked:
                access.tell(wave, part, memory, places, values)
            if hidden is not None:
                places, values = places.seen(hidden, values, part)
            _store(wave, memory, places, values, access.size)
            if wave.undefined:
                leave_stored(access, wave, part, memory, places, carried)

    return step


def _store(wave: Wave, memory: SpaceMemory, places: LaneOffsets, values: list[Array], size: int) -> None:
    offsets = places.offsets
    if places.positions is None and any(value.shape != offsets.shape for value in values):
        shape = np.broadcast_shapes(offsets.shape, *(value.shape for value in values))
        offsets = np.broadcast_to(offsets, shape)
    if wave.watching and memory.arena.holds(offsets, values):
        return
    memory.arena.scatter(offsets, values)
    memory.arena.mark(offsets, size)
    wave.version += 1


def compile_hint(operands: Operands) -> Action:
    """Compile an instruction without an effect on the simulator, such as a prefetch or a proxy fence.

    Prefetches change no value, and proxy fences do not order generic accesses.
    """
    del operands
    return _nothing


def compile_policy(operands: Operands) -> Action:
    """Compile `createpolicy`: write policy 0, which has no effect, since the simulator has no caches."""
    write = operands.write(operands.named("policy"), "b64")
    policy = np.zeros((1, 1), np.uint64)
    return lambda wave, lanes: write(wave, lanes, policy)


def _nothing(wave: Wave, lanes: Lanes) -> None:
    """Do nothing: the compiled form of an instruction without an effect on the simulator."""
