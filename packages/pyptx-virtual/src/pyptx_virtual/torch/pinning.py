"""Page-locked memory: host memory that torch calls pinned. Here it is ordinary memory, whose addresses are recorded."""

from __future__ import annotations

import weakref
from typing import Any, Final

import torch

_CPU: Final = torch._C.DispatchKeySet(torch._C.DispatchKey.CompositeExplicitAutograd)  # noqa: SLF001 - no public spelling


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

    def _pin(self, tensor: torch.Tensor, device: torch.device | None = None) -> torch.Tensor:
        pinned: Any = torch.ops.aten.clone.default(tensor)
        storage = pinned.untyped_storage()
        self._starts[storage.data_ptr()] = storage.nbytes()
        weakref.finalize(storage, self._starts.pop, storage.data_ptr(), None)
        return pinned
