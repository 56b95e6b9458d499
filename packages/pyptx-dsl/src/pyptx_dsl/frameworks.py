"""Checks of torch tensors, array shapes and the native extension, for code written for older versions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def is_torch_tensor(value: object) -> bool:
    """Return whether `value` is a torch tensor; if it is, torch has been imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def any_torch_tensors(values: Iterable[object]) -> bool:
    """Return whether `values` contain a torch tensor."""
    return any(map(is_torch_tensor, values))


def extract_input_shapes(tensors: Iterable[object]) -> Sequence[tuple[int, ...]]:
    """Return the shape of each array."""
    return tuple(tuple(getattr(tensor, "shape", ())) for tensor in tensors)


def shim_is_available() -> bool:
    """Return whether pyptx-launch is installed and loads; the CUDA driver may still be missing (`pyptx doctor`)."""
    return shim_load_error() is None


def shim_load_error() -> str | None:
    """Return the reason why pyptx-launch does not load, or None if it does."""
    from importlib import import_module

    try:
        import_module("pyptx_launch._shim")
    except ImportError as error:
        from pyptx_ir.plugins.homes import gpu_remedy

        return f"{error}; {gpu_remedy()}"
    return None
