"""The virtual device: a simulated GPU with its properties, its memory and the accounting of allocations."""

from __future__ import annotations

import sys
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pyptx_virtual.streams import Streams

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.isa.target_rows import TargetRow
    from pyptx_sim import Context
    from pyptx_sim.context import DeviceLaunch

WARP: Final = 32
# In kHz and bits, of the device that the simulator models (NVIDIA H200 data sheet): programs estimate times by them.
CLOCK_RATE: Final = 1_980_000
MEMORY_CLOCK_RATE: Final = 3_125_000
MEMORY_BUS_WIDTH: Final = 6144


@dataclass(slots=True)
class MemoryUse:
    """Counters of allocated bytes, or of allocations, as in `torch.cuda.memory_stats`."""

    current: int = 0
    peak: int = 0
    allocated: int = 0
    freed: int = 0

    def add(self, amount: int) -> None:
        """Count an allocation."""
        self.current += amount
        self.allocated += amount
        self.peak = max(self.peak, self.current)

    def remove(self, amount: int) -> None:
        """Count a deallocation."""
        self.current -= amount
        self.freed += amount


@dataclass(slots=True)
class VirtualDevice:
    """Simulated GPU number 0 of the process.

    `context` executes launches and owns the device memory. `target` is its architecture, `memory_bytes` the size of its
    memory. Tensors may be freed in any thread, even while a launch is simulated. Therefore `free_later` only records
    the address, and the next allocation frees the memory.
    """

    context: Context
    target: TargetRow
    memory_bytes: int
    streams: Streams = field(init=False)
    bytes_in_use: MemoryUse = field(default_factory=MemoryUse)
    allocations: MemoryUse = field(default_factory=MemoryUse)
    host_view: Callable[[Any], Any] = lambda tensor: tensor
    """Function that returns a tensor on the CPU over the bytes of a tensor; the door for torch sets it."""
    when_complete: list[Callable[[DeviceLaunch], object]] = field(
        default_factory=list["Callable[[DeviceLaunch], object]"]
    )
    """Functions that are called with each launch that is complete, or has ended with an error."""
    _sizes: dict[int, int] = field(default_factory=dict[int, int])
    _freed: deque[int] = field(default_factory=deque[int])
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.streams = Streams(self.context)
        self.context.when_complete = self._completed

    @property
    def name(self) -> str:
        """Name of the device, which says that it is virtual."""
        return f"pyptx virtual GPU ({self.target.name})"

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability: major and minor number."""
        return divmod(self.target.number, 10)

    def _completed(self, launch: DeviceLaunch) -> None:
        """Print what a completed launch has printed, and call the functions of `when_complete`."""
        if launch.result is not None and launch.result.printed:
            sys.stdout.write(launch.result.printed)
        for function in self.when_complete:
            function(launch)

    def allocate(self, nbytes: int) -> int:
        """Return the device address of `nbytes` uninitialized bytes; raise OutOfMemory if they do not fit."""
        with self._lock:
            self.reclaim()
            address = self.context.memory.allocate(nbytes)
            self._sizes[address] = nbytes
            self.bytes_in_use.add(nbytes)
            self.allocations.add(1)
        return address

    def free_later(self, address: int) -> None:
        """Free an allocation before the next one is made. Any thread may call this at any time."""
        self._freed.append(address)

    def reclaim(self) -> None:
        """Free the allocations passed to `free_later`, after all launches that may access them."""
        if not self._freed:
            return
        with self._lock:
            self.context.synchronize()
            while self._freed:
                address = self._freed.popleft()
                self.context.memory.free(address)
                self.bytes_in_use.remove(self._sizes.pop(address))
                self.allocations.remove(1)
