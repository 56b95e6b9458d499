"""Just enough of the CUDA driver, through ctypes: load PTX, launch an entry, move bytes.

There is no launcher in this release, and the recorder of hardware truth needs only this. One context, on device 0.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

# CUjit_option: CU_JIT_ERROR_LOG_BUFFER and its size (cuda.h).
ERROR_LOG = 5
ERROR_LOG_SIZE = 6
LOG_BYTES = 1 << 16
# CUdevice_attribute: compute capability (cuda.h).
CAPABILITY_MAJOR = 75
CAPABILITY_MINOR = 76

Pointer = ctypes.c_uint64


class DriverError(RuntimeError):
    """The driver refused a call; the message holds its name for the error, and the compiler's log if there is one."""


@dataclass(frozen=True, slots=True)
class Device:
    """An open device: the driver library and the capability, as in `sm_90`."""

    library: ctypes.CDLL
    capability: tuple[int, int]

    @property
    def target(self) -> str:
        """The plain target that runs here."""
        return f"sm_{self.capability[0]}{self.capability[1]}"

    def call(self, name: str, *arguments: object) -> None:
        """Call a driver function; raise on anything but success."""
        status = getattr(self.library, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(status, ctypes.byref(text))
            raise DriverError(f"{name}: {(text.value or b'unknown error').decode()} ({status})")

    def function(self, ptx: str, entry: str) -> ctypes.c_void_p:
        """Compile PTX with the driver and return an entry."""
        log = ctypes.create_string_buffer(LOG_BYTES)
        options = (ctypes.c_int * 2)(ERROR_LOG, ERROR_LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), ctypes.c_void_p(LOG_BYTES))
        module = ctypes.c_void_p()
        image = ctypes.create_string_buffer(ptx.encode())
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), image, 2, options, values)
        except DriverError as error:
            raise DriverError(f"{error}\n{log.value.decode(errors='replace')}") from None
        found = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(found), module, entry.encode())
        return found

    def upload(self, array: np.ndarray) -> Pointer:
        """Copy an array to new device memory and return its address."""
        pointer = Pointer()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(array.nbytes, 1)))
        data = np.ascontiguousarray(array)
        self.call("cuMemcpyHtoD_v2", pointer, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes))
        return pointer

    def download(self, pointer: Pointer, like: np.ndarray) -> np.ndarray:
        """Copy device memory into a new array of the same shape and type."""
        array = np.empty_like(like)
        self.call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), pointer, ctypes.c_size_t(array.nbytes))
        return array

    def run(
        self, ptx: str, entry: str, grid: int, block: int, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """Launch an entry whose parameters are 64-bit pointers, inputs then outputs; return the outputs."""
        function = self.function(ptx, entry)
        pointers = [self.upload(array) for array in (*inputs, *outputs)]
        cells = [ctypes.cast(ctypes.pointer(pointer), ctypes.c_void_p) for pointer in pointers]
        parameters = (ctypes.c_void_p * len(cells))(*cells)
        self.call("cuLaunchKernel", function, grid, 1, 1, block, 1, 1, 0, None, parameters, None)
        self.call("cuCtxSynchronize")
        results = [self.download(pointer, like) for pointer, like in zip(pointers[len(inputs) :], outputs, strict=True)]
        for pointer in pointers:
            self.call("cuMemFree_v2", pointer)
        return results


@cache
def device() -> Device:
    """Open device 0 and make a context for it."""
    library = ctypes.CDLL("libcuda.so.1")
    closed = Device(library, (0, 0))
    closed.call("cuInit", 0)
    number = ctypes.c_int()
    closed.call("cuDeviceGet", ctypes.byref(number), 0)
    capability: list[int] = []
    for attribute in (CAPABILITY_MAJOR, CAPABILITY_MINOR):
        value = ctypes.c_int()
        closed.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, number)
        capability.append(value.value)
    context = ctypes.c_void_p()
    closed.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
    closed.call("cuCtxSetCurrent", context)
    return Device(library, (capability[0], capability[1]))
