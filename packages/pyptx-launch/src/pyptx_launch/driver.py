"""The CUDA driver of this machine: is there one, which, and what devices it sees.

The driver is opened when it is first asked for: `libcuda.so.1`, or the file that PYPTX_LIBCUDA names.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from pyptx_launch import libcuda
from pyptx_launch.errors import LaunchError


@dataclass(frozen=True, slots=True)
class Device:
    """A CUDA device. `shared_optin` is the most shared memory of a block, `memory` the device's, both in bytes."""

    ordinal: int
    name: str
    capability: tuple[int, int]
    multiprocessors: int
    shared_optin: int
    memory: int

    @property
    def target(self) -> str:
        """The plain target of PTX for this device, such as `sm_90`."""
        major, minor = self.capability
        return f"sm_{major}{minor}"


def available() -> bool:
    """Tell whether kernels can be launched here."""
    return reason() is None


def reason() -> str | None:
    """Return why no kernel can be launched here; None if there is a driver that sees a device."""
    try:
        return None if _count() else "the CUDA driver sees no device"
    except LaunchError as error:
        return str(error)


def version() -> tuple[int, int]:
    """Return the newest CUDA that the driver runs, such as (13, 0)."""
    found = ctypes.c_int()
    libcuda.call("cuDriverGetVersion", ctypes.byref(found))
    return found.value // 1000, found.value % 1000 // 10


def devices() -> tuple[Device, ...]:
    """Return the devices, in the driver's order (CUDA_VISIBLE_DEVICES decides)."""
    return tuple(map(_device, range(_count())))


def _count() -> int:
    count = ctypes.c_int()
    libcuda.call("cuDeviceGetCount", ctypes.byref(count))
    return count.value


def _device(ordinal: int) -> Device:
    name, memory = ctypes.create_string_buffer(256), ctypes.c_size_t()
    libcuda.call("cuDeviceGetName", name, len(name), ordinal)
    libcuda.call("cuDeviceTotalMem_v2", ctypes.byref(memory), ordinal)
    # CUdevice_attribute: the capability's two numbers, the multiprocessors, the most shared memory of a block.
    major, minor, multiprocessors, shared = (_attribute(number, ordinal) for number in (75, 76, 16, 97))
    return Device(ordinal, name.value.decode(), (major, minor), multiprocessors, shared, memory.value)


def _attribute(number: int, ordinal: int) -> int:
    value = ctypes.c_int()
    libcuda.call("cuDeviceGetAttribute", ctypes.byref(value), number, ordinal)
    return value.value
