"""Query the CUDA driver of this machine: availability, version, devices.

The driver is opened at first use: `libcuda.so.1`, or the file named by PYPTX_LIBCUDA.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final, cast

from pyptx_launch import libcuda
from pyptx_launch.errors import LaunchError

# CUdevice_attribute numbers: compute capability (major, minor), SM count, maximum opt-in shared memory per CTA.
_ATTRIBUTES: Final = (75, 76, 16, 97)


@dataclass(frozen=True, slots=True)
class Device:
    """A CUDA device. `shared_optin`: maximum shared memory per CTA; `memory`: device memory; both in bytes."""

    ordinal: int
    name: str
    capability: tuple[int, int]
    multiprocessors: int
    shared_optin: int
    memory: int

    @property
    def target(self) -> str:
        """Base PTX target of this device, such as `sm_90`."""
        major, minor = self.capability
        return f"sm_{major}{minor}"


def available() -> bool:
    """Return whether kernels can be launched on this machine."""
    return reason() is None


def reason() -> str | None:
    """Return the reason why no kernel can be launched here; None if the driver sees a device."""
    try:
        return None if _count() else "the CUDA driver sees no device"
    except LaunchError as error:
        return str(error)


def version() -> tuple[int, int]:
    """Return the newest CUDA version that the driver supports, such as (13, 0)."""
    found = libcuda.number("cuDriverGetVersion")
    return found // 1000, found % 1000 // 10


def devices() -> tuple[Device, ...]:
    """Return the CUDA devices, in the driver's order (see CUDA_VISIBLE_DEVICES).

    Properties do not change while a process runs, so each device is queried once.
    """
    return tuple(map(device, range(_count())))


@cache
def device(ordinal: int) -> Device:
    """Return the device with this ordinal (queried once); raise DriverError if it does not exist."""
    what = f"querying device {ordinal}"
    name = cast("bytes", libcuda.call("cuDeviceGetName", 256, ordinal, doing=what)[0]).split(b"\0")[0].decode()
    memory = libcuda.number("cuDeviceTotalMem", ordinal, doing=what)
    major, minor, multiprocessors, shared = (_attribute(number, ordinal) for number in _ATTRIBUTES)
    return Device(ordinal, name, (major, minor), multiprocessors, shared, memory)


def _count() -> int:
    return libcuda.number("cuDeviceGetCount")


def _attribute(number: int, ordinal: int) -> int:
    return libcuda.number("cuDeviceGetAttribute", libcuda.constant("CUdevice_attribute", number), ordinal)
