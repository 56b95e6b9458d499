"""CUDA tensors over device memory, made from DLPack capsules.

torch accepts a capsule of device type CUDA in every build, and makes a plain `torch.Tensor` on `cuda:0` of it. The
capsule is NumPy's, of an array over the bytes, with another device type. NumPy's deleter releases the array at the end
of the tensor's storage. It is a C function, so that it may run while an exception is raised, without the lock of the
interpreter, and after the interpreter has been finalized. DLPack: "C API (dlpack.h)".
"""

from __future__ import annotations

import ctypes
import weakref
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

_CUDA: Final = 2  # kDLCUDA
# Offsets in DLTensor, the first member of DLManagedTensor; the data type is its code, bits and lanes.
_DATA, _DEVICE_TYPE, _DATA_TYPE = 0, 8, 20
_KINDS: Final = {  # DLDataTypeCode
    torch.int8: 0,
    torch.int16: 0,
    torch.int32: 0,
    torch.int64: 0,
    torch.uint8: 1,
    torch.uint16: 1,
    torch.uint32: 1,
    torch.uint64: 1,
    torch.float16: 2,
    torch.float32: 2,
    torch.float64: 2,
    torch.bfloat16: 4,
    torch.complex64: 5,
    torch.complex128: 5,
    torch.bool: 6,
}
_CODES: Final = {dtype: kind | dtype.itemsize * 8 << 8 | 1 << 16 for dtype, kind in _KINDS.items()}
_SIZES: Final = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}

_pointer_of: Final = ctypes.pythonapi["PyCapsule_GetPointer"]
_pointer_of.restype = ctypes.c_size_t
_pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)


def capsule_holds(dtype: torch.dtype) -> bool:
    """Return whether a DLPack capsule can describe elements of this type."""
    return dtype in _CODES


class Capsules:
    """Factory of CUDA tensors over device memory.

    `freed` is called with the device address when the last tensor with the storage is gone, in any thread.
    """

    def __init__(self, freed: Callable[[int], None]) -> None:
        self._freed = freed
        self._arrays: dict[int, weakref.ref[NDArray[np.uint8]]] = {}

    def tensor(
        self, data: NDArray[np.uint8], address: int, dtype: torch.dtype, shape: Sequence[int], strides: Sequence[int]
    ) -> torch.Tensor:
        """Return a tensor on `cuda:0` over the bytes `data`, which are at a device address; 0: no bytes.

        `strides` are in elements.
        """
        size = dtype.itemsize
        array: NDArray[np.uint8] = np.ndarray(shape, _SIZES[size], data, strides=[size * each for each in strides])
        capsule = array.__dlpack__()
        structure = _pointer_of(capsule, b"dltensor")
        ctypes.c_int32.from_address(structure + _DEVICE_TYPE).value = _CUDA
        ctypes.c_uint32.from_address(structure + _DATA_TYPE).value = _CODES[dtype]
        if address:
            self._arrays[address] = weakref.ref(array, partial(self._release, address))
        else:
            ctypes.c_uint64.from_address(structure + _DATA).value = 0
        made: torch.Tensor = torch._C._from_dlpack(capsule)  # noqa: SLF001 - torch.from_dlpack initializes CUDA first
        return made

    def _release(self, address: int, _array: object) -> None:
        del self._arrays[address]
        self._freed(address)
