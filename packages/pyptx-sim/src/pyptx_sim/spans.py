"""`HostSpan`: the bytes of a caller's array in host memory, which launches read and write in place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np

from pyptx_sim.errors import LaunchError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.operation import Array

# cudaMalloc aligns to 256 bytes at least; kernels may rely on it.
ALIGNMENT: Final = 256


class HostSpan(NamedTuple):
    """Bytes of an array in host memory, from its first element through its last, in order of address.

    `low` is the address of the first byte, `phase` its offset in the array's allocation modulo `ALIGNMENT`. `strides`
    are in bytes. `gaps`: some bytes may not belong to an element.
    """

    data: NDArray[np.uint8]
    low: int
    phase: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    gaps: bool

    @property
    def size(self) -> int:
        """Number of bytes from the array's first element through its last element."""
        return self.data.size

    @property
    def high(self) -> int:
        """Host address after the last byte of the array."""
        return self.low + self.data.size

    @property
    def writeable(self) -> bool:
        """Whether launches may modify the array (NumPy's `writeable` flag)."""
        return self.data.flags.writeable

    def elements(self, memory: NDArray[np.uint8], start: int = 0) -> NDArray[np.uint8]:
        """Return a view of the elements' bytes, without gaps, in `memory`, where the span's bytes start at `start`."""
        if not self.gaps:
            return memory[start : start + self.size]
        shape, strides = (*self.shape, self.itemsize), (*self.strides, 1)
        return np.ndarray(shape, np.uint8, memory, start, strides)

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Pickle the bytes and the layout; the unpickled span has another host address."""
        return _of_bytes, (self.data, self.phase, self.shape, self.strides, self.itemsize, self.gaps)


def _of_bytes(data: NDArray[np.uint8], *layout: Any) -> HostSpan:  # noqa: ANN401 - the fields of a Span
    return HostSpan(data, address_of(data), *layout)


class _Bytes:
    """Host memory with NumPy's array interface; `owner` keeps the memory alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, address: int, size: int, owner: object, *, read_only: bool) -> None:
        self.owner = owner
        self.__array_interface__ = {"data": (address, read_only), "shape": (size,), "typestr": "|u1", "version": 3}


def address_of(array: Array) -> int:
    """Return the host address of an array's first element."""
    return cast("int", array.__array_interface__["data"][0])


def span_of_numpy(array: Array) -> HostSpan:
    """Return the `HostSpan` of a NumPy array; LaunchError if kernels cannot access the array in place."""
    address, read_only = array.__array_interface__["data"]
    phase = 0 if array.base is None else (address - address_of(owner_of(array))) % ALIGNMENT
    shape, strides, item, flags = array.shape, array.strides, array.itemsize, array.flags
    if type(array) is np.ndarray and flags.c_contiguous:
        return HostSpan(array.reshape(-1).view(np.uint8), address, phase, shape, strides, item, gaps=False)
    refuse_mask(array)
    data = np.asarray(_Bytes(address, _extent(shape, strides, item), array, read_only=read_only))
    return HostSpan(data, address, phase, shape, strides, item, not flags.forc)


def refuse_mask(array: Array) -> None:
    """Raise LaunchError for a masked array."""
    if isinstance(array, np.ma.MaskedArray):
        raise LaunchError(
            "unsupported masked array",
            help="pass array.filled(value), or array.data and array.mask as two arguments",
        )


def owner_of(array: Array) -> Array:
    """Return the array that owns a view's memory, or the view's last base if NumPy did not allocate the memory."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return owner


def span_of_tensor(tensor: Any) -> HostSpan:  # noqa: ANN401 - torch is never imported
    """Return the `HostSpan` of a torch tensor on the CPU; the allocation of a tensor is its storage."""
    item, shape = int(tensor.element_size()), tuple(tensor.shape)
    strides = tuple(item * stride for stride in tensor.stride())
    dense = bool(tensor.is_contiguous())
    size = item * math.prod(shape) if dense else _extent(shape, strides, item)
    address = int(tensor.data_ptr())
    data = np.asarray(_Bytes(address, size, tensor, read_only=False))
    return HostSpan(data, address, tensor.storage_offset() * item % ALIGNMENT, shape, strides, item, not dense)


def _extent(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """Return the number of bytes from the first element through the last element of an array."""
    if 0 in shape:
        return 0
    distances = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    if any(distance < 0 for distance in distances):
        raise LaunchError("unsupported array with negative strides", help="pass a copy")
    return sum(distances) + itemsize
