"""Program that calls the bundle `rounded`, compiled for TVM-FFI, and prints results and driver calls.

Arguments: the library and the driver. The null driver has no memory, so the tensors on a CUDA device are made here from
DLPack structures alone.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import torch
import tvm_ffi

CUDA = 2


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class DLManagedTensor(ctypes.Structure):
    _fields_ = (("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class Vector:
    """An f32 vector at an address of device 0, exported through DLPack."""

    def __init__(self, address: int, size: int) -> None:
        self._extent, self._stride = (ctypes.c_int64 * 1)(size), (ctypes.c_int64 * 1)(1)
        device = (ctypes.c_int32 * 2)(CUDA, 0)
        self._managed = DLManagedTensor(DLTensor(address, device, 1, 2, 32, 1, self._extent, self._stride, 0))

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, 0

    def __dlpack__(self, **_keywords: object) -> object:
        new: Any = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        return new(ctypes.byref(self._managed), b"dltensor", None)


def say(step: str, *arguments: object) -> None:
    try:
        result = module.rounded(*arguments)
    except (TypeError, ValueError, RuntimeError) as error:
        result = f"{type(error).__name__}: {error}"
    sys.stdout.write(f"{step} {result}\n")


module = tvm_ffi.load_module(sys.argv[1])
vectors = [Vector(0x7000, 1000), Vector(0x8000, 1000), Vector(0x9002, 1000), Vector(0xA000, 77)]
x, y, odd, short = map(tvm_ffi.from_dlpack, vectors)
with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), 0x5000):
    say("launched", x, y, "fast", 1, 1.5, 3)
say("again", x, y, "fast", 1.0, 2, 2**32 - 1)
say("other", x, y, "to nearest even", 0.5, 2, bool(1))
say("misaligned", x, odd, "fast", 1, 1.5, 3)
say("short", short, y, "fast", 1, 1.5, 3)
say("uncompiled", short, short, "fast", 1, 1.5, 3)
say("unknown", x, y, "fas", 1, 1.5, 3)
say("few", x, y)
say("number", x, y, "fast", 1, "1.5", 3)
say("negative", x, y, "fast", 1, 1.5, -1)
say("large", x, y, "fast", 1, 1.5, 2**32)
say("huge", x, y, "fast", 1, 1.5, 2**64)
say("text", x, y, 3, 1, 1.5, 3)
say("array", None, y, "fast", 1, 1.5, 3)
say("torch", torch.ones(1000), y, "fast", 1, 1.5, 3)
driver: Any = ctypes.CDLL(sys.argv[2])
driver.null_driver_take.restype = ctypes.c_char_p
sys.stdout.write(driver.null_driver_take().decode())
