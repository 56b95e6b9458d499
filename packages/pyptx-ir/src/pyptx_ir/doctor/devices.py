"""GPUs: the driver, its devices, and whether kernels of the default arch run on them.

pyptx-launch knows them, and nobody imports a runtime: it is looked up by its name, and its absence is an answer.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Final, Protocol, cast

from pyptx_ir.plugins.homes import gpu_remedy
from pyptx_ir.plugins.rows import Diagnosis
from pyptx_ir.plugins.targets import find_target

LAUNCHER: Final = "pyptx_launch"
DEFAULT_ARCH: Final = "sm_90a"  # of `@kernel`
_GIB: Final = 1 << 30


class Device(Protocol):
    """What is used of `pyptx_launch.driver.Device`."""

    @property
    def ordinal(self) -> int:
        """Its number."""
        ...

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def capability(self) -> tuple[int, int]:
        """Its compute capability."""
        ...

    @property
    def multiprocessors(self) -> int:
        """How many multiprocessors it has."""
        ...

    @property
    def memory(self) -> int:
        """The bytes of its memory."""
        ...


class Driver(Protocol):
    """What is used of `pyptx_launch.driver`."""

    def reason(self) -> str | None:
        """Return why nothing can be launched, or None."""
        ...

    def version(self) -> tuple[int, int]:
        """Return the newest CUDA that the driver runs."""
        ...

    def devices(self) -> tuple[Device, ...]:
        """Return the devices."""
        ...


def devices() -> tuple[Diagnosis, ...]:
    """Tell of the driver, and of each device that it sees."""
    if find_spec(LAUNCHER) is None:
        said = "pyptx-launch is not installed: nothing is launched on GPUs"
        return (Diagnosis("driver", "missing", said, gpu_remedy()),)
    driver = cast("Driver", import_module(f"{LAUNCHER}.driver"))
    reason = driver.reason()
    if reason is not None:
        said, _, hint = reason.partition("\nhint: ")
        return (Diagnosis("driver", "missing", said, hint or "on a machine with an NVIDIA GPU, install its driver"),)
    found, version = driver.devices(), ".".join(map(str, driver.version()))
    count = f"{len(found)} device{'s' * (len(found) != 1)}"
    return (Diagnosis("driver", "ok", f"CUDA {version}, {count}"), *map(_device, found))


def _device(device: Device) -> Diagnosis:
    major, minor = device.capability
    subject = f"device {device.ordinal}"
    found = (
        f"{device.name}, sm_{major}{minor}, {device.multiprocessors} multiprocessors, {device.memory / _GIB:.0f} GiB"
    )
    if 10 * major + minor == find_target(DEFAULT_ARCH).number:
        return Diagnosis(subject, "ok", f"{found}; runs kernels of the default arch, {DEFAULT_ARCH}")
    hint = f'its kernels need an arch of their own: @kernel(arch="sm_{major}{minor}"), or arch="auto"'
    return Diagnosis(subject, "ok", f"{found}; does not run the default arch, {DEFAULT_ARCH}", hint)
