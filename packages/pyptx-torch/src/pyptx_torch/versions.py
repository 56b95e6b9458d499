"""The version of a tensor, by which autograd notices that what it saved has been written to since."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

_count: Callable[[torch.Tensor], None] = torch.autograd.graph.increment_version


def count_version(tensor: torch.Tensor) -> None:
    """Count a new version; tensors made in inference mode have none."""
    if not tensor.is_inference():
        _count(tensor)
