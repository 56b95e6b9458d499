"""The CUDA driver of this machine: is there one, which, and what devices it sees.

The driver is opened when it is first asked for: `libcuda.so.1`, or the file that PYPTX_LIBCUDA names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final, cast

from pyptx_launch import libcuda
from pyptx_launch.errors import LaunchError

# CUdevice_attribute: the capability's two numbers, the multiprocessors, the most shared memory of a block.
_ATTRIBUTES: Final = (75, 76, 16, 97)


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
    found = libcuda.number("cuDriverGetVersion")
    return found // 1000, found % 1000 // 10


def devices() -> tuple[Device, ...]:
    """Return the devices, in the driver's order (CUDA_VISIBLE_DEVICES decides).

    What they are cannot change while a process runs, so the driver is asked once for each.
    """
    return tuple(map(device, range(_count())))


@cache
def device(ordinal: int) -> Device:
    """Return the device of an ordinal, asked once; raises DriverError where there is none."""
    what = f"asking for device {ordinal}"
    name = cast("bytes", libcuda.call("cuDeviceGetName", 256, ordinal, doing=what)[0]).split(b"\0")[0].decode()
    memory = libcuda.number("cuDeviceTotalMem", ordinal, doing=what)
    major, minor, multiprocessors, shared = (_attribute(number, ordinal) for number in _ATTRIBUTES)
    return Device(ordinal, name, (major, minor), multiprocessors, shared, memory)


def _count() -> int:
    return libcuda.number("cuDeviceGetCount")


def _attribute(number: int, ordinal: int) -> int:
    return libcuda.number("cuDeviceGetAttribute", libcuda.constant("CUdevice_attribute", number), ordinal)
