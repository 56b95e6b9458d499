"""Version counter of tensors, by which autograd detects writes to saved tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

_count: Callable[[torch.Tensor], None] = torch.autograd.graph.increment_version


def count_version(tensor: torch.Tensor) -> None:
    """Increment a tensor's version counter; tensors created in inference mode have no version."""
    if not tensor.is_inference():
        _count(tensor)
