"""Storages of CUDA tensors in device memory, and CPU tensors over the same bytes."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from pyptx_sim.errors import OutOfMemory
from pyptx_virtual.torch.capsules import Capsules, capsule_holds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pyptx_virtual.device import VirtualDevice

_as_strided: Final = torch.ops.aten.as_strided.default
_CPU: Final = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)  # noqa: SLF001 - redispatch has no public spelling
_NOTHING: Final = np.empty(0, np.uint8)
_MASKS: Final = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.complex128}

Twins = dict[torch.dtype, torch.Tensor]
Pairs = list[tuple[torch.Tensor, torch.Tensor]]
"""CUDA tensors of a call, each with the CPU tensor over its elements."""


class Storages:
    """The storages in device memory.

    A *twin* of a storage is a one-dimensional CPU tensor over all of its bytes. CPU kernels compute on views of twins.
    """

    def __init__(self, device: VirtualDevice) -> None:
        self._device = device
        self._memory = device.context.memory
        self._capsules = Capsules(self._freed)
        self._twins: dict[int, Twins] = {}
        self._masks: dict[int, Twins] = {}

    def empty(self, shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """Return a CUDA tensor with uninitialized elements; `strides` are in elements."""
        if not capsule_holds(dtype):  # float8 and other types that torch does not exchange
            return self._empty_by_view(shape, strides, dtype)
        nbytes = span(shape, strides) * dtype.itemsize
        address = self._allocate(nbytes)
        data = self._memory.bytes(address, nbytes) if address else _NOTHING
        return self._capsules.tensor(data, address, dtype, shape, strides)

    def _empty_by_view(self, shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        raw = self.empty((span(shape, strides) * dtype.itemsize,), (1,), torch.uint8)
        return self.view(raw.view(dtype), shape, strides, 0)

    @staticmethod
    def view(tensor: torch.Tensor, shape: Sequence[int], strides: Sequence[int], offset: int) -> torch.Tensor:
        """Return a CUDA tensor that shares the storage of `tensor`; strides and offset are in elements."""
        seen: torch.Tensor = _as_strided.redispatch(_CPU, tensor, shape, strides, offset)
        return seen

    def upload(self, host: torch.Tensor) -> torch.Tensor:
        """Return a CUDA tensor with the elements and the strides of a strided CPU tensor."""
        if host.layout is not torch.strided:
            raise NotImplementedError(f"tensors of layout {host.layout} are not available on the virtual GPU")
        if host.is_conj() or host.is_neg():
            host = host.resolve_conj().resolve_neg()
        made = self.empty(host.shape, host.stride(), host.dtype)
        nbytes = span(host.shape, host.stride()) * host.dtype.itemsize
        if nbytes:
            address = made.data_ptr()
            ctypes.memmove(self._memory.host_address(address), host.data_ptr(), nbytes)
            self._memory.mark_initialized(address, nbytes)
        return made

    def owner(self, host: torch.Tensor, pairs: Pairs) -> torch.Tensor | None:
        """Return the view of a CUDA tensor of a call that has the elements of `host`; None if `host` owns its bytes."""
        if host.layout is not torch.strided:
            return None
        storage = host.untyped_storage()
        if self._memory.device_address(storage.data_ptr()) is None:
            return None
        for tensor, other in pairs:
            if other.untyped_storage().data_ptr() == storage.data_ptr() and tensor.dtype == host.dtype:
                return self.view(tensor, host.shape, host.stride(), int(host.storage_offset()))
        return None

    def host(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return a CPU tensor over the elements of a CUDA tensor."""
        storage = tensor.untyped_storage()
        address = storage.data_ptr()
        if not address:
            return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
        twins = self._twins.get(address)
        if twins is None:
            twins = self._new_twins(self._twins, address, self._memory.bytes(address, storage.nbytes()))
        return _host_bits(tensor, _view_of(twins, tensor, tensor.dtype))

    def view_on_host(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return a CPU tensor over the elements of a CUDA tensor, and any other tensor unchanged."""
        return self.host(tensor.detach()) if tensor.is_cuda else tensor

    def mark_written(self, tensor: torch.Tensor) -> None:
        """Record that all elements of a CUDA tensor are initialized."""
        storage = tensor.untyped_storage()
        address = storage.data_ptr()
        if not address or not tensor.numel():
            return
        size = tensor.dtype.itemsize
        if tensor.is_contiguous():
            self._memory.mark_initialized(tensor.data_ptr(), tensor.numel() * size)
            return
        masks = self._masks.get(address)
        if masks is None:
            masks = self._new_twins(self._masks, address, self._memory.initialized(address, storage.nbytes()))
        mask = _view_of(masks, tensor, _MASKS[size])
        (torch.view_as_real(mask).view(torch.int64) if mask.is_complex() else mask).fill_(-1)

    def _new_twins(self, kept: dict[int, Twins], address: int, data: NDArray[np.uint8]) -> Twins:
        """Return twins over `data`; keep them if the storage starts an allocation, whose deleter removes them."""
        with torch.inference_mode(mode=False):  # tensors of inference mode cannot be written outside of it
            twins: Twins = {torch.uint8: tensor_of(data)}
        found = self._memory.allocation(address)
        if found is not None and found[0] == address:
            kept[address] = twins
        return twins

    def _allocate(self, nbytes: int) -> int:
        if not nbytes:
            return 0
        try:
            return self._device.allocate(nbytes)
        except OutOfMemory as error:
            use, size = self._device.bytes_in_use.current, self._device.memory_bytes
            raise torch.OutOfMemoryError(
                f"CUDA out of memory. Tried to allocate {nbytes} bytes. GPU 0 has a total capacity of {size} bytes, of "
                f"which {use} bytes are allocated by PyTorch."
            ) from error

    def _freed(self, address: int) -> None:
        self._twins.pop(address, None)
        self._masks.pop(address, None)
        self._device.free_later(address)


def span(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Return the number of elements from the first to the last one of a strided tensor; 0 if it has no elements."""
    count = 1
    for extent, stride in zip(shape, strides, strict=True):
        if not extent:
            return 0
        count += (extent - 1) * stride
    return count


def tensor_of(data: NDArray[np.uint8]) -> torch.Tensor:
    """Return a CPU tensor over the bytes of an array."""
    untyped: Any = torch
    made: torch.Tensor = untyped.from_numpy(data)
    return made


def _view_of(twins: Twins, tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the elements of `tensor` in one of the twins of its storage."""
    twin = twins.get(dtype)
    if twin is None:
        data = twins[torch.uint8]
        twin = twins[dtype] = data[: data.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
    return twin.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def _host_bits(tensor: torch.Tensor, host: torch.Tensor) -> torch.Tensor:
    """Return `host` with the pending conjugation and negation of `tensor`."""
    if tensor.is_conj():
        torch._C._set_conj(host, True)  # noqa: SLF001, FBT003 - the functions of torch for this
    if tensor.is_neg():
        torch._C._set_neg(host, True)  # noqa: SLF001, FBT003 - the same
    return host
