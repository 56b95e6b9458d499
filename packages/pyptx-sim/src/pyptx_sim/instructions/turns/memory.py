"""Memory accesses by the lanes that execute an instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from pyptx_sim.extension.space import name_of
from pyptx_sim.instructions.compiling.carrying import undefined_in
from pyptx_sim.instructions.memory.undefined import leave_loaded
from pyptx_sim.instructions.synchronization.threads import not_shared, wrong_space
from pyptx_sim.instructions.turns.lanes import ActiveLanes, Integers, Masks
from pyptx_sim.machine.lanes import broadcast, pick, spread
from pyptx_sim.machine.memory.access import Access, LaneOffsets
from pyptx_sim.machine.undefined import NOT_WRITTEN, Origin
from pyptx_sim.program.windows import GLOBAL_WINDOW, memory_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pyptx_sim.extension.space import Space
    from pyptx_sim.instructions.compiling.carrying import Carried
    from pyptx_sim.instructions.compiling.collectives import UndefinedFragments
    from pyptx_sim.instructions.memory.addresses import Target
    from pyptx_sim.machine.memory.spaces import SpaceMemory
    from pyptx_sim.observer import AccessKind
    from pyptx_sim.types import DType

__all__ = ["MemoryAccesses"]

Addressed = TypeVar("Addressed", int, Integers)


class MemoryAccesses(ActiveLanes):
    """Lanes that access memory.

    A state space is given by its PTX name (`"global"`, `"shared"`) or as an extension's `Space`. An arena (a flat byte
    array) stores the space: if each CTA or thread has its own memory of the space, each such memory is a range of the
    arena. Offsets are relative to the start of the arena.
    """

    __slots__ = ()

    def memory(self, space: Space | str) -> SpaceMemory:
        """Return the memory of a state space in this wave, with its arena."""
        return self.wave.memory(space)

    # --- addresses ------------------------------------------------------------------------------

    def by_memory(self, place: Target) -> Iterator[tuple[Self, str, Integers]]:
        """Yield, per state space: the threads with addresses in it, its name, and their addresses, `[rows, 32]`.

        `place` is the `Target` of an address operand (`Operands.place`). The yielded addresses are relative to the
        space. Addresses in no state space are reported.
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
        """Return the threads with valid accesses of `size` bytes, and their arena offsets; None if there are none.

        Invalid accesses are reported. Addresses must be multiples of the size, or of `alignment`.
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
        """Return, per lane, the arena offset of the lane's address plus `behind` bytes, `[rows, 32]`.

        The offset is -1 if an access of `size` bytes at it is invalid. An address in another space is a fault.
        """
        found = np.full((self._lanes.height, 32), -1, np.int64)
        for part, memory, addresses in self.by_memory(place):
            if memory != space:
                where = part.memory(memory).describe(int(addresses.flat[0]))
                message, help = wrong_space(memory, where, space)
                part.fault("out-of-bounds", message, help, part.count)
                continue
            sound = part.located(memory, addresses + behind, size, kind, alignment=alignment)
            if sound is not None:
                found[sound[0].places] = sound[1]
        return found

    def in_shared(
        self, place: Target, size: int, kind: AccessKind = "read", *, what: str
    ) -> Iterator[tuple[Self, Integers]]:
        """Yield the threads with valid addresses in shared memory, and the offset of each.

        `what` names the expected object, for the report of an address in another state space.
        """
        for part, memory, addresses in self.by_memory(place):
            if memory != "shared":
                where = part.memory(memory).describe(int(addresses.flat[0]))
                message, help = not_shared(what, memory, where)
                part.fault("out-of-bounds", message, help, part.count)
                continue
            found = part.located(memory, addresses, size, kind)
            if found is not None:
                yield found

    def peers(self, place: int, mask: int) -> tuple[int, ...]:
        """Return the distances in bytes from `place`, in a CTA's shared memory, to its copies in the CTAs of `mask`.

        A copy is the same location in the shared memory of another CTA. Bit i of the mask selects the CTA of rank i in
        the cluster.
        """
        return self.wave.peers(place, mask)

    def global_offset(self, address: Addressed) -> Addressed:
        """Return the offset in the global arena of one generic address, or of an array of generic addresses."""
        return address - GLOBAL_WINDOW

    # --- accesses -------------------------------------------------------------------------------

    def accessed(self, space: Space | str, offsets: Integers, size: int, kind: AccessKind) -> None:
        """Check, and notify observers, that each active thread now accesses `size` bytes at its offset.

        Bytes that are read must have been written. In a run without checks this has no cost.
        """
        if self.checked:
            places = LaneOffsets(offsets, *self.places)
            Access(kind, size).before(self.wave, self._lanes, self.memory(space), places)

    def freed(self, rule: str, space: Space | str, offsets: Integers, size: int) -> None:
        """Notify observers that a thread frees `size` bytes at each offset; operations on them must not be outstanding.

        The thread is the first active one. Operations on the bytes that no thread has waited for are reported under
        `rule`, which the extension must define.
        """
        if self.observed:
            warps, lanes = (np.full(len(offsets), part[0]) for part in self.threads)
            self.wave.machine.observers.freed(rule, name_of(space), offsets, size, warps, lanes, self.pc)

    def need(self, space: Space | str, offsets: Integers, size: int) -> None:
        """Report undefined bytes among the `size` bytes at each active thread's offset, in a checked run."""
        if self.checked:
            places = LaneOffsets(offsets, *self.places)
            Access("read", size).check_initialized(self.wave, self._lanes, self.memory(space), places)

    def undefined(self, space: Space | str, offset: int, message: str, count: int, *, label: str | None = None) -> None:
        """Report `count` uses of undefined values; `message` and `label` describe the first use, as in `origin`."""
        origin = self.origin(space, offset, message, label=label)
        if origin.pc == self.pc:
            self.wave.report(origin.rule, origin.message, self.pc, label=label, help=origin.help, count=count)
        else:
            self.wave.report(
                origin.rule,
                f"{origin.fault}: {message} (depends on {origin.what})",
                self.pc,
                other_pc=origin.pc,
                label=label,
                other_label=origin.label,
                notes=origin.notes,
                help=origin.help,
                count=count,
            )

    def origin(self, space: Space | str, offset: int, message: str, *, label: str | None = None) -> Origin:
        """Return the origin of the undefined bits at an offset; `message` names the location, as in "16 bytes at s+0".

        `label` states what the instruction does at the location: "read by an MMA" (default: its opcode).
        Use the origin for operations that propagate undefined bits, which may be used later or not: `carry_undefined`,
        `Arena.leave_elements`.
        """
        known = self.memory(space).arena.origin(offset)
        if known is not None:
            return known
        fault = f"use of uninitialized {memory_name(name_of(space))}"
        return Origin("uninitialized-memory", message, self.pc, NOT_WRITTEN, label=label, fault=fault)

    def host_sees(self, space: Space | str, offsets: Integers) -> Masks:
        """Return, per offset, whether the host can read the memory there after the launch."""
        if space != "global":
            return np.zeros(offsets.shape, np.bool_)
        return self.wave.machine.memories["global"].buffers.shown(offsets)

    def leave_undefined(
        self, registers: Sequence[Carried | None], bits: Sequence[NDArray[Any]], origin: Origin
    ) -> None:
        """Mark `bits`, `[rows, 32]` each, of just written registers (`Operands.carried`) as undefined.

        Only a use of these bits is reported, under the rule of their `origin`.
        """
        leave_loaded(self.wave, self._lanes, registers, bits, origin)

    def carry_undefined(
        self, registers: Sequence[Carried | None], bits: Sequence[NDArray[Any]], origin: Origin
    ) -> None:
        """Set the undefined bits, `[rows, 32]`, of registers that this instruction's asynchronous operations write."""
        for register, each in zip(registers, bits, strict=True):
            if register is not None and each.any():
                register.leave(self.wave, self._lanes, each, origin)
            elif register is not None and register.register.slot in self.wave.undefined:
                self.wave.undefined.define(register.register.slot, self._lanes)

    def undefined_in(self, registers: Sequence[Carried | None]) -> tuple[list[NDArray[Any] | None], Origin] | None:
        """Return registers' undefined bits in active lanes, and the first undefined register's origin (None: none).

        A store propagates undefined bits to memory with `Arena.leave`, and reads the registers with readers that do not
        report undefined bits (`Operands.unchecked`).
        """
        return undefined_in(self.wave, self._lanes, registers) if self.wave.undefined else None

    def undefined_fragments(self, fragments: UndefinedFragments) -> tuple[list[NDArray[Any] | None], Origin] | None:
        """Return undefined bits of registers like `undefined_in`; all bits are undefined in a partly active warp.

        `fragments` is the result of `Operands.fragments`, for an instruction that all 32 lanes must execute.
        """
        return fragments(self.wave, self._lanes)

    def load(self, space: Space | str, addresses: NDArray[Any], dtype: DType) -> NDArray[Any]:
        """Return the value at each active thread's address, `[rows, 32]`; zero for an invalid address."""
        found = self.located(space, addresses, dtype.itemsize)
        if found is None:
            return np.zeros((1, 1), dtype)
        some, offsets = found
        some.accessed(space, offsets, dtype.itemsize, "read")
        (values,) = self.memory(space).arena.gather(offsets, dtype, 1)
        return spread(values, *some.places, self._lanes.height)

    def store(self, space: Space | str, addresses: NDArray[Any], values: NDArray[Any]) -> None:
        """Write a value, of `[rows, 32]`, at each active thread's address; the last thread at an address wins."""
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
        """Record that this instruction has changed memory, so that parked polling loops run again."""
        self.wave.version += 1

    def forget(self, space: Space | str, address: int, size: int) -> None:
        """Mark `size` bytes from `address` as undefined, for each row in the memory of its warp's CTA."""
        memory = self.memory(space)
        for row in self.rows:
            start = int(memory.flat_at(np.array([address]), row[None], np.zeros(1, np.int64))[0])
            memory.arena.forget(start, size)
