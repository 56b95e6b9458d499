"""Minimal CUDA driver API through ctypes: memory, streams, graphs, and launches without pyptx-launch.

The launcher's tests use it to observe the launcher; the recorder of hardware results needs nothing else, so it works if
pyptx-launch cannot be built. It uses one context, the primary context of device 0.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# CUjit_option: CU_JIT_ERROR_LOG_BUFFER and its size (cuda.h).
ERROR_LOG = 5
ERROR_LOG_SIZE = 6
LOG_BYTES = 1 << 16
# CUdevice_attribute: compute capability (cuda.h).
CAPABILITY_MAJOR = 75
CAPABILITY_MINOR = 76

NOT_READY = 600  # CUDA_ERROR_NOT_READY
NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
SERIALIZATION = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
THREAD_LOCAL = 1  # CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

Pointer = ctypes.c_uint64
Handle = ctypes.c_void_p


class Attribute(ctypes.Structure):
    """`CUlaunchAttribute`: an identifier, padded to 8 bytes, and a value of 64 bytes."""

    _fields_ = (("id", ctypes.c_uint), ("pad", ctypes.c_uint), ("value", ctypes.c_uint * 16))


class Config(ctypes.Structure):
    """`CUlaunchConfig`: dimensions of grid and block, bytes of shared memory, stream, attributes."""

    _fields_ = (
        ("sizes", ctypes.c_uint * 7),
        ("stream", Handle),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", ctypes.c_uint),
    )


class DriverError(RuntimeError):
    """Failed driver call; the message has the name of the error, and the compiler's log if there is one."""


@dataclass(frozen=True, slots=True)
class Device:
    """An open device: the driver library and the compute capability."""

    library: ctypes.CDLL
    capability: tuple[int, int]

    @property
    def target(self) -> str:
        """Target of this device without suffix, such as `sm_90`."""
        return f"sm_{self.capability[0]}{self.capability[1]}"

    def call(self, name: str, *arguments: object) -> None:
        """Call a driver function; raise DriverError unless it succeeds."""
        status = getattr(self.library, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(status, ctypes.byref(text))
            raise DriverError(f"{name}: {(text.value or b'unknown error').decode()} ({status})")

    def function(self, ptx: str, entry: str) -> ctypes.c_void_p:
        """Compile a PTX module with the driver and return its entry `name`."""
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

    def current(self) -> None:
        """Make the context current in this thread."""
        context = Handle()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    # --- memory -------------------------------------------------------------------------------------

    def allocate(self, size: int) -> int:
        """Allocate device memory and return its address."""
        pointer = Pointer()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(size, 1)))
        return pointer.value

    def free(self, address: int) -> None:
        """Free device memory."""
        self.call("cuMemFree_v2", Pointer(address))

    def free_bytes(self) -> int:
        """Return the number of free bytes of device memory."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def write(self, address: int, array: np.ndarray) -> None:
        """Copy an array to device memory."""
        data = np.ascontiguousarray(array)
        self.call("cuMemcpyHtoD_v2", Pointer(address), data.ctypes.data_as(Handle), ctypes.c_size_t(data.nbytes))

    def upload(self, array: np.ndarray) -> int:
        """Copy an array to new device memory and return its address."""
        address = self.allocate(array.nbytes)
        self.write(address, array)
        return address

    def download(self, address: int, like: np.ndarray) -> np.ndarray:
        """Copy device memory to a new array of the same shape and type, after all work of the default stream."""
        array = np.empty_like(like)
        self.call("cuMemcpyDtoH_v2", array.ctypes.data_as(Handle), Pointer(address), ctypes.c_size_t(array.nbytes))
        return array

    # --- streams and graphs -------------------------------------------------------------------------

    def stream(self, priority: int = 0) -> int:
        """Return a new stream that does not wait for the default stream; lower `priority` runs first."""
        stream = Handle()
        self.call("cuStreamCreateWithPriority", ctypes.byref(stream), NON_BLOCKING, priority)
        return stream.value or 0

    def idle(self, stream: int) -> bool:
        """Return whether a stream has no outstanding work."""
        status = self.library.cuStreamQuery(Handle(stream))
        return int(status) != NOT_READY

    def synchronize(self, stream: int | None = None) -> None:
        """Wait for a stream, or for the device."""
        if stream is None:
            self.call("cuCtxSynchronize")
        else:
            self.call("cuStreamSynchronize", Handle(stream))

    @contextmanager
    def capturing(self, stream: int) -> Iterator[Graph]:
        """Capture the body's launches on a stream into a CUDA graph, which can be replayed after the body."""
        graph = Graph(self, Handle(), Handle())
        self.call("cuStreamBeginCapture_v2", Handle(stream), THREAD_LOCAL)
        try:
            yield graph
        finally:
            self.call("cuStreamEndCapture", Handle(stream), ctypes.byref(graph.graph))
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(graph.executable), graph.graph, ctypes.c_ulonglong(0))

    # --- a launch -----------------------------------------------------------------------------------

    def run(
        self, ptx: str, entry: str, grid: int, block: int, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """Launch an entry whose parameters are 64-bit pointers, inputs then outputs; return the outputs."""
        function = self.function(ptx, entry)
        pointers = [Pointer(self.upload(array)) for array in (*inputs, *outputs)]
        cells = [ctypes.cast(ctypes.pointer(pointer), ctypes.c_void_p) for pointer in pointers]
        parameters = (ctypes.c_void_p * len(cells))(*cells)
        self.call("cuLaunchKernel", function, grid, 1, 1, block, 1, 1, 0, None, parameters, None)
        self.call("cuCtxSynchronize")
        written = zip(pointers[len(inputs) :], outputs, strict=True)
        results = [self.download(pointer.value, like) for pointer, like in written]
        for pointer in pointers:
            self.free(pointer.value)
        return results

    def run_chain(self, ptx: str, entries: Sequence[str], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Launch entries with one CTA each, each a programmatic dependent of the previous one; return the arrays."""
        functions = [self.function(ptx, entry) for entry in entries]
        pointers = [Pointer(self.upload(array)) for array in arrays]
        cells = [ctypes.cast(ctypes.pointer(pointer), ctypes.c_void_p) for pointer in pointers]
        parameters = (ctypes.c_void_p * len(cells))(*cells)
        attribute = Attribute(SERIALIZATION, value=(1,))
        for number, function in enumerate(functions):
            config = Config((1, 1, 1, 1, 1, 1, 0), None, ctypes.pointer(attribute), int(number > 0))
            self.call("cuLaunchKernelEx", ctypes.byref(config), function, parameters, None)
        self.call("cuCtxSynchronize")
        results = [self.download(pointer.value, like) for pointer, like in zip(pointers, arrays, strict=True)]
        for pointer in pointers:
            self.free(pointer.value)
        return results


@dataclass(frozen=True, slots=True)
class Graph:
    """A captured CUDA graph."""

    device: Device
    graph: Handle
    executable: Handle

    def replay(self, stream: int) -> None:
        """Launch the graph on a stream."""
        self.device.call("cuGraphLaunch", self.executable, Handle(stream))

    def __len__(self) -> int:
        """Return the number of nodes of the graph."""
        count = ctypes.c_size_t()
        self.device.call("cuGraphGetNodes", self.graph, None, ctypes.byref(count))
        return count.value


@cache
def device() -> Device:
    """Open device 0 and create its primary context."""
    library = ctypes.CDLL(os.environ.get("PYPTX_LIBCUDA") or "libcuda.so.1")
    closed = Device(library, (0, 0))
    closed.call("cuInit", 0)
    number = ctypes.c_int()
    closed.call("cuDeviceGet", ctypes.byref(number), 0)
    capability: list[int] = []
    for attribute in (CAPABILITY_MAJOR, CAPABILITY_MINOR):
        value = ctypes.c_int()
        closed.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, number)
        capability.append(value.value)
    closed.current()
    return Device(library, (capability[0], capability[1]))
