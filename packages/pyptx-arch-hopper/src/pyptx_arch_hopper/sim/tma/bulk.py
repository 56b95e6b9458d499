"""Outstanding bulk and tensor copies: sources, targets, and their completion. Manual: "Bulk copy", "Tensor copy"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_sim.extension import AsyncIssue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from pyptx_sim.extension import Arena, Array, IntArray, Mask, Origin, Update
    from pyptx_sim.types import DType

_SIX = 6  # bits of each byte that a .b6p2x16 store writes

Convert: TypeAlias = "Callable[[Array], Array]"
Octets: TypeAlias = "NDArray[np.uint8]"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Undefined bits of copied elements, `[elements, bytes per element]` or None, and the `Origin` of the bits.

    Destination bits that a reduction leaves undefined get the same `Origin`.
    """

    bits: Octets | None
    origin: Origin


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements of a simulator arena in copy order: `index` counts elements of `dtype` from the arena's start.

    `swizzle` is the swizzle mode of a box in shared memory, None for other elements; `start` is the address of the
    box in its CTA's shared memory. In each group of
    `together` consecutive elements, the elements are distinct and fill a contiguous range of bytes, in any order.
    """

    space: str
    arena: Arena
    dtype: DType
    index: IntArray
    swizzle: str | None = None
    together: int = 1
    start: int = 0

    @property
    def offsets(self) -> IntArray:
        """Byte offset of each element in the simulator's array of its state space."""
        return self.index * self.dtype.itemsize

    def load(self, known: Mask | None, fill: Array, convert: Convert | None) -> Array:
        """Return the elements' values, converted by `convert`; elements whose `known` is false are `fill`."""
        found = self.arena.take(self.index if known is None else self.index[known], self.dtype)
        if convert is not None:
            found = convert(found)
        if known is None:
            return found
        values = np.full(self.index.shape, fill, fill.dtype)
        values[known] = found
        return values

    def store(self, values: Array, update: Update | None, unknown: Unknown | None) -> None:
        """Store values to the elements, or combine them with memory by `update`."""
        if update is None:
            self.arena.put(self.index, values)
        else:
            self.arena.update(self.index, update, values, None if unknown is None else unknown.origin)
        if unknown is not None and unknown.bits is not None:
            self.arena.leave_elements(self.index, unknown.bits, unknown.origin)

    def undefined(self) -> Octets | None:
        """Return the elements' undefined bits, `[elements, bytes per element]`; None if all bits are defined."""
        return self.arena.undefined_elements(self.index, self.dtype)

    def chosen(self, which: Mask) -> Elements:
        """Return the elements for which the mask `which` is true."""
        return Elements(self.space, self.arena, self.dtype, self.index[which])


@dataclass(slots=True, kw_only=True)
class Transfer:
    """Data movement of a copy: `source` to each of `targets`.

    `known`: elements of the source that are in bounds. `fills`: elements out of bounds are replaced by `fill`;
    otherwise they are not copied. `update` combines values with memory, `convert` changes them. `origin` is the
    `Origin` of undefined bits; None if all bits are defined.
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
        """Return the source's element values, read on the first call."""
        if self.values is None:
            self.values = self.source.load(self.known if self.fills else None, self.fill, self.convert)
            if self.origin is not None:
                self.unknown = Unknown(self._undefined(), self.origin)
        return self.values

    def _undefined(self) -> Octets | None:
        """Return the source's undefined bits; in a reduction or conversion, whole elements become undefined."""
        bits = self.source.undefined()
        if bits is None:
            return None
        if self.update is not None or self.convert is not None:
            bits = np.where(bits.any(axis=1, keepdims=True), np.uint8(0xFF), np.uint8(0)).repeat(bits.shape[1], axis=1)
        if self.known is not None:
            bits = np.where(self.known[:, None], bits, np.uint8(0))
        return bits

    def write(self) -> None:
        """Write the source's values to the targets."""
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
    """Data movement that packs the lower six bits of each byte: 16 source bytes become 12 target bytes.

    `known` refers to bytes of the target.
    """

    def read(self) -> Array:
        """Return the packed bytes of the copy; the first call reads the source and packs it."""
        if self.values is None:
            found = self.source.load(None, self.fill, None)
            bits = np.unpackbits(found[:, None], axis=1, bitorder="little")[:, :_SIX]
            self.values = np.packbits(bits.reshape(-1), bitorder="little")
        return self.values


@dataclass(slots=True, kw_only=True)
class IssuedCopy(AsyncIssue):
    """One bulk copy by one thread, with a complete-tx of `size` bytes on each of `barriers`.

    `transfer` is None for a copy that moves nothing, because its addresses are invalid.
    """

    transfer: Transfer | None
    barriers: tuple[int, ...]
    size: int

    def signals(self) -> Iterable[int]:
        """Return the mbarriers that the copy signals."""
        return self.barriers

    def read(self) -> None:
        """Read the source of the copy, unless it has been read."""
        if self.transfer is not None:
            self.transfer.read()

    def keep(self, which: Mask | slice) -> None:
        """Keep this one copy if `which`, an index into an array of length 1, selects index 0; else drop the copy."""
        self.warps, self.lanes, self.numbers = self.warps[which], self.lanes[which], self.numbers[which]

    def move(self) -> None:
        """Write the targets, then perform complete-tx on the mbarriers."""
        if self.transfer is not None:
            self.transfer.write()
        for barrier in self.barriers:
            self.count_bytes(barrier, self.size)
