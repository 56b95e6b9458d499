"""Torch tensors on the simulator, which does not support autograd: lost gradients are errors, writes are counted.

No framework is imported: a program that has a tensor has imported torch.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pyptx_dsl.contract.arrays import TORCH, kind_of
from pyptx_dsl.errors import GradientError, LayoutError

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_tensors(kernel: str, named: Iterable[tuple[str, object]]) -> None:
    """Raise GradientError for a tensor whose gradient would be lost, LayoutError for one whose storage is freed."""
    for name, value in named:
        if kind_of(value) is not TORCH:
            continue
        tensor: Any = value
        if _is_differentiated(tensor):
            raise GradientError(
                f"{kernel}: {name} requires a gradient, and the simulator computes none",
                hint=f"pass {name}.detach(), or call it under torch.no_grad(); gradients need pyptx-torch and a "
                "pyptx.differentiable_kernel",
            )
        if tensor.numel() and not tensor.untyped_storage().nbytes():
            raise LayoutError(
                f"{kernel}: {name} has no memory: its storage is freed", hint="allocate it before the call"
            )


def count_versions(written: Iterable[object]) -> None:
    """Count a new version of written tensors, so that autograd detects writes to tensors that it saved."""
    for value in written:
        tensor: Any = value
        if kind_of(value) is TORCH and not tensor.is_inference():
            sys.modules["torch"].autograd.graph.increment_version(tensor)


def _is_differentiated(tensor: Any) -> bool:  # noqa: ANN401 - torch is never imported
    """Return whether autograd follows a tensor, in reverse or in forward mode."""
    torch = sys.modules["torch"]
    if torch.is_grad_enabled() and tensor.requires_grad:
        return True
    return torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None
