"""Page-locked memory: host memory that torch calls pinned. Here it is ordinary memory, whose addresses are recorded."""

from __future__ import annotations

import weakref

import numpy as np
import torch

from pyptx_virtual.torch.storages import span


class Pinning:
    """Addresses of the pinned storages."""

    def __init__(self) -> None:
        self._starts: dict[int, int] = {}
        self._library = torch.library.Library("aten", "IMPL")

    def register(self) -> None:
        """Record the results of `Tensor.pin_memory`."""
        self._library.impl("_pin_memory", self._pin, "CPU")

    def is_pinned(self, address: int | None) -> bool:
        """Return whether a host address is in a pinned storage."""
        return any(start <= (address or 0) < start + size for start, size in self._starts.items())

    def _pin(self, tensor: torch.Tensor, device: torch.device | None = None) -> torch.Tensor:  # noqa: ARG002 - torch's signature
        extent = span(tensor.shape, tensor.stride())
        data = np.empty(extent * tensor.dtype.itemsize, np.uint8)
        start = data.ctypes.data
        self._starts[start] = data.nbytes
        weakref.finalize(data, self._starts.pop, start, None)  # the storage refers to the array
        pinned = torch.from_numpy(data).view(tensor.dtype).as_strided(tensor.shape, tensor.stride())
        return pinned.copy_(tensor)
