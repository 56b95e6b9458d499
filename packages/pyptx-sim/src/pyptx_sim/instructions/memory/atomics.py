"""`atom` and `red`. Manual: "atom", "red"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.syntax.operands import Sink
from pyptx_sim.instructions.memory.addresses import target
from pyptx_sim.instructions.memory.undefined import leave_loaded
from pyptx_sim.machine.lanes import pick
from pyptx_sim.machine.memory.access import Access, fault
from pyptx_sim.machine.memory.atomics import FLOAT_UPDATES, GLOBAL_F32_ADD, UPDATES, apply
from pyptx_sim.machine.undefined import shadow_dtype
from pyptx_sim.observer import Order
from pyptx_sim.types import B128, dtype_of

if TYPE_CHECKING:
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.compiling.registers import Reader
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.memory.access import LaneOffsets
    from pyptx_sim.machine.memory.atomics import Update
    from pyptx_sim.machine.memory.spaces import SpaceMemory
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.undefined import Origin
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array
    from pyptx_sim.types import DType

_PACKED = {"f16x2": "f16", "bf16x2": "bf16"}
# State spaces of atomic operations. Manual: "atom".
_SPACES = ("global", "shared")


def update_of(name: str, element: str, space: str) -> Update | None:
    """Return the update function of an atomic operation on a type; None if the operation does not exist."""
    if element == "f32" and name == "add" and space == "global":
        return GLOBAL_F32_ADD
    return FLOAT_UPDATES.get(element, {}).get(name) or UPDATES.get(name)


def compile_atomic(operands: Operands) -> Action:
    """Compile `atom` or `red`: update memory at the address of every lane, in lane order."""
    name, ptx_type = operands.word("op"), operands.types("b")[0]
    element = _PACKED.get(ptx_type, ptx_type)
    updates = {each: update_of(name, element, "shared" if operands.word("noftz") else each) for each in _SPACES}
    destination, second = operands.given("d") or Sink(), operands.given("c")
    outs = () if isinstance(destination, Sink) else operands.elements(destination)
    readers = [operands.read(part, ptx_type) for part in operands.elements(operands.named("b"))]
    compared = None if second is None else operands.read(second, ptx_type)
    writers = [operands.write(out, ptx_type) for out in outs]
    carried = [operands.carried(out, ptx_type) for out in outs]
    dtype, count = dtype_of(ptx_type), len(readers)
    access = Access("atomic", dtype.itemsize * count, strong=True, order=_order(operands))
    find = target(operands, operands.named("a"), operands.space)
    run = _Atomic(dtype, dtype_of(element), readers, compared, access, polls=operands.polls)

    def step(wave: Wave, lanes: Lanes) -> None:
        for memory, part, addresses in find(wave, lanes):
            update = updates.get(memory.space)
            if update is None:
                _report_place(wave, part, memory, addresses)
                continue
            old, unknown = run(wave, part, memory, addresses, update)
            for write, value in zip(writers, old, strict=False):
                write(wave, part, value)
            if unknown is not None and carried:
                leave_loaded(wave, part, carried, *unknown)

    return step


def _order(operands: Operands) -> Order:
    """Return the `Order` (scope, acquire, release) of an atomic operation; the read of a `red` never acquires.

    Manual: "atom", "red".
    """
    semantics = operands.word("sem")
    return Order(
        operands.word("scope") or "gpu",
        reads=True,
        writes=True,
        acquires=semantics in {"acquire", "acq_rel"},
        releases=semantics in {"release", "acq_rel"},
        hears=operands.opcode[0] == "atom",
    )


def _report_place(wave: Wave, lanes: Lanes, memory: SpaceMemory, addresses: Array) -> None:
    address = int(pick(addresses, *lanes.active)[0])
    what = f"atomic operation on {memory.space} memory: {memory.describe(address)}"
    fault(wave, "out-of-bounds", what, "pass an address in global or shared memory", lanes.count)


class _Atomic:
    """One atomic instruction: `dtype` is the dtype of its registers, `element` that of one update (f16 for f16x2)."""

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

    def __call__(
        self, wave: Wave, lanes: Lanes, memory: SpaceMemory, addresses: Array, update: Update
    ) -> tuple[list[Array], tuple[list[Array], Origin] | None]:
        """Perform the updates; return the old values, one array per register, and their undefined bits with origin."""
        everywhere = np.broadcast_to(addresses, (lanes.height, 32))
        places = self._access.places(wave, lanes, memory, everywhere)
        if places is None:
            return [np.zeros((1, 1), self._dtype)] * len(self._readers), None
        origin = None
        if wave.machine.checked:
            self._access.tell(wave, lanes, memory, places)
            origin = self._origin(wave, lanes, memory, places)
        first = self._flat(wave, lanes, places, self._readers)
        second = self._flat(wave, lanes, places, [self._second]) if self._second is not None else first
        shape = places.offsets.shape
        parts = len(self._readers) * (self._dtype.itemsize // self._element.itemsize)
        size = self._element.itemsize
        offsets = (places.offsets.reshape(-1, 1) + np.arange(0, parts * size, size)).reshape(-1)
        index = offsets // size
        old = self._apply(wave, memory, index, (first, second), update)

        def registers(elements: Array, dtype: DType) -> list[Array]:
            columns = elements.reshape(len(places.offsets.reshape(-1)), -1).view(dtype).T
            return [places.spread(np.ascontiguousarray(each).reshape(shape), lanes.height) for each in columns]

        values = registers(old, self._dtype)
        if origin is None:
            return values, None
        bits = memory.arena.keep(index, update, first, second, origin)
        self._show(wave, lanes, memory, places)
        return values, None if bits is None else (registers(bits, shadow_dtype(self._dtype.itemsize)), origin)

    def _origin(self, wave: Wave, lanes: Lanes, memory: SpaceMemory, places: LaneOffsets) -> Origin | None:
        """Return the origin of undefined bits at the accessed locations; None if there are none."""
        known = memory.arena.written(places.offsets, self._access.size)
        if known is None or known.all():
            return None
        return self._access.origin(wave, lanes, memory, places, ~known)

    def _show(self, wave: Wave, lanes: Lanes, memory: SpaceMemory, places: LaneOffsets) -> None:
        """Report bits that are still undefined in host-visible memory after the update, and mark them as defined."""
        known = memory.arena.written(places.offsets, self._access.size)
        if memory.space != "global" or known is None or known.all():
            return
        shown = ~known & wave.machine.memories["global"].buffers.shown(places.offsets)
        if shown.any():
            self._access.report_undefined(wave, lanes, memory, places, shown)
            memory.arena.mark(places.offsets[shown], self._access.size)

    def _flat(self, wave: Wave, lanes: Lanes, places: LaneOffsets, readers: list[Reader]) -> Array:
        """Return the values of source registers as one flat array; the elements of a lane are contiguous in it."""
        shape = places.offsets.shape
        values = [np.broadcast_to(places.pick(read(wave, lanes)), shape).reshape(-1) for read in readers]
        return np.ascontiguousarray(np.stack(values, axis=-1)).view(self._element).reshape(-1)

    def _apply(
        self, wave: Wave, memory: SpaceMemory, index: Array, sources: tuple[Array, Array], update: Update
    ) -> Array:
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
    """Exchange, or compare and swap, 128 bits in lane order: NumPy has no arithmetic for 128 bits."""
    old = np.empty_like(first)
    for lane, at in enumerate(index.tolist()):
        old[lane] = words[at]
        if swaps:
            words[at] = first[lane]
        elif old[lane] == first[lane]:
            words[at] = second[lane]
    wave.version += 1
    return old
