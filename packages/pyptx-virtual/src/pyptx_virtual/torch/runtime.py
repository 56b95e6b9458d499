"""Modules of C functions that torch exports: the CUDA runtime (`torch.cuda.cudart()`) and NVTX."""

from __future__ import annotations

import enum
import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_virtual.device import VirtualDevice


class CudaError(enum.IntEnum):
    """The class that torch calls `_cudart.cudaError`."""

    success = 0


def runtime_of(device: VirtualDevice) -> type:
    """Return the functions of the CUDA runtime that torch exports."""

    class Runtime:
        """Functions of the CUDA runtime, by their names there."""

        cudaError = CudaError  # noqa: N815 - CUDA's name

        @staticmethod
        def cudaMemGetInfo(_index: int = 0) -> tuple[int, int]:  # noqa: N802 - CUDA's name
            """Return the free bytes and all bytes of device memory."""
            device.reclaim()
            return device.memory_bytes - device.bytes_in_use.current, device.memory_bytes

        @staticmethod
        def cudaGetErrorString(error: CudaError) -> str:  # noqa: N802 - CUDA's name
            """Return the name of an error."""
            return error.name

        @staticmethod
        def cudaProfilerStart() -> CudaError:  # noqa: N802 - CUDA's name
            """Do nothing: no profiler is attached."""
            return CudaError.success

        cudaProfilerStop = cudaProfilerStart  # noqa: N815 - CUDA's name

    return Runtime


class Nvtx:
    """Functions of NVTX, which annotate a profile. No profiler is attached, so they only count open ranges."""

    def __init__(self) -> None:
        self._depth = 0
        self._numbers = itertools.count(1)

    def rangePushA(self, _message: str) -> int:  # noqa: N802 - NVTX's name
        """Open a nested range, and return its depth from 0."""
        self._depth += 1
        return self._depth - 1

    def rangePop(self) -> int:  # noqa: N802 - NVTX's name
        """Close the innermost nested range, and return its depth; -2 if none is open, as NVTX does."""
        if not self._depth:
            return -2
        self._depth -= 1
        return self._depth

    def rangeStartA(self, _message: str) -> int:  # noqa: N802 - NVTX's name
        """Open a range, and return its number."""
        return next(self._numbers)

    def rangeEnd(self, _number: int) -> None:  # noqa: N802 - NVTX's name
        """Close a range."""

    def markA(self, _message: str) -> None:  # noqa: N802 - NVTX's name
        """Mark a point in time."""
