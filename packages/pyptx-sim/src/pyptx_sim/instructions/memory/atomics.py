"""`atom` and `red`. Manual: "atom", "red"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.syntax.operands import Sink
from pyptx_sim.instructions.memory.addresses import target
from pyptx_sim.instructions.memory.transfers import fence_scope
from pyptx_sim.machine.lanes import pick
from pyptx_sim.machine.memory.access import Access, fault
from pyptx_sim.machine.memory.atomics import FLOAT_UPDATES, GLOBAL_F32_ADD, UPDATES, apply
from pyptx_sim.types import B128, dtype_of

if TYPE_CHECKING:
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.compiling.registers import Reader
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.memory.access import Places
    from pyptx_sim.machine.memory.atomics import Update
    from pyptx_sim.machine.memory.spaces import Memory
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array
    from pyptx_sim.types import DType

_PACKED = {"f16x2": "f16", "bf16x2": "bf16"}
# Manual, "atom": where the address of an atomic operation may lie.
_SPACES = ("global", "shared")


def update_of(name: str, element: str, space: str) -> Update | None:
    """Return how an atomic operation combines elements of a type; None if there is no such operation."""
    if element == "f32" and name == "add" and space == "global":
        return GLOBAL_F32_ADD
    return FLOAT_UPDATES.get(element, {}).get(name) or UPDATES.get(name)


def compile_atomic(operands: Operands) -> Action:
    """Update memory at the address of every lane, lane after lane."""
    name, ptx_type = operands.word("op"), operands.types("b")[0]
    element = _PACKED.get(ptx_type, ptx_type)
    updates = {each: update_of(name, element, "shared" if operands.word("noftz") else each) for each in _SPACES}
    destination, second = operands.given("d") or Sink(), operands.given("c")
    outs = () if isinstance(destination, Sink) else operands.elements(destination)
    readers = [operands.read(part, ptx_type) for part in operands.elements(operands.named("b"))]
    compared = None if second is None else operands.read(second, ptx_type)
    writers = [operands.write(out, ptx_type) for out in outs]
    dtype, count = dtype_of(ptx_type), len(readers)
    access = Access("atomic", dtype.itemsize * count, strong=True)
    find = target(operands, operands.named("a"), operands.space)
    releases = fence_scope(operands, "release", "acq_rel")
    acquires = fence_scope(operands, "acquire", "acq_rel")
    run = _Atomic(dtype, dtype_of(element), readers, compared, access, polls=operands.polls)

    def step(wave: Wave, lanes: Lanes) -> None:
        if releases:
            wave.machine.observers.fence(*lanes.by_warp(), releases, wave.pc)
        for memory, part, addresses in find(wave, lanes):
            update = updates.get(memory.space)
            if update is None:
                _report_place(wave, part, memory, addresses)
                continue
            old = run(wave, part, memory, addresses, update)
            for write, value in zip(writers, old, strict=False):
                write(wave, part, value)
        if acquires:
            wave.machine.observers.fence(*lanes.by_warp(), acquires, wave.pc)

    return step


def _report_place(wave: Wave, lanes: Lanes, memory: Memory, addresses: Array) -> None:
    address = int(pick(addresses, *lanes.active)[0])
    what = f"an atomic operation on {memory.space} memory at {memory.describe(address)}"
    fault(wave, "out-of-bounds", what, "atomic operations are for global and shared memory", lanes.count)


class _Atomic:
    """One atomic instruction: `dtype` is that of a register, `element` that of what is updated at once."""

    def __init__(
        self,
        dtype: DType,
        element: DType,
        readers: list[Reader],
        second: Reader | None,
        access: Access,
        *,
        polls: bool,
    ) -> None:
        self._dtype = dtype
        self._element = element
        self._readers = readers
        self._second = second
        self._access = access
        self._polls = polls

    def __call__(self, wave: Wave, lanes: Lanes, memory: Memory, addresses: Array, update: Update) -> list[Array]:
        """Return the old values, one array for each register."""
        everywhere = np.broadcast_to(addresses, (lanes.height, 32))
        places = self._access.places(wave, lanes, memory, everywhere)
        if places is None:
            return [np.zeros((1, 1), self._dtype)] * len(self._readers)
        if wave.machine.checked:
            self._access.before(wave, lanes, memory, places)
        first = self._flat(wave, lanes, places, self._readers)
        second = self._flat(wave, lanes, places, [self._second]) if self._second is not None else first
        shape = places.offsets.shape
        parts = len(self._readers) * (self._dtype.itemsize // self._element.itemsize)
        size = self._element.itemsize
        offsets = (places.offsets.reshape(-1, 1) + np.arange(0, parts * size, size)).reshape(-1)
        old = self._apply(wave, memory, offsets // size, (first, second), update)
        memory.arena.mark(places.offsets, self._access.size)
        registers = old.reshape(-1, parts).view(self._dtype)
        return [
            places.spread(np.ascontiguousarray(registers[:, part]).reshape(shape), lanes.height)
            for part in range(len(self._readers))
        ]

    def _flat(self, wave: Wave, lanes: Lanes, places: Places, readers: list[Reader]) -> Array:
        """Return the sources as elements, those of one lane side by side."""
        shape = places.offsets.shape
        values = [np.broadcast_to(places.pick(read(wave, lanes)), shape).reshape(-1) for read in readers]
        return np.ascontiguousarray(np.stack(values, axis=-1)).view(self._element).reshape(-1)

    def _apply(self, wave: Wave, memory: Memory, index: Array, sources: tuple[Array, Array], update: Update) -> Array:
        words = memory.arena.data.view(self._element)
        if self._element == B128:
            return _one_by_one(wave, words, index, *sources, swaps=self._second is None)
        before = words[index] if wave.watching or self._polls else None
        old = apply(words, index, update, *sources)
        if before is None or not _same(before, words[index]) or not (wave.watching or _same(before, old)):
            wave.version += 1
        return old


def _same(one: Array, other: Array) -> bool:
    return one.tobytes() == other.tobytes()


def _one_by_one(wave: Wave, words: Array, index: Array, first: Array, second: Array, *, swaps: bool) -> Array:
    """Exchange, or compare and swap, 128 bits lane after lane: NumPy has no arithmetic for them."""
    old = np.empty_like(first)
    for lane, at in enumerate(index.tolist()):
        old[lane] = words[at]
        if swaps:
            words[at] = first[lane]
        elif old[lane] == first[lane]:
            words[at] = second[lane]
    wave.version += 1
    return old
