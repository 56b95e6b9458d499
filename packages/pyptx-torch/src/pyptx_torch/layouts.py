"""Tensors in the strides that a Tile's layout asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.contract.specs import Layout

if TYPE_CHECKING:
    import torch

    from pyptx_dsl.contract.specs import Tile


def dense(tensor: torch.Tensor, tile: Tile | None) -> torch.Tensor:
    """Return the tensor itself if it is dense as `tile` says (by rows, without one), else a copy that is.

    A tensor whose negation or conjugation is pending is copied too: autograd makes such gradients.
    """
    tensor = tensor.resolve_neg().resolve_conj()
    if tile is None or tile.layout is not Layout.COL:
        return tensor.contiguous()
    backwards = tuple(range(tile.rank - 1, -1, -1))
    return tensor.permute(backwards).contiguous().permute(backwards)
