"""Memory: arrays in global memory before any launch, so that other arrays can contain their addresses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.arrays import host_array, span_of
from pyptx_sim.errors import LaunchError
from pyptx_sim.program.layout import aligned
from pyptx_sim.program.windows import GLOBAL_WINDOW
from pyptx_sim.regions import Placed, Regions
from pyptx_sim.spans import ALIGNMENT

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pyptx_sim.arrays import Tensor
    from pyptx_sim.operation import Array
    from pyptx_sim.regions import Region

# Bytes reserved below the arrays for module variables, whose sizes are not known yet; few modules need over 4 KiB.
_MODULE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class DeviceArray:
    """An array of a `Memory`: `array` is the host array that launches read and modify; `address` is its device address.

    Pass it as the argument for a pointer, alone or in a structure; its address may also be stored in other arrays.
    """

    array: Array
    address: int
    name: str
    memory: Memory = field(repr=False)

    def address_of(self, *index: int) -> int:
        """Return the address of the element at `index`; axes without an index count as index 0.

        Elements are at the strides of the host's array. IndexError for an index that is out of range.
        """
        shape = self.array.shape
        first = (*index, *[0] * (len(shape) - len(index)))
        if len(first) != len(shape) or not all(0 <= at < extent for at, extent in zip(index, shape, strict=False)):
            raise IndexError(f"invalid index {index} of {self.name}: shape is {shape}")
        return self.address + sum(at * stride for at, stride in zip(first, self.array.strides, strict=True))


class Memory:
    """Global memory that outlives launches: arrays have addresses before any launch, and all launches share them.

    Pass the memory to a launch as `memory=`, or pass one of the memory's arrays: the kernel can then access all arrays.
    Bounds and uninitialized reads are checked in each array. After a launch, `DeviceArray.array` holds the values that
    the launch wrote.
    """

    def __init__(self, *, module_bytes: int = _MODULE_BYTES) -> None:
        """Start without arrays; reserve `module_bytes` for the variables of modules that will be launched."""
        self.module_bytes = module_bytes
        self.placed: list[Placed] = []
        self.end = aligned(module_bytes, ALIGNMENT)
        self._regions = Regions()

    def put(self, array: Array | Tensor, name: str | None = None) -> DeviceArray:
        """Place an array in the memory, aligned as on a device; `name` names the array in messages.

        A buffer starts at a multiple of 256 bytes, and a view at its offset in the buffer. An array that is already in
        the memory keeps its address, and a view of it is inside it. The bytes of a CPU tensor of torch are placed and
        modified by launches. LaunchError for a view that partially overlaps a placed array: put the array that both are
        views of first.
        """
        return self._place(array, name, fresh=False)

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike, name: str | None = None) -> DeviceArray:
        """Place a new uninitialized array in the memory: a kernel's read of an unwritten element is a finding."""
        return self._place(np.zeros(shape, dtype), name, fresh=True)

    def _place(self, given: Array | Tensor, name: str | None, *, fresh: bool) -> DeviceArray:
        array, called = host_array(given), name or f"array {len(self.placed)}"
        check_dtype(array, "a kernel")
        host = span_of(given)
        region = self._regions.of(host, called)
        known = next((each for each in region.views if each.covers(host, fresh=True)), None)
        self.end, region.fixed = region.place(self.end), True
        if known is None:
            written = np.zeros(host.size, np.uint8) if fresh else None
            known = Placed(host, region.at(host), called, f"'{called}'", written)
            region.add(known)
            self.placed.append(known)
        return DeviceArray(array, GLOBAL_WINDOW + region.at(host), known.name, self)

    @property
    def regions(self) -> list[Region]:
        """Regions of host memory that contain the placed arrays."""
        return list(self._regions)

    def __getstate__(self) -> tuple[int, int, list[Placed]]:
        """Return the state to pickle, without the regions: unpickled arrays have other host addresses."""
        return self.module_bytes, self.end, self.placed

    def __setstate__(self, state: tuple[int, int, list[Placed]]) -> None:
        """Restore the pickled state, and compute the regions from the unpickled arrays' host addresses."""
        self.module_bytes, self.end, self.placed = state
        self._regions = Regions()
        for each in self.placed:
            region = self._regions.of(each.host, each.name)
            region.start, region.fixed = each.start - (each.host.low - region.low), True
            region.add(each)


def check_dtype(array: Array, what: str) -> None:
    """Raise LaunchError, with `what` in the message, for an array of objects or of non-native byte order."""
    if not array.dtype.isnative or array.dtype.hasobject:
        raise LaunchError(f"unsupported dtype {array.dtype} of the array for {what}", help="use a native numeric dtype")
