"""Checks of GPUs: the NVIDIA driver, its devices, and whether these run kernels of the default arch.

The checks call pyptx-launch, looked up by name, because the core imports no runtime; a missing pyptx-launch is not
an error.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Final, Protocol, cast

from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.plugins.homes import gpu_remedy
from pyptx_ir.plugins.rows import Diagnosis
from pyptx_ir.plugins.targets import find_target

LAUNCHER: Final = "pyptx_launch"
DEFAULT_ARCH: Final = "sm_90a"  # target of a `@kernel` without the argument `arch`
_GIB: Final = 1 << 30


class Device(Protocol):
    """Attributes of `pyptx_launch.driver.Device` that the doctor reads."""

    @property
    def ordinal(self) -> int:
        """Device ordinal."""
        ...

    @property
    def name(self) -> str:
        """Device name."""
        ...

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability."""
        ...

    @property
    def multiprocessors(self) -> int:
        """Number of SMs."""
        ...

    @property
    def memory(self) -> int:
        """Device memory in bytes."""
        ...


class Driver(Protocol):
    """Functions of `pyptx_launch.driver` that the doctor calls."""

    def reason(self) -> str | None:
        """Return why kernels can't be launched, or None if they can."""
        ...

    def version(self) -> tuple[int, int]:
        """Return the newest CUDA version that the driver supports."""
        ...

    def devices(self) -> tuple[Device, ...]:
        """Return the CUDA devices of this machine."""
        ...


def devices() -> tuple[Diagnosis, ...]:
    """Report the NVIDIA driver, and each device."""
    if find_spec(LAUNCHER) is None:
        said = "pyptx-launch is not installed: kernels can't be launched on GPUs"
        return (Diagnosis("driver", "missing", said, gpu_remedy()),)
    driver = cast("Driver", import_module(f"{LAUNCHER}.driver"))
    reason = driver.reason()
    if reason is not None:
        said, _, help = reason.partition("\nhelp: ")
        return (Diagnosis("driver", "missing", said, help or "install the NVIDIA driver if this machine has a GPU"),)
    found, version = driver.devices(), ".".join(map(str, driver.version()))
    count = counted(len(found), "device")
    return (Diagnosis("driver", "ok", f"CUDA {version}, {count}"), *map(_device, found))


def _device(device: Device) -> Diagnosis:
    major, minor = device.capability
    subject = f"device {device.ordinal}"
    found = f"{device.name}, sm_{major}{minor}, {device.multiprocessors} SMs, {device.memory / _GIB:.0f} GiB"
    if 10 * major + minor == find_target(DEFAULT_ARCH).number:
        return Diagnosis(subject, "ok", f"{found}; runs kernels of the default arch, {DEFAULT_ARCH}")
    help = f'compile kernels for this GPU with @kernel(arch="sm_{major}{minor}") or arch="auto"'
    return Diagnosis(subject, "ok", f"{found}; does not run the default arch, {DEFAULT_ARCH}", help)
