"""Checks of a call's devices, with the errors that torch raises on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from pyptx_virtual.torch.schemas import Mixing

if TYPE_CHECKING:
    from pyptx_virtual.torch.schemas import Schema


def check_devices(schema: Schema, tensor: torch.Tensor, strangers: list[torch.Tensor]) -> None:
    """Raise torch's RuntimeError if an operator accepts none of the tensors on other devices with a CUDA tensor.

    c10/core/impl and TensorIterator: "Expected all tensors to be on the same device".
    """
    if schema.mixing is Mixing.ALL:
        return
    for stranger in strangers:
        if schema.mixing is Mixing.SCALARS and not stranger.dim():
            continue
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {tensor.device} and "
            f"{stranger.device}!"
        )


def check_device(device: torch.device | None) -> None:
    """Raise torch's error for a CUDA device other than number 0."""
    if device is not None and device.type == "cuda" and device.index not in (None, 0):
        raise invalid_ordinal()


def invalid_ordinal() -> RuntimeError:
    """Return the error of the CUDA runtime for a device that does not exist."""
    return torch.AcceleratorError("CUDA error: invalid device ordinal")
