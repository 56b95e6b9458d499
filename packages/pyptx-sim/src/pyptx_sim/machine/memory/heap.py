"""The device heap: `malloc` and `free` of a kernel, within the global space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_sim.machine.memory.buffers import Buffer
from pyptx_sim.program.layout import aligned

if TYPE_CHECKING:
    from pyptx_sim.machine.memory.buffers import Buffers

# Unused bytes behind every block, and the alignment that malloc promises.
_GAP = 64
_ALIGNMENT = 16


class Heap:
    """Hands out bytes `[start, end)` of the global arena; freed ones are not used again, so later use is found."""

    __slots__ = ("_blocks", "_buffers", "_end", "_next")

    def __init__(self, start: int, end: int, buffers: Buffers) -> None:
        """Register every block with `buffers`, which judge the bounds of accesses."""
        self._next = start
        self._end = end
        self._buffers = buffers
        self._blocks: dict[int, Buffer] = {}

    def allocate(self, size: int) -> int:
        """Return the offset of `size` fresh bytes, or 0 if there is no room."""
        start = aligned(self._next, _ALIGNMENT)
        if size <= 0 or start + size > self._end:
            return 0
        block = Buffer(start, start + size, f"a malloc of {size} bytes")
        self._next = start + size + _GAP
        self._blocks[start] = block
        self._buffers.add(block)
        return start

    def release(self, start: int) -> bool:
        """Forget the block at `start`; False if there is none."""
        block = self._blocks.pop(start, None)
        if block is None:
            return False
        self._buffers.remove(block)
        return True
