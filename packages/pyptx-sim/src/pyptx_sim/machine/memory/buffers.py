"""Allocations in global memory: arguments, module variables and the heap, with red zones between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_ir.isa.modules.counting import counted

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.operation import Mask


_SIZES: Final = (1, 2, 4, 8, 16)  # element sizes in bytes that `_wrapped` tries for a negative array index
_NEAR: Final = 64  # addresses up to this number of elements before an array count as negative indices into it


@dataclass(frozen=True, slots=True)
class Buffer:
    """Allocation: bytes `[start, end)` and the user's name for it; `shown`: the host can read its final contents.

    `parts`: the user's arrays in the allocation, if there are several; they may overlap.
    """

    start: int
    end: int
    name: str
    shown: bool = False
    parts: tuple[Buffer, ...] = ()

    def place(self, offset: int) -> str:
        """Return, for messages, the position of a byte in each array that contains the byte: `x+4 (y+0)`."""
        first, *others = [part for part in self.parts if part.start <= offset < part.end] or [self]
        more = "".join(f" ({part.name}+{offset - part.start})" for part in others)
        return f"{first.name}+{offset - first.start}{more}"

    def whole(self) -> str:
        """Return the name and size of the buffer; if it has several arrays, the name and size of the last array."""
        last = max(self.parts, key=lambda part: part.end, default=self)
        return f"{last.name} ({counted(last.end - last.start, 'byte')})"


class Buffers:
    """Allocations of a space, in order of address."""

    __slots__ = ("_buffers", "_ends", "_last", "_starts")

    def __init__(self, buffers: list[Buffer]) -> None:
        """Start with the allocations `buffers`, which must not overlap."""
        self._set(sorted(buffers, key=lambda buffer: buffer.start))

    def _set(self, buffers: list[Buffer]) -> None:
        self._buffers = buffers
        self._starts = np.array([buffer.start for buffer in buffers], np.int64)
        self._ends = np.array([buffer.end for buffer in buffers], np.int64)
        self._last = Buffer(0, 0, "")

    def add(self, buffer: Buffer) -> None:
        """Add an allocation."""
        self._set(sorted([*self._buffers, buffer], key=lambda known: known.start))

    def remove(self, buffer: Buffer) -> None:
        """Remove an allocation; its bytes become invalid."""
        self._set([known for known in self._buffers if known is not buffer])

    def hold(self, low: int, high: int) -> bool:
        """Return whether a single allocation contains all bytes of `[low, high)`."""
        if self._last.start <= low and high <= self._last.end:
            return True
        found = self.at(low)
        if found is None or high > found.end:
            return False
        self._last = found
        return True

    def at(self, offset: int) -> Buffer | None:
        """Return the last allocation that starts at or below `offset`."""
        index = int(np.searchsorted(self._starts, offset, side="right")) - 1
        return self._buffers[index] if index >= 0 else None

    def outside(self, offsets: IntArray, size: int) -> Mask:
        """Return for each offset whether any of its `size` bytes is outside all allocations."""
        if not self._buffers:
            return np.ones(offsets.shape, np.bool_)
        index = np.searchsorted(self._starts, offsets, side="right") - 1
        ends = self._ends[np.maximum(index, 0)]
        return (index < 0) | (offsets + size > ends)

    def shown(self, offsets: IntArray) -> Mask:
        """Return for each offset in an allocation whether the host can read the allocation's final contents."""
        index = np.searchsorted(self._starts, offsets, side="right") - 1
        return np.array([buffer.shown for buffer in self._buffers], np.bool_)[index]

    def describe(self, offset: int) -> str:
        """Return a symbolic address (`x+4`) for `offset`, or its distance from the nearest allocation."""
        found = self.at(offset)
        if found is not None and offset < found.end:
            return found.place(offset)
        following = next((buffer for buffer in self._buffers if buffer.start > offset), None)
        past = offset - found.end if found is not None else None
        before = following.start - offset if following is not None else None
        wrapped = self._wrapped(offset)
        if wrapped is not None:
            return wrapped
        if found is not None and past is not None and (before is None or past <= before):
            return f"{counted(past, 'byte')} after {found.whole()}"
        if following is not None and before is not None:
            first = min(following.parts, key=lambda part: part.start, default=following)
            return f"{counted(before, 'byte')} before {first.name}"
        return "no memory is allocated"

    def _wrapped(self, offset: int) -> str | None:
        """Describe `offset` as an array element with a negative 32-bit index that was zero-extended to 64 bits.

        None if the offset is not near such an element of any array.
        """
        for size in _SIZES:
            low = offset - (size << 32)
            buffer = next((each for each in self._buffers if 0 < each.start - low <= _NEAR * size), None)
            if buffer is not None:
                first = min(buffer.parts, key=lambda part: part.start, default=buffer)
                index = -(-(first.start - low) // size)
                return f"element -{index} of {first.name}, if the index -{index} was zero-extended from u32 to 64 bits"
        return None
