"""Page-locked memory: host memory that torch calls pinned. Here it is ordinary memory, whose addresses are recorded."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import numpy as np

from pyptx_virtual.torch.libraries import new_library
from pyptx_virtual.torch.storages import span, tensor_of

if TYPE_CHECKING:
    import torch


class Pinning:
    """Host addresses of the storages that `Tensor.pin_memory` has made."""

    def __init__(self) -> None:
        self._starts: set[int] = set()
        self._library = new_library("aten")

    def register(self) -> None:
        """Record the results of `Tensor.pin_memory`, and answer `Tensor.is_pinned`."""
        self._library.impl("_pin_memory", self._pin, "CPU")
        self._library.impl("is_pinned", self._is_pinned, "CPU")

    def _is_pinned(self, tensor: torch.Tensor, device: torch.device | None = None) -> bool:  # noqa: ARG002 - torch's signature
        return tensor.untyped_storage().data_ptr() in self._starts

    def _pin(self, tensor: torch.Tensor, device: torch.device | None = None) -> torch.Tensor:  # noqa: ARG002 - torch's signature
        extent = span(tensor.shape, tensor.stride())
        data = np.empty(max(extent, 1) * tensor.dtype.itemsize, np.uint8)
        start = data.ctypes.data
        self._starts.add(start)
        weakref.finalize(data, self._starts.discard, start)  # the storage refers to the array
        pinned = tensor_of(data).view(tensor.dtype).as_strided(tensor.shape, tensor.stride())
        return pinned.copy_(tensor)
