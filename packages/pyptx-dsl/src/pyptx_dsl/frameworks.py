"""What programs ask about frameworks and the shim, without importing either: for those who know the older system."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def is_torch_tensor(value: object) -> bool:
    """Tell whether `value` is a torch tensor; whoever has one has imported torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def any_torch_tensors(values: Iterable[object]) -> bool:
    """Tell whether there is a torch tensor among `values`."""
    return any(map(is_torch_tensor, values))


def extract_input_shapes(tensors: Iterable[object]) -> Sequence[tuple[int, ...]]:
    """Return the shapes of arrays."""
    return tuple(tuple(getattr(tensor, "shape", ())) for tensor in tensors)


def shim_is_available() -> bool:
    """Tell whether pyptx-launch is installed and loads; `pyptx doctor` says whether there is a driver."""
    return shim_load_error() is None


def shim_load_error() -> str | None:
    """Return why pyptx-launch does not load, or None if it does."""
    from importlib import import_module

    try:
        import_module("pyptx_launch._shim")
    except ImportError as error:
        from pyptx_ir.plugins.homes import gpu_remedy

        return f"{error}; {gpu_remedy()}"
    return None
