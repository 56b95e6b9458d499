"""Value numbers of loaded values: hashes of the address and of the number of the last write to that address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_ir.syntax.operands import Address, Register
from pyptx_sim.duplicates.numbers import leaf_bits, mix, name_number, reduced
from pyptx_sim.duplicates.planes import DATA, LAUNCH, Number, Planes, where
from pyptx_sim.duplicates.sources import source
from pyptx_sim.instructions.memory.addresses import parameter_register, target
from pyptx_sim.instructions.memory.transfers import order_of
from pyptx_sim.observer import Observer
from pyptx_sim.shadow.sparse import zeros
from pyptx_sim.types import dtype_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.duplicates.numbers import Numbers
    from pyptx_sim.duplicates.sources import Source
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.machine import Machine
    from pyptx_sim.machine.memory.spaces import SpaceMemory
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.observer import AccessKind, AsyncOperations, Offsets, Space

__all__ = ["Versions", "base_of", "loader", "moved_from", "numbers_at"]

_WORD: Final = 4
_LOADED, _PARAMETER = name_number("loaded"), name_number("parameter")


class Versions(Observer):
    """Version of each 32-bit word of memory (number of its last write); loads of one version return the same value."""

    def __init__(self, machine: Machine) -> None:
        """Start with version 0 of every word of the memories of `machine`."""
        self._machine = machine
        self._words: dict[Space, NDArray[np.int32]] = {}
        self._count = 0
        self._wave = 0

    def wave_started(self) -> None:
        """Discard the versions of memory that belongs to CTAs that have exited."""
        self._wave += 1
        for space in tuple(self._words):
            if space != "global":
                del self._words[space]

    def access(
        self, space: Space, kind: AccessKind, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """Assign a new version to the words that warps write."""
        del warps, lanes, pc
        if kind in {"write", "atomic"}:
            self._written(space, offsets, size)

    def issued(self, work: AsyncOperations) -> None:
        """Assign a new version to the words that asynchronous operations write."""
        for touch in work.touches:
            if touch.writes and len(touch.offsets):
                self._written(touch.space, touch.offsets, touch.size)

    def _written(self, space: Space, offsets: Offsets, size: int) -> None:
        self._count += 1
        words = self._of(space)
        for further in range(0, size + _WORD - 1, _WORD):
            words[np.minimum(offsets + further, offsets + size - 1) // _WORD] = self._count

    def _of(self, space: Space) -> NDArray[np.int32]:
        known = self._words.get(space)
        if known is None:
            size = len(self._machine.arena(space).data)
            known = self._words[space] = zeros(size // _WORD + 1, np.int32)
        return known

    def at(self, space: Space, offsets: Offsets, size: int) -> Numbers:
        """Return the value number of the `size` bytes at each offset."""
        words = self._of(space)
        last = len(words) - 1
        first = np.full((1, 1), self._wave if space != "global" else 0, np.uint64)
        parts = [
            words[np.clip(np.minimum(offsets + further, offsets + size - 1) // _WORD, 0, last)].astype(np.uint64)
            for further in range(0, size + _WORD - 1, _WORD)
        ]
        return mix(_LOADED, name_number(space), first, offsets.astype(np.uint64), *parts)


def loader(operands: Operands, versions: Versions) -> Callable[[Wave, Lanes], list[Number]] | None:
    """Return a function that computes the value numbers of a load before it executes; None for a strong load."""
    operand, types = operands.named("a"), operands.types("d")
    if order_of(operands, reads=True, writes=False) is not None:
        return None
    kept = parameter_register(operands, operand)
    if kept is not None:
        given = source(operands, Register(kept.register.name), types[0])
        return lambda wave, lanes: [given(wave, lanes).number]
    size = dtype_of(types[0]).itemsize
    find = target(operands, operand, operands.space)
    base = base_of(operands, operand)

    def number(wave: Wave, lanes: Lanes) -> list[Number]:
        found = [wave.part(Planes).fresh(lanes).spread(lanes.height)] * len(types)
        for memory, part, addresses in find(wave, lanes):
            loaded = numbers_at(memory, part, addresses, size, len(types), versions)
            if loaded is not None:
                known = None if base is None else base(wave, part).number
                here = part.full_mask
                found = [where(here, moved_from(each, known), old) for old, each in zip(found, loaded, strict=True)]
        return found

    return number


def base_of(operands: Operands, operand: Operand) -> Source | None:
    """Return the base register of an address; None if the base is a variable or an immediate."""
    if not isinstance(operand, Address):
        return None
    register = operands.register(operand.base)
    return None if register is None else source(operands, operand.base, f"b{8 * register.width}")


def numbers_at(
    memory: SpaceMemory, lanes: Lanes, addresses: Offsets, size: int, count: int, versions: Versions
) -> list[Number] | None:
    """Return the value numbers of the `count` elements loaded from `addresses`; None for memory private to a thread."""
    if memory.space not in {"global", "shared", "const", "param"}:
        return None
    offsets = memory.flat(np.broadcast_to(addresses, (lanes.height, 32)), lanes)
    elements = [offsets + size * index for index in range(count)]
    if memory.observed:
        strict = [versions.at(memory.space, each, size) for each in elements]
        level = DATA
    else:
        place = name_number(memory.space, size)
        strict = [mix(_PARAMETER, place, each.astype(np.uint64)) for each in elements]
        level = LAUNCH
    return [Number(each, reduced(each), np.full((1, 1), level), leaf_bits(each)) for each in strict]


def moved_from(number: Number, base: Number | None) -> Number:
    """Return the value number of a loaded value, mixed with that of the address if the address depends on data."""
    if base is None or not (base.level >= DATA).any():
        return number
    depends = base.level >= DATA
    strict = mix(number.strict, base.strict)
    level = np.maximum(number.level, base.level)
    return where(depends, Number(strict, reduced(strict), level, number.leaves | base.leaves), number)
