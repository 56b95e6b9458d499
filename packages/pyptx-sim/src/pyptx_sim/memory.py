"""Arrays in the global space before anything is launched, so that their addresses can be stored anywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.arrays import ALIGNMENT, host_array
from pyptx_sim.errors import LaunchError
from pyptx_sim.machine.memory.buffers import Buffer
from pyptx_sim.program.images import RED_ZONE
from pyptx_sim.program.layout import aligned
from pyptx_sim.program.windows import GLOBAL_WINDOW

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from pyptx_ir.plugins.rows import Output
    from pyptx_sim.arrays import Tensor
    from pyptx_sim.machine.memory.arena import Arena
    from pyptx_sim.operation import Array

# What is kept free below for the variables of modules, which are not known yet. Few modules have more than a page.
_MODULE_BYTES = 1 << 20


@dataclass(slots=True, eq=False)
class Placed:
    """An array with its place in the global space; `output` as in `Uninitialised`.

    `written` tells which of its bytes something has written; None: all.
    """

    array: Array
    start: int
    name: str
    written: NDArray[np.uint8] | None = None
    output: Output | None = None

    @property
    def span(self) -> slice:
        """The array's offsets."""
        return slice(self.start, self.start + self.array.nbytes)

    def load(self, arena: Arena) -> None:
        """Write the array's contents into the global space."""
        arena.data[self.span] = np.ascontiguousarray(self.array).reshape(-1).view(np.uint8)
        if arena.defined is not None:
            arena.defined[self.span] = 0xFF if self.written is None else self.written

    def store(self, arena: Arena) -> None:
        """Write what the global space holds into the array."""
        now = arena.data[self.span].view(self.array.dtype).reshape(self.array.shape)
        if self.array.flags.writeable:
            self.array[...] = now
        elif now.tobytes() != self.array.tobytes():
            raise LaunchError(
                f"the kernel has written to {self.name}, which is a read-only array",
                hint="pass a writeable copy",
            )
        if self.written is not None:  # without checks nobody knows, and nobody is to be accused
            self.written = None if arena.defined is None else arena.defined[self.span].copy()


@dataclass(frozen=True, slots=True, eq=False)
class DeviceArray:
    """An array of a `Memory`: `array` is the host's, which launches read and change; `address` is where kernels see it.

    It is an argument for a pointer, alone or in a structure; its address may be stored in other arrays, too.
    """

    array: Array
    address: int
    name: str
    memory: Memory = field(repr=False)

    def address_of(self, *index: int) -> int:
        """Return the address of an element, or of the first one that has these indices in front.

        Elements lie densely there, the last index varying fastest, whatever strides the host's array has. IndexError
        for an index that is out of range.
        """
        shape = self.array.shape
        first = (*index, *[0] * (len(shape) - len(index)))
        if len(first) != len(shape) or not all(0 <= at < extent for at, extent in zip(index, shape, strict=False)):
            raise IndexError(f"{index} is no index of {self.name}, whose shape is {shape}")
        return self.address + int(np.ravel_multi_index(first, shape)) * self.array.itemsize


class Memory:
    """Global memory that outlives launches: arrays have their addresses before any, and all launches see the same.

    Give the memory to a launch as `memory=`, or pass one of its arrays: the kernel then sees all of them, and bounds
    and uninitialised reads are checked in each. What a launch writes stands in `DeviceArray.array` behind it.
    """

    def __init__(self, *, module_bytes: int = _MODULE_BYTES) -> None:
        """Begin without arrays; `module_bytes` are kept free for the variables of modules that will be launched."""
        self.module_bytes = module_bytes
        self.placed: list[Placed] = []
        self.end = aligned(module_bytes, ALIGNMENT)

    def put(self, array: Array | Tensor, name: str | None = None) -> DeviceArray:
        """Give an array a place, aligned to 256 bytes; `name` is for messages. An array that has one keeps it.

        Of a tensor of torch on the CPU, its bytes are placed, and changed by launches.
        """
        return self._place(array, name, None)

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike, name: str | None = None) -> DeviceArray:
        """Place a new array that nothing has written yet: a kernel's read of it before a write is a finding."""
        array = np.zeros(shape, dtype)
        return self._place(array, name, np.zeros(array.nbytes, np.uint8))

    def _place(self, given: Array | Tensor, name: str | None, written: NDArray[np.uint8] | None) -> DeviceArray:
        array = host_array(given)
        check_dtype(array, "a kernel")
        placed = find(self.placed, array)
        if placed is None:
            placed = Placed(array, self.end, name or f"array {len(self.placed)}", written)
            self.placed.append(placed)
            self.end = behind(placed)
        return DeviceArray(array, GLOBAL_WINDOW + placed.start, placed.name, self)

    @property
    def buffers(self) -> list[Buffer]:
        """The arrays' bounds."""
        return [Buffer(each.span.start, each.span.stop, f"'{each.name}'", shown=True) for each in self.placed]


def behind(placed: Placed) -> int:
    """Return where the next array may begin."""
    return aligned(placed.span.stop + RED_ZONE, ALIGNMENT)


def find(placed: list[Placed], array: Array) -> Placed | None:
    """Return the array that is the same bytes: one that is passed twice, or an output written in place."""
    return next((each for each in placed if _same_storage(each.array, array)), None)


def _same_storage(one: Array, other: Array) -> bool:
    same = one.ctypes.data == other.ctypes.data and one.nbytes == other.nbytes and one.nbytes > 0
    return same and one.flags.c_contiguous and other.flags.c_contiguous


def check_dtype(array: Array, what: str) -> None:
    """Raise LaunchError for elements that no kernel can read."""
    if not array.dtype.isnative or array.dtype.hasobject:
        raise LaunchError(f"the array for {what} has dtype {array.dtype}", hint="use a native numeric dtype")
