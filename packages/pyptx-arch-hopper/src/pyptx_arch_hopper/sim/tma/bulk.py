"""Bulk copies: many bytes for one thread, by the copy engine. Manual: "Bulk copy", "Tensor copy"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_sim.machine.memory.atomics import apply
from pyptx_sim.operation import Array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_sim.extension import GroupKind
    from pyptx_sim.machine.asynchrony.groups import Groups
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.memory.arena import Arena
    from pyptx_sim.machine.memory.atomics import Update
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask
    from pyptx_sim.types import DType

Convert: TypeAlias = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Elements:
    """Some elements of an arena, in order: `index` counts elements of `dtype` from its start.

    `swizzle` is the width of the swizzle by which they lie there, 16 for none; None if they are no box of a tensor.
    """

    space: str
    arena: Arena
    dtype: DType
    index: IntArray
    swizzle: int | None = None

    @property
    def offsets(self) -> IntArray:
        """The offset of each in bytes."""
        return self.index * self.dtype.itemsize

    def load(self, known: Mask | None, fill: Array, convert: Convert | None) -> Array:
        """Return the values, converted; those that are not `known` are `fill`."""
        words = self.arena.data.view(self.dtype)
        found = words.take(self.index if known is None else self.index[known])
        if convert is not None:
            found = convert(found)
        if known is None:
            return found
        values = np.broadcast_to(fill, self.index.shape).copy()
        values[known] = found
        return values

    def store(self, values: Array, update: Update | None) -> None:
        """Set the values, or combine them with what is there."""
        words = self.arena.data.view(self.dtype)
        if update is None:
            words[self.index] = values
        else:
            apply(words, self.index, update, values, values)
        if self.arena.initialised is not None:
            self.arena.initialised.view(self.dtype)[self.index] = self._ones()

    def unwritten(self) -> IntArray:
        """Return the offsets of elements of which nothing has written all bytes."""
        if self.arena.initialised is None:
            return np.zeros(0, np.int64)
        known = self.arena.initialised.view(self.dtype)[self.index].tobytes()
        if known.count(1) == len(known):
            return np.zeros(0, np.int64)
        bytes_known = np.frombuffer(known, np.uint8).reshape(-1, self.dtype.itemsize)
        return self.offsets[~bytes_known.all(axis=1)]

    def chosen(self, which: Mask) -> Elements:
        """Return some of the elements."""
        return Elements(self.space, self.arena, self.dtype, self.index[which])

    def _ones(self) -> Array:
        return np.frombuffer(b"\1" * self.dtype.itemsize, self.dtype)


@dataclass(slots=True)
class BulkCopy:
    """One bulk copy: `source` goes to each of `targets`, and each of `barriers` counts `size` bytes.

    `known`: elements of the source that exist; in shared memory `fill` stands for the others, to global memory they are
    not copied. `number` is the thread's group that it belongs to. `update` combines with what is there, `convert`
    changes values on their way.
    """

    wave: Wave
    pc: int
    warp: int
    lane: int
    number: int
    source: Elements
    targets: tuple[Elements, ...]
    barriers: tuple[int, ...]
    size: int
    known: Mask | None
    fill: Array
    update: Update | None
    group: GroupKind | None
    convert: Convert | None = None
    values: Array | None = None
    completed: bool = False
    item_id: int = 0

    def __len__(self) -> int:
        """Return 1, or 0 once it has completed."""
        return 0 if self.completed else 1

    def due(self, groups: Groups, *, reads: bool) -> Mask:
        """Tell whether its thread has waited for its group."""
        waited = groups.read if reads else groups.done
        return np.array([self.number < waited[self.warp, self.lane]])

    def signals(self) -> Iterable[int]:
        """Return the mbarriers."""
        return self.barriers

    def read(self) -> None:
        """Read the source, unless that has happened."""
        if self.values is None:
            self.values = self.source.load(self.known if self.barriers else None, self.fill, self.convert)

    def complete(self, which: Mask | None) -> None:
        """Write, then count the bytes."""
        if which is not None and not which.any():
            return
        self.read()
        values, known = self.values, self.known
        assert values is not None  # noqa: S101 - just read
        for target in self.targets:
            if known is None or self.barriers:
                target.store(values, self.update)
            else:
                target.chosen(known).store(values[known], self.update)
        self.completed = True
        for barrier in self.barriers:
            self.wave.mbarriers.complete(barrier, self.size, self.pc, self.item_id)
