"""Device memory: allocations at device addresses, whose contents and initialization outlive launches."""

from __future__ import annotations

import os
import weakref
from bisect import bisect_left, bisect_right, insort
from collections import deque
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.errors import LaunchError, OutOfMemory
from pyptx_sim.machine.memory.arena import Arena
from pyptx_sim.machine.memory.buffers import Buffer, Buffers
from pyptx_sim.machine.memory.heap import Heap
from pyptx_sim.mapping import PAGE, FileBytes
from pyptx_sim.program.images import RED_ZONE
from pyptx_sim.program.layout import aligned
from pyptx_sim.program.windows import GLOBAL_WINDOW
from pyptx_sim.spans import address_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pyptx_sim.program.program import Image, Program

Data: TypeAlias = "bytes | bytearray"
ALIGNMENT: Final = 512  # of allocations, in bytes, as in PyTorch's allocator; cudaMalloc guarantees 256
MODULE_BYTES: Final = 1 << 20
# Below the allocations are the variables of modules that are not loaded, which are new for every launch, and the heap
# of `malloc` in kernels, of CUDA's default size.
_HEAP: Final = range(MODULE_BYTES, MODULE_BYTES + (8 << 20))
_WORKSPACE: Final = 1024  # room for the workspace of a cooperative grid, after the variables of a module, in bytes
_WITHHELD: Final = 1 << 26  # number of freed bytes that are not allocated again, so that accesses to them are faults


@dataclass(frozen=True, slots=True)
class _Allocation:
    """Allocation with its bounds, `buffer`; `end` is the end of its range, red zone included."""

    buffer: Buffer
    end: int

    @property
    def start(self) -> int:
        """Offset of the first byte."""
        return self.buffer.start


class DeviceMemory:
    """Global memory of a simulated device.

    An allocation has a device address, and is uninitialized until the host or a launch writes it. `bytes` is a live
    view for the host. On Linux, host addresses in that view equal device addresses, for the first memory of a process.
    """

    def __init__(self, size: int) -> None:
        """Reserve `size` bytes of addresses; a page takes host memory once it is accessed."""
        self.size = aligned(size, PAGE)
        self.module_bytes = _HEAP.start
        self._contents = FileBytes(self.size, GLOBAL_WINDOW)
        self._defined = FileBytes(self.size)
        self._offset = address_of(self._contents.host) - GLOBAL_WINDOW  # host address - device address
        self._allocations: list[_Allocation] = []
        self._free: list[tuple[int, int]] = [(_HEAP.stop, self.size)]
        self._withheld: deque[_Allocation] = deque()
        self._withheld_bytes = 0
        self._constants: dict[int, bytearray] = {}
        self._heap: Heap | None = None
        _follow_forks(self)

    # Allocations -------------------------------------------------------------------------------------

    def allocate(self, size: int, name: str | None = None) -> int:
        """Return the address of `size` new bytes, which are uninitialized; `name` names them in messages.

        Addresses are multiples of 512. Raise OutOfMemory if no free range is large enough.
        """
        if size < 0:
            raise LaunchError(f"size of an allocation must not be negative, got {size}")
        needed = aligned(size + RED_ZONE, ALIGNMENT)
        start = self._take(needed)
        while start is None and self._withheld:
            self._release_oldest()
            start = self._take(needed)
        if start is None:
            raise OutOfMemory(
                f"cannot allocate {counted(size, 'byte')}: {self.used} of {self.size - _HEAP.stop} are in use",
                help="use a device with more memory: Context(memory_bytes=…)",
            )
        buffer = Buffer(start, start + size, name or f"allocation of {counted(size, 'byte')}", shown=True)
        insort(self._allocations, _Allocation(buffer, start + needed), key=attrgetter("start"))
        return GLOBAL_WINDOW + start

    def free(self, address: int) -> None:
        """Free the allocation at `address`; later accesses to it are faults. LaunchError if no allocation starts there.

        Its addresses are allocated again only after 64 MiB of other allocations were freed, or if nothing else is free.
        Launches that access it must be complete: call `Context.synchronize` first.
        """
        offset = address - GLOBAL_WINDOW
        index = bisect_left(self._allocations, offset, key=attrgetter("start"))
        if index == len(self._allocations) or self._allocations[index].start != offset:
            raise LaunchError(f"no allocation starts at address {address:#x}")
        freed = self._allocations.pop(index)
        self._withheld.append(freed)
        self._withheld_bytes += freed.end - freed.start
        while self._withheld_bytes > _WITHHELD:
            self._release_oldest()

    def reserve_variables(self, size: int) -> int:
        """Return the offset of a free range for the variables of a module, `size` bytes, and its grid workspace."""
        start = self._take(aligned(size + _WORKSPACE, ALIGNMENT))
        if start is None:
            raise OutOfMemory(f"cannot allocate {counted(size, 'byte')} for the variables of a module")
        return start

    def load_variables(self, image: Image) -> None:
        """Write the initial values of a module's variables at the offsets that `image` gives them."""
        self.write(GLOBAL_WINDOW + image.start, image.data)
        for place in image.placements:
            buffer = Buffer(place.offset, place.offset + place.size, place.name)
            insort(self._allocations, _Allocation(buffer, buffer.end), key=attrgetter("start"))

    def _take(self, size: int) -> int | None:
        """Return the start of the first free range of `size` bytes, and make it used; None if there is none."""
        for index, (low, high) in enumerate(self._free):
            if high - low >= size:
                self._free[index : index + 1] = [(low + size, high)] if high - low > size else []
                return low
        return None

    def _release_oldest(self) -> None:
        """Make the range that was freed first free: its bytes become zero and uninitialized, and take no memory."""
        freed = self._withheld.popleft()
        low, high = freed.start, freed.end
        self._withheld_bytes -= high - low
        self._contents.discard(low, high)
        self._defined.discard(low, high)
        index = bisect_left(self._free, (low, high))
        if index < len(self._free) and self._free[index][0] == high:
            high = self._free.pop(index)[1]
        if index and self._free[index - 1][1] == low:
            index -= 1
            low = self._free.pop(index)[0]
        self._free.insert(index, (low, high))

    def allocation(self, address: int) -> tuple[int, int] | None:
        """Return the address and the size of the allocation that contains `address`; None if there is none."""
        offset = address - GLOBAL_WINDOW
        index = bisect_right(self._allocations, offset, key=attrgetter("start")) - 1
        if index < 0:
            return None
        found = self._allocations[index].buffer
        size = found.end - found.start
        return (GLOBAL_WINDOW + found.start, size) if offset < found.start + max(size, 1) else None

    @property
    def used(self) -> int:
        """Number of allocated bytes."""
        return sum(each.buffer.end - each.start for each in self._allocations)

    @property
    def end(self) -> int:
        """Offset after the last allocation."""
        return self._allocations[-1].end if self._allocations else _HEAP.stop

    # Contents ----------------------------------------------------------------------------------------

    def bytes(self, address: int, size: int) -> NDArray[np.uint8]:
        """Return a live view of `size` bytes at a device address; writing to it does not mark them as initialized."""
        return self._contents.host[self._span(address, size)]

    def initialized(self, address: int, size: int) -> NDArray[np.uint8]:
        """Return a live mask of the initialized bits of `size` bytes at a device address."""
        return self._defined.host[self._span(address, size)]

    def mark_initialized(self, address: int, size: int) -> None:
        """Mark bytes as initialized, because the host has written them."""
        self.initialized(address, size)[:] = 0xFF

    def mark_uninitialized(self, address: int, size: int) -> None:
        """Mark bytes as uninitialized."""
        self.initialized(address, size)[:] = 0

    def write(self, address: int, data: Data | NDArray[np.uint8]) -> None:
        """Write bytes at a device address, and mark them as initialized."""
        raw = np.frombuffer(data, np.uint8)
        self.bytes(address, len(raw))[:] = raw
        self.mark_initialized(address, len(raw))

    def host_address(self, address: int) -> int:
        """Return the host address of the byte at a device address."""
        return address + self._offset

    def device_address(self, host_address: int) -> int | None:
        """Return the device address of a byte of the host's live view; None for other host memory."""
        address = host_address - self._offset
        return address if GLOBAL_WINDOW <= address < GLOBAL_WINDOW + self.size else None

    def _span(self, address: int, size: int) -> slice:
        start = address - GLOBAL_WINDOW
        if not 0 <= start <= start + size <= self.size:
            raise LaunchError(f"{counted(size, 'byte')} at address {address:#x} are not in device memory")
        return slice(start, start + size)

    # Launches ----------------------------------------------------------------------------------------

    def constants(self, program: Program) -> Data:
        """Return the bytes of a program's `.const` variables: those of its module, if that is loaded."""
        return self._constants.get(program.globals.start, program.constants.data)

    def set_constants(self, start: int, data: bytearray) -> None:
        """Set the bytes of the `.const` variables of the module whose global variables start at offset `start`."""
        self._constants[start] = data

    def snapshot(self, end: int, further: Sequence[Buffer], views: Sequence[Buffer], *, checked: bool) -> Snapshot:
        """Return the memory up to offset `end` for a launch, whose writes stay private until they are committed.

        `further` are the bounds of allocations for this launch only. `views` are the launch's arrays in device memory,
        with their names for messages.
        """
        allocated = {each.start: each.buffer for each in self._allocations}
        for view in views:
            index = bisect_right(self._allocations, view.start, key=attrgetter("start")) - 1
            if index >= 0:
                whole = allocated[self._allocations[index].start]
                allocated[whole.start] = replace(whole, parts=(*whole.parts, view))
        buffers = Buffers([*allocated.values(), *further])
        heap = Heap(_HEAP.start, _HEAP.stop, buffers) if self._heap is None else self._heap.copy(buffers)
        arena = Arena.over(self._contents.copy(end), self._defined.copy(end) if checked else None)
        return Snapshot(self, arena, buffers, heap)

    def commit(self, snapshot: Snapshot) -> None:
        """Make the writes of a launch visible to the host and to later launches."""
        allocated = (each.buffer for each in self._allocations)
        spans = [(each.start, each.end) for each in (*snapshot.heap.blocks, *allocated) if each.end > each.start]
        written = self._contents.commit(snapshot.arena.data, spans)
        if snapshot.arena.defined is not None:
            self._defined.commit(snapshot.arena.defined, spans)
        else:  # the launch did not track initialization: what it may have written counts as initialized
            for low, high in written:
                self._defined.host[low:high] = 0xFF
        self._heap = snapshot.heap

    def leave_parent(self) -> None:
        """In a forked process, continue with a copy of the memory, at the same addresses."""
        spans = [(_HEAP.start, _HEAP.stop), *((each.start, each.end) for each in self._allocations)]
        self._contents.leave(spans)
        self._defined.leave(spans)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Device memory as one launch reads and writes it; `commit` makes its writes visible."""

    memory: DeviceMemory
    arena: Arena
    buffers: Buffers
    heap: Heap

    def commit(self) -> None:
        """Make the launch's writes visible to the host and to later launches."""
        self.memory.commit(self)


def _follow_forks(memory: DeviceMemory) -> None:
    """Give each forked process device memory of its own: the pages are shared between processes otherwise."""
    known = weakref.ref(memory)

    def leave() -> None:
        inherited = known()
        if inherited is not None:
            inherited.leave_parent()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=leave)
