"""CUDA tensors over device memory, made from DLPack capsules.

torch accepts a capsule of device type CUDA in every build, and makes a plain `torch.Tensor` on `cuda:0` of it, with a
storage that calls the capsule's deleter at the end of its life. DLPack: "C API (dlpack.h)".

After the interpreter has been finalized, storages still end, in destructors of C++. Then a deleter in Python would
crash. Therefore an exit handler removes the deleters, and leaves the structures of the remaining storages allocated.
"""

from __future__ import annotations

import atexit
import ctypes
from typing import TYPE_CHECKING, Any, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_CUDA: Final = 2  # kDLCUDA
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


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("index", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_DELETER: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_new_capsule: Final = ctypes.pythonapi["PyCapsule_New"]
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_keep_alive: Final = ctypes.pythonapi["Py_IncRef"]
_keep_alive.argtypes = (ctypes.py_object,)


def capsule_holds(dtype: torch.dtype) -> bool:
    """Return whether a DLPack capsule can describe elements of this type."""
    return dtype in _KINDS


class Capsules:
    """Factory of CUDA tensors over device memory.

    `freed` is called with the device address when the last tensor with the storage is gone, in any thread.
    """

    def __init__(self, freed: Callable[[int], None]) -> None:
        self._freed = freed
        self._live: dict[int, tuple[_Managed, Any, Any, int]] = {}
        self._types = {dtype: _DataType(code, dtype.itemsize * 8, 1) for dtype, code in _KINDS.items()}
        callback = _DELETER(self._delete)
        _keep_alive(callback)
        self._deleter = ctypes.cast(callback, ctypes.c_void_p).value
        atexit.register(self._abandon)

    def tensor(
        self, address: int, dtype: torch.dtype, shape: Sequence[int], strides: Sequence[int]
    ) -> torch.Tensor:
        """Return a tensor on `cuda:0` whose first element is at `address`; `strides` are in elements."""
        dimensions = ctypes.c_int64 * len(shape)
        extents, steps = dimensions(*shape), dimensions(*strides)
        managed = _Managed(
            _Tensor(
                address,
                _Device(_CUDA, 0),
                len(shape),
                self._types[dtype],
                ctypes.addressof(extents),
                ctypes.addressof(steps),
                0,
            ),
            None,
            self._deleter,
        )
        key = ctypes.addressof(managed)
        self._live[key] = (managed, extents, steps, address)
        made: torch.Tensor = torch._C._from_dlpack(_new_capsule(key, b"dltensor", None))  # noqa: SLF001 - torch.from_dlpack initializes CUDA first
        return made

    def _delete(self, key: int) -> None:
        self._freed(self._live.pop(key)[3])

    def _abandon(self) -> None:
        """Make the deleters of the remaining storages, and of new ones, do nothing."""
        self._deleter = None
        _keep_alive(self._live)
        for managed, *_ in self._live.values():
            managed.deleter = None
