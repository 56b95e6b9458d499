"""Membermasks: sets of lanes of a warp as the bits of a 32-bit word. Manual: "shfl.sync", "vote.sync"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LANE_BITS: Final = np.uint32(1) << np.arange(32, dtype=np.uint32)


def ballot(truth: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the lanes for which `truth`, bool `[rows, 32]`, is true, as the bits of a uint32 `[rows, 1]`."""
    return np.packbits(truth, axis=1, bitorder="little").view("<u4")


def alike(named: NDArray[Any], masks: NDArray[np.bool_]) -> NDArray[Any]:
    """Return, for each lane, the active lanes of its warp with the same membermask, as bits `[rows, 32|1]`.

    `named`: the membermasks, uint32 `[rows|1, 32|1]`. `masks`: the active lanes, bool `[rows, 32]`. Lanes execute a
    `.sync` instruction together only with the same membermask.
    """
    if named.shape[1] == 1:
        return ballot(masks)
    named = np.broadcast_to(named, masks.shape)
    # all warps have the same masks: compute for one
    if len(named) > 1 and (named == named[:1]).all() and (masks == masks[:1]).all():
        return np.broadcast_to(alike(named[:1], masks[:1]), masks.shape)
    same = (named[:, :, None] == named[:, None, :]) & masks[:, None, :]
    return np.packbits(same, axis=2, bitorder="little").view("<u4")[..., 0]
