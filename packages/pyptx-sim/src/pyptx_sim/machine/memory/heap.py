"""Device heap in global memory, for `malloc` and `free` in kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_sim.machine.memory.buffers import Buffer
from pyptx_sim.program.layout import aligned

if TYPE_CHECKING:
    from pyptx_sim.machine.memory.buffers import Buffers

# _GAP: unused bytes after every allocated block. _ALIGNMENT: alignment in bytes that malloc guarantees.
_GAP = 64
_ALIGNMENT = 16


class Heap:
    """Allocator of bytes `[start, end)` of the global arena; freed bytes are not reused, to find use after free."""

    __slots__ = ("_blocks", "_buffers", "_end", "_next")

    def __init__(self, start: int, end: int, buffers: Buffers) -> None:
        """Start empty; `buffers`, which checks the bounds of accesses, receives every allocated block."""
        self._next = start
        self._end = end
        self._buffers = buffers
        self._blocks: dict[int, Buffer] = {}

    @property
    def blocks(self) -> list[Buffer]:
        """Allocated blocks."""
        return list(self._blocks.values())

    def copy(self, buffers: Buffers) -> Heap:
        """Return a copy of the heap, whose allocated blocks are added to `buffers`."""
        made = Heap(self._next, self._end, buffers)
        made._blocks = dict(self._blocks)
        for block in self._blocks.values():
            buffers.add(block)
        return made

    def allocate(self, size: int) -> int:
        """Return the offset of `size` fresh bytes; 0 if the heap is full."""
        start = aligned(self._next, _ALIGNMENT)
        if size <= 0 or start + size > self._end:
            return 0
        block = Buffer(start, start + size, f"malloc({size})")
        self._next = start + size + _GAP
        self._blocks[start] = block
        self._buffers.add(block)
        return start

    def release(self, start: int) -> bool:
        """Free the allocated block at offset `start`; return False if no block starts there."""
        block = self._blocks.pop(start, None)
        if block is None:
            return False
        self._buffers.remove(block)
        return True
