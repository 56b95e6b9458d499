"""Which target the machine's first GPU is."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from pyptx_dsl.errors import ArchError

if TYPE_CHECKING:
    import ctypes

_MAJOR, _MINOR = 75, 76
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR. CUDA driver API: "CUdevice_attribute"."""
# Devices whose tensor cores need the architecture-specific target.
_SUFFIXED = frozenset({90, 100, 101, 103, 110})
_LIBRARIES = ("libcuda.so.1", "libcuda.so", "nvcuda.dll")


@functools.lru_cache(maxsize=1)
def detect_arch() -> str:
    """Return the target of CUDA device 0 (`"sm_90a"`, `"sm_86"`, …); raise ArchError without one.

    Hopper and the datacentre Blackwells get the suffix `a`, which `wgmma` and `tcgen05` need.
    """
    import ctypes

    driver = _driver()
    if driver is None or driver.cuInit(0):
        raise _missing("no CUDA driver answers on this machine")
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    failed = (
        driver.cuDeviceGet(ctypes.byref(device), 0)
        or driver.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device)
        or driver.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device)
    )
    if failed:
        raise _missing("the CUDA driver finds no device")
    return target_of(major.value, minor.value)


def target_of(major: int, minor: int) -> str:
    """Return the target for a compute capability."""
    number = major * 10 + minor
    return f"sm_{number}{'a' if number in _SUFFIXED else ''}"


def _driver() -> ctypes.CDLL | None:
    import ctypes

    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _missing(what: str) -> ArchError:
    return ArchError(f"cannot detect the GPU's target: {what}", hint='name it: @kernel(arch="sm_90a")')
