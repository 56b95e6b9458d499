"""Conversion of tensors to the strides that a declared `Tile`'s layout requires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.contract.specs import Layout

if TYPE_CHECKING:
    import torch

    from pyptx_dsl.contract.specs import Tile


def dense(tensor: torch.Tensor, tile: Tile | None) -> torch.Tensor:
    """Return the tensor if it is dense in the layout of `tile` (row-major without one), else a dense copy.

    A tensor with a pending negation or conjugation is copied too: autograd produces such gradients.
    """
    tensor = tensor.resolve_neg().resolve_conj()
    if tile is None or tile.layout is not Layout.COL:
        return tensor.contiguous()
    backwards = tuple(range(tile.rank - 1, -1, -1))
    return tensor.permute(backwards).contiguous().permute(backwards)
