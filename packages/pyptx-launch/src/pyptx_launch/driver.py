"""The CUDA driver of this machine: is there one, which, and what devices it sees.

The driver is opened when it is first asked for: `libcuda.so.1`, or the file that PYPTX_LIBCUDA names.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyptx_launch import _shim
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
        return None if devices() else "the CUDA driver sees no device"
    except LaunchError as error:
        return str(error)


def version() -> tuple[int, int]:
    """Return the newest CUDA that the driver runs, such as (13, 0)."""
    found = _shim.driver_version()
    return found // 1000, found % 1000 // 10


def devices() -> tuple[Device, ...]:
    """Return the devices, in the driver's order (CUDA_VISIBLE_DEVICES decides)."""
    return tuple(Device(*row) for row in _shim.devices())
