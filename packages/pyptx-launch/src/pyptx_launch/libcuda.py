"""What is not hot of the driver, asked from Python, of the library that the compiled part has opened."""

from __future__ import annotations

import ctypes
import os
from contextlib import contextmanager
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from typing import TYPE_CHECKING, Final

from pyptx_launch import _shim
from pyptx_launch.errors import DriverError

if TYPE_CHECKING:
    from collections.abc import Generator

_RELAXED: Final = 2  # CU_STREAM_CAPTURE_MODE_RELAXED

_SIGNATURES: Final[dict[str, tuple[object, ...]]] = {
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceTotalMem_v2": (POINTER(c_size_t), c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuThreadExchangeStreamCaptureMode": (POINTER(c_int),),
    "cuLibraryLoadData": (
        POINTER(c_void_p),
        c_char_p,
        POINTER(c_int),
        POINTER(c_void_p),
        c_uint,
        POINTER(c_int),
        POINTER(c_void_p),
        c_uint,
    ),
    "cuLibraryUnload": (c_void_p,),
    "cuLibraryGetKernel": (POINTER(c_void_p), c_void_p, c_char_p),
    "cuKernelGetAttribute": (POINTER(c_int), c_int, c_void_p, c_int),
    "cuKernelGetParamInfo": (c_void_p, c_size_t, POINTER(c_size_t), POINTER(c_size_t)),
}


@cache
def library() -> ctypes.CDLL:
    """Return the driver's library, opened for the compiled part too; raises DriverMissingError."""
    path = os.environ.get("PYPTX_LIBCUDA") or "libcuda.so.1"
    _shim.open_driver(path)
    opened = ctypes.CDLL(path)
    for name, arguments in _SIGNATURES.items():
        if hasattr(opened, name):  # cuKernelGetParamInfo is younger than the oldest driver
            getattr(opened, name).argtypes = arguments
    return opened


def call(function: str, *arguments: object, doing: str = "") -> None:
    """Call a function of the driver; raises DriverError, `doing` saying what was asked for."""
    result = getattr(library(), function)(*arguments)
    if result != 0:
        raise error(result, f"{doing}: {function}" if doing else function)


def error(result: int, what: str) -> DriverError:
    """Return the exception for a CUresult."""
    name, meaning = c_char_p(), c_char_p()
    library().cuGetErrorName(result, ctypes.byref(name))
    library().cuGetErrorString(result, ctypes.byref(meaning))
    told = (name.value or b"CUDA_ERROR_UNKNOWN").decode(), (meaning.value or b"unknown to this driver").decode()
    message = f"{what} failed with {told[0]} ({result}): {told[1]}"
    return DriverError(message, name=told[0], code=result, meaning=told[1])


@contextmanager
def relaxed_capture() -> Generator[None]:
    """Allow this thread what stream capture elsewhere forbids: loading and unloading."""
    mode = c_int(_RELAXED)
    library().cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))
    try:
        yield
    finally:
        library().cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))
