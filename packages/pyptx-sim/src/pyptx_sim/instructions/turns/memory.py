"""Accesses to memory of the lanes that execute an instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from pyptx_sim.extension.space import name_of
from pyptx_sim.instructions.compiling.carrying import undefined_in
from pyptx_sim.instructions.memory.undefined import leave_loaded
from pyptx_sim.instructions.turns.lanes import ActiveLanes, Integers, Masks
from pyptx_sim.machine.lanes import broadcast, pick, spread
from pyptx_sim.machine.memory.access import Access, Places
from pyptx_sim.machine.undefined import NOT_WRITTEN, Origin
from pyptx_sim.program.windows import GLOBAL_WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pyptx_sim.extension import Space
    from pyptx_sim.instructions.compiling.carrying import Carried
    from pyptx_sim.instructions.memory.addresses import Target
    from pyptx_sim.machine.memory.spaces import Memory
    from pyptx_sim.observer import AccessKind
    from pyptx_sim.types import DType

__all__ = ["Accesses"]

Addressed = TypeVar("Addressed", int, Integers)


class Accesses(ActiveLanes):
    """Lanes that access memory.

    A memory is named, as PTX names its own (`"global"`, `"shared"`), or given as the `Space` that an extension brings.
    Its bytes lie in an arena, in which each block or thread that has such a memory of its own has a part. Offsets are
    places in the arena.
    """

    __slots__ = ()

    def memory(self, space: Space | str) -> Memory:
        """Return a memory, with its arena."""
        return self.wave.memory(space)

    # --- addresses ------------------------------------------------------------------------------

    def by_memory(self, place: Target) -> Iterator[tuple[Self, str, Integers]]:
        """Yield the threads whose addresses lie in the same memory, its name, and addresses within it, `[rows, 32]`.

        `place` is that of an address operand (`Operands.place`). Addresses in no memory at all are reported.
        """
        for memory, lanes, addresses in place(self.wave, self._lanes):
            yield self._of(lanes), memory.space, broadcast(addresses, (lanes.height, 32))

    def located(
        self,
        space: Space | str,
        addresses: NDArray[Any],
        size: int,
        kind: AccessKind = "read",
        *,
        alignment: int = 0,
    ) -> tuple[Self, Integers] | None:
        """Return the threads whose accesses of `size` bytes are sound, with the offset of each; None if none is.

        Faults of the others are reported. Addresses are multiples of the size, or of the `alignment`.
        """
        lanes = self._lanes
        access = Access(kind, size, alignment=alignment)
        places = access.places(self.wave, lanes, self.memory(space), addresses.astype(np.int64, copy=False))
        if places is None:
            return None
        if places.positions is None or places.columns is None:
            return self, pick(places.offsets, *lanes.active)
        if len(places.positions) == len(lanes.active[0]):
            return self, places.offsets
        mask = np.zeros((lanes.height, 32), np.bool_)
        mask[places.positions, places.columns] = True
        some = lanes.narrowed(mask)
        return None if some is None else (self._of(some), places.offsets)

    def offsets(
        self,
        place: Target,
        size: int,
        kind: AccessKind = "read",
        *,
        space: str = "shared",
        alignment: int = 0,
        behind: int = 0,
    ) -> Integers:
        """Return the offset of `behind` bytes behind each lane's address in one memory, `[rows, 32]`.

        It is -1 where the access of `size` bytes from there on is not sound. An address in another memory is a fault.
        """
        found = np.full((self._lanes.height, 32), -1, np.int64)
        for part, memory, addresses in self.by_memory(place):
            if memory != space:
                where = part.memory(memory).describe(int(addresses.flat[0]))
                message = f"an address in {memory} memory, {where}, where one in {space} memory is needed"
                part.fault("out-of-bounds", message, "look at the order of the operands", part.count)
                continue
            sound = part.located(memory, addresses + behind, size, kind, alignment=alignment)
            if sound is not None:
                found[sound[0].places] = sound[1]
        return found

    def in_shared(
        self, place: Target, size: int, kind: AccessKind = "read", *, what: str
    ) -> Iterator[tuple[Self, Integers]]:
        """Yield the threads whose addresses lie soundly in shared memory, with the offset of each.

        `what` names what has to lie there, for the report of an address in another memory.
        """
        for part, memory, addresses in self.by_memory(place):
            if memory != "shared":
                where = part.memory(memory).describe(int(addresses.flat[0]))
                message = f"{what} lies in {memory} memory, at {where}"
                part.fault("out-of-bounds", message, "it must lie in shared memory", part.count)
                continue
            found = part.located(memory, addresses, size, kind)
            if found is not None:
                yield found

    def peers(self, place: int, mask: int) -> tuple[int, ...]:
        """Return how far from a place in a block's shared memory the same one lies in each block that a mask names.

        Bit i of the mask is the block of rank i in the cluster of that block.
        """
        return self.wave.peers(place, mask)

    def global_offset(self, address: Addressed) -> Addressed:
        """Return the offset in the arena of global memory that a generic address, or each of several, stands for."""
        return address - GLOBAL_WINDOW

    # --- accesses -------------------------------------------------------------------------------

    def accessed(self, space: Space | str, offsets: Integers, size: int, kind: AccessKind) -> None:
        """Tell that each active thread accesses `size` bytes at its offset now.

        What is read has to be written, and observers hear of it; what this does costs nothing in a run without checks.
        """
        if self.checked:
            places = Places(offsets, *self.places)
            Access(kind, size).before(self.wave, self._lanes, self.memory(space), places)

    def freed(self, rule: str, space: Space | str, offsets: Integers, size: int) -> None:
        """Tell that a thread gives back `size` bytes at each of some offsets: whoever uses them has to be done.

        The first active thread counts as who does so. Work that nobody has waited for breaks `rule`, which the
        extension has to have.
        """
        if self.observed:
            warps, lanes = (np.full(len(offsets), part[0]) for part in self.threads)
            self.wave.machine.observers.freed(rule, name_of(space), offsets, size, warps, lanes, self.pc)

    def need(self, space: Space | str, offsets: Integers, size: int) -> None:
        """Report bytes that nothing has written, `size` of them at each active thread's offset."""
        if self.checked:
            places = Places(offsets, *self.places)
            Access("read", size).check_initialised(self.wave, self._lanes, self.memory(space), places)

    def undefined(self, space: Space | str, offset: int, message: str, count: int) -> None:
        """Report `count` reads of what matters and is undefined; `message` tells of the first one, at an offset."""
        origin = self.origin(space, offset, message)
        if origin.pc == self.pc:
            self.wave.report(origin.rule, origin.what, self.pc, hint=origin.hint, count=count)
        else:
            message = f"{message}, which depends on {origin.what}"
            self.wave.report(origin.rule, message, self.pc, other_pc=origin.pc, hint=origin.hint, count=count)

    def origin(self, space: Space | str, offset: int, message: str) -> Origin:
        """Return where the undefined bits at an offset come from; `message` tells of who reads them.

        It is for work that carries them elsewhere, where they may decide something or not: `carry_undefined`,
        `Arena.leave_elements`.
        """
        what = f"{message}, which nothing has written"
        return self.memory(space).arena.origin(offset) or Origin("uninitialised-memory", what, self.pc, NOT_WRITTEN)

    def host_sees(self, space: Space | str, offsets: Integers) -> Masks:
        """Return for each offset whether the host sees what is left there."""
        if space != "global":
            return np.zeros(offsets.shape, np.bool_)
        return self.wave.machine.memories["global"].buffers.shown(offsets)

    def leave_undefined(
        self, registers: Sequence[Carried | None], bits: Sequence[NDArray[Any]], origin: Origin
    ) -> None:
        """Note that of what was just written to registers (`Operands.carried`) these bits, `[rows, 32]`, are undefined.

        That is no fault until they decide something; then the rule of their `origin` is broken.
        """
        leave_loaded(self.wave, self._lanes, registers, bits, origin)

    def carry_undefined(
        self, registers: Sequence[Carried | None], bits: Sequence[NDArray[Any]], origin: Origin
    ) -> None:
        """Note which bits of registers, `[rows, 32]` each, work that is issued here leaves undefined."""
        for register, each in zip(registers, bits, strict=True):
            if register is not None and each.any():
                register.leave(self.wave, self._lanes, each, origin)
            elif register is not None and register.register.slot in self.wave.undefined:
                self.wave.undefined.define(register.register.slot, self._lanes)

    def undefined_in(self, registers: Sequence[Carried | None]) -> tuple[list[NDArray[Any] | None], Origin] | None:
        """Return the undefined bits of registers in active lanes, and the origin of the first; None if there are none.

        With the reader of an operand that does not report them (`Operands.unchecked`) and `Arena.leave`, a store
        carries them to memory.
        """
        return undefined_in(self.wave, self._lanes, registers) if self.wave.undefined else None

    def load(self, space: Space | str, addresses: NDArray[Any], dtype: DType) -> NDArray[Any]:
        """Return what lies at each active thread's address, `[rows, 32]`; zero where the address is at fault."""
        found = self.located(space, addresses, dtype.itemsize)
        if found is None:
            return np.zeros((1, 1), dtype)
        some, offsets = found
        some.accessed(space, offsets, dtype.itemsize, "read")
        (values,) = self.memory(space).arena.gather(offsets, dtype, 1)
        return spread(values, *some.places, self._lanes.height)

    def store(self, space: Space | str, addresses: NDArray[Any], values: NDArray[Any]) -> None:
        """Write a value, of `[rows, 32]`, at each active thread's address; of threads at one address, the last wins."""
        size = values.dtype.itemsize
        found = self.located(space, addresses, size, "write")
        if found is None:
            return
        some, offsets = found
        some.accessed(space, offsets, size, "write")
        arena = self.memory(space).arena
        arena.scatter(offsets, [pick(values, *some.places)])
        arena.mark(offsets, size)
        self.changed()

    def changed(self) -> None:
        """Tell that this instruction has changed memory, for loops that poll it."""
        self.wave.version += 1

    def forget(self, space: Space | str, address: int, size: int) -> None:
        """Note that nothing has written `size` bytes of the memory of each row's block, from an address on."""
        memory = self.memory(space)
        for row in self.rows:
            start = int(memory.flat_at(np.array([address]), row[None], np.zeros(1, np.int64))[0])
            memory.arena.forget(start, size)
