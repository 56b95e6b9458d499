"""Operators that allocate or replace storages, and operators that torch implements for CUDA only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from pyptx_virtual.torch.cuda_only import CUDA_ONLY
from pyptx_virtual.torch.mixing import check_device
from pyptx_virtual.torch.storages import span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyptx_virtual.torch.schemas import Overload
    from pyptx_virtual.torch.storages import Storages

# ruff: noqa: SLF001 - operators have these names

_aten: Final[Any] = torch.ops.aten
_CPU: Final = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
_MATH_ATTENTION: Final = 0  # at::SDPBackend::math, the composition of other operators


class Overrides:
    """Implementations that differ from calling the CPU kernel; `table` has them by operator."""

    def __init__(self, storages: Storages) -> None:
        self._storages = storages
        self.table: dict[Overload, Callable[..., object]] = {
            _aten.empty.memory_format: self.empty,
            _aten.empty_strided.default: self.empty_strided,
            _aten.resize_.default: self.resize,
            _aten.set_.default: self.set_empty,
            _aten.record_stream.default: lambda *_: None,  # memory is freed only after all launches
            _aten._efficientzerotensor.default: torch.zeros,  # a tensor without memory, which CPU kernels cannot read
            _aten._fused_sdp_choice.default: lambda *_, **__: _MATH_ATTENTION,
            **dict.fromkeys(_choices_of_ctc_loss(), lambda *_, **__: False),
            _aten._pin_memory.default: _refuse_to_pin,
            **CUDA_ONLY,
        }

    def empty(
        self,
        size: Sequence[int],
        *,
        dtype: torch.dtype | None = None,
        layout: torch.layout | None = None,
        device: torch.device | None = None,
        pin_memory: bool | None = None,
        memory_format: torch.memory_format | None = None,
    ) -> torch.Tensor:
        """Implement `torch.empty`: the elements are uninitialized device memory."""
        if pin_memory:
            raise RuntimeError("Only dense CPU tensors can be pinned")
        like = torch.empty(size, dtype=dtype, layout=layout, device="meta", memory_format=memory_format)
        return self.empty_strided(like.shape, like.stride(), dtype=like.dtype, device=device)

    def empty_strided(
        self,
        size: Sequence[int],
        stride: Sequence[int],
        *,
        dtype: torch.dtype | None = None,
        layout: torch.layout | None = None,
        device: torch.device | None = None,
        pin_memory: bool | None = None,
    ) -> torch.Tensor:
        """Implement `torch.empty_strided`: the elements are uninitialized device memory."""
        check_device(device)
        if pin_memory:
            raise RuntimeError("Only dense CPU tensors can be pinned")
        if layout not in (None, torch.strided):
            raise NotImplementedError(f"torch.empty_strided of layout {layout} is not available on the virtual GPU")
        if any(extent < 0 for extent in size):
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
        return self._storages.empty(size, stride, dtype or torch.get_default_dtype())

    def resize(
        self, tensor: torch.Tensor, size: Sequence[int], *, memory_format: torch.memory_format | None = None
    ) -> torch.Tensor:
        """Implement `Tensor.resize_`: a larger storage is a new one, and other views keep the former."""
        if tensor.shape == torch.Size(size) and memory_format is None:
            return tensor  # with its strides
        like = torch.empty(size, device="meta", memory_format=memory_format)
        offset = int(tensor.storage_offset())
        needed = (span(size, like.stride()) + offset) * tensor.dtype.itemsize if like.numel() else 0
        storage = tensor.untyped_storage()
        if needed > storage.nbytes():
            grown = self._storages.empty((needed,), (1,), torch.uint8)
            if storage.nbytes():
                former = _aten.empty.memory_format([0], dtype=torch.uint8, device="cuda").set_(storage)
                grown[: storage.nbytes()].copy_(former)
            storage = grown.untyped_storage()
        replace = _aten.set_.source_Storage_storage_offset
        replaced: torch.Tensor = replace.redispatch(
            _CPU, tensor, storage, tensor.storage_offset(), list(size), like.stride()
        )
        return replaced

    def set_empty(self, tensor: torch.Tensor) -> torch.Tensor:
        """Implement `Tensor.set_()`: replace the storage by an empty one."""
        storage = self._storages.empty((0,), (1,), tensor.dtype).untyped_storage()
        replaced: torch.Tensor = _aten.set_.source_Storage_storage_offset.redispatch(_CPU, tensor, storage, 0, [0], [1])
        return replaced


def _refuse_to_pin(tensor: torch.Tensor, *_: object) -> torch.Tensor:
    raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")


def _choices_of_ctc_loss() -> list[Overload]:
    """Return the operators that choose a CTC loss of cuDNN or MIOpen; the second one is new in torch 2.13."""
    packets = [getattr(_aten, name, None) for name in ("_use_cudnn_ctc_loss", "_use_miopen_ctc_loss")]
    return [getattr(packet, name) for packet in packets if packet is not None for name in packet.overloads()]
