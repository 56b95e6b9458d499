"""Detection of a real GPU, through NVIDIA's driver library."""

from __future__ import annotations

import ctypes
from typing import Final

_DRIVERS: Final = ("libcuda.so.1", "nvcuda.dll")


def real_gpus() -> int:
    """Return the number of GPUs that NVIDIA's driver offers to this process; 0 without a driver.

    CUDA Driver API: `cuInit`, `cuDeviceGetCount`.
    """
    for name in _DRIVERS:
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        count = ctypes.c_int(0)
        if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0:
            return count.value
    return 0
