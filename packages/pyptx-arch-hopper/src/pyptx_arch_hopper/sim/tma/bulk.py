"""Bulk copies: many bytes for one thread, by the copy engine. Manual: "Bulk copy", "Tensor copy"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_sim.extension import AsyncItem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from pyptx_sim.extension import Arena, Array, IntArray, Mask, Origin, Update
    from pyptx_sim.types import DType

_SIX = 6  # bits of an element that a store packs

Convert: TypeAlias = "Callable[[Array], Array]"
Octets: TypeAlias = "NDArray[np.uint8]"


@dataclass(frozen=True, slots=True)
class Unknown:
    """The undefined bits of what a copy moves, `[elements, bytes of one]`, None without any; and where such come from.

    Bits of the destination that a reduction leaves undefined are said to come from there, too.
    """

    bits: Octets | None
    origin: Origin


@dataclass(frozen=True, slots=True)
class Elements:
    """Some elements of an arena, in order: `index` counts elements of `dtype` from its start.

    `swizzle` is the width of the swizzle by which they lie there, 16 for none; None if they are no box of a tensor.
    Of each `together` of them, no two at one place, in whatever order, the bytes lie together.
    """

    space: str
    arena: Arena
    dtype: DType
    index: IntArray
    swizzle: int | None = None
    together: int = 1

    @property
    def offsets(self) -> IntArray:
        """The offset of each in bytes."""
        return self.index * self.dtype.itemsize

    def load(self, known: Mask | None, fill: Array, convert: Convert | None) -> Array:
        """Return the values, converted; those that are not `known` are `fill`."""
        found = self.arena.take(self.index if known is None else self.index[known], self.dtype)
        if convert is not None:
            found = convert(found)
        if known is None:
            return found
        values = np.full(self.index.shape, fill, fill.dtype)
        values[known] = found
        return values

    def store(self, values: Array, update: Update | None, unknown: Unknown | None) -> None:
        """Set the values, or combine them with what is there."""
        if update is None:
            self.arena.put(self.index, values)
        else:
            self.arena.update(self.index, update, values, None if unknown is None else unknown.origin)
        if unknown is not None and unknown.bits is not None:
            self.arena.leave_elements(self.index, unknown.bits, unknown.origin)

    def undefined(self) -> Octets | None:
        """Return the bits that nothing has defined, `[elements, bytes of one]`; None if there are none."""
        return self.arena.undefined_elements(self.index, self.dtype)

    def chosen(self, which: Mask) -> Elements:
        """Return some of the elements."""
        return Elements(self.space, self.arena, self.dtype, self.index[which])


@dataclass(slots=True, kw_only=True)
class Transfer:
    """What a copy moves: `source` to each of `targets`.

    `known`: elements of the source that exist. `fills`: `fill` stands for the others; they are not copied otherwise.
    `update` combines with what is there, `convert` changes values on their way. `origin` is where undefined bits come
    from, if there are any.
    """

    source: Elements
    targets: tuple[Elements, ...]
    fill: Array
    fills: bool
    known: Mask | None = None
    update: Update | None = None
    convert: Convert | None = None
    values: Array | None = None
    origin: Origin | None = None
    unknown: Unknown | None = None

    def read(self) -> Array:
        """Read the source, unless that has happened."""
        if self.values is None:
            self.values = self.source.load(self.known if self.fills else None, self.fill, self.convert)
            if self.origin is not None:
                self.unknown = Unknown(self._undefined(), self.origin)
        return self.values

    def _undefined(self) -> Octets | None:
        """Return the undefined bits of what is read: of what is computed with, whole elements."""
        bits = self.source.undefined()
        if bits is None:
            return None
        if self.update is not None or self.convert is not None:
            bits = np.where(bits.any(axis=1, keepdims=True), np.uint8(0xFF), np.uint8(0)).repeat(bits.shape[1], axis=1)
        if self.known is not None:
            bits = np.where(self.known[:, None], bits, np.uint8(0))
        return bits

    def write(self) -> None:
        """Write to the targets."""
        values, known = self.read(), self.known
        for target in self.targets:
            if known is None or self.fills:
                target.store(values, self.update, self.unknown)
            else:
                unknown = self.unknown
                if unknown is not None and unknown.bits is not None:
                    unknown = Unknown(unknown.bits[known], unknown.origin)
                target.chosen(known).store(values[known], self.update, unknown)


@dataclass(slots=True, kw_only=True)
class Narrowing(Transfer):
    """A copy of bytes of which the lower six bits are packed: 16 bytes of the source are 12 of the target.

    `known` tells of those of the target.
    """

    def read(self) -> Array:
        """Read the source and pack it, unless that has happened."""
        if self.values is None:
            found = self.source.load(None, self.fill, None)
            bits = np.unpackbits(found[:, None], axis=1, bitorder="little")[:, :_SIX]
            self.values = np.packbits(bits.reshape(-1), bitorder="little")
        return self.values


@dataclass(slots=True, kw_only=True)
class BulkCopy(AsyncItem):
    """One bulk copy by one thread; each of `barriers` counts `size` bytes."""

    transfer: Transfer
    barriers: tuple[int, ...]
    size: int

    def signals(self) -> Iterable[int]:
        """Return the mbarriers."""
        return self.barriers

    def read(self) -> None:
        """Read the source, unless that has happened."""
        self.transfer.read()

    def keep(self, which: Mask | slice) -> None:
        """Forget the copy, or keep it: of its arrays, those of every item alone are of one entry."""
        self.warps, self.lanes, self.numbers = self.warps[which], self.lanes[which], self.numbers[which]

    def move(self) -> None:
        """Write, then count the bytes."""
        self.transfer.write()
        for barrier in self.barriers:
            self.count_bytes(barrier, self.size)
