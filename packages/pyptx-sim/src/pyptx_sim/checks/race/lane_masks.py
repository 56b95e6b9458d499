"""Lanes of a warp as the bits of a number: bit i of an `int32` for lane i."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_sim.machine.lanes import every_lane

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.observer import Masks, Offsets

LANES: Final = 32
_LANES: Final = np.arange(LANES)
BITS: Final = (1 << _LANES).astype(np.uint32).view(np.int32)


def bits_of(lanes: Offsets) -> NDArray[np.int32]:
    """Return the masks of single lanes."""
    bits: NDArray[np.int32] = BITS.take(lanes)
    return bits


def of_all_lanes(lanes: Offsets) -> bool:
    """Tell at a glance that accesses are by all lanes of warps, lane by lane; False says nothing."""
    return len(lanes) % LANES == 0 and lanes is every_lane(len(lanes) // LANES)[1]


def of_all_warps(warps: Offsets) -> bool:
    """Tell at a glance that accesses are by all lanes of all warps, warp by warp; False says nothing."""
    return len(warps) % LANES == 0 and warps is every_lane(len(warps) // LANES)[0]


def masks_of(masks: Masks) -> NDArray[np.int32]:
    """Return masks of booleans, `[n, 32]`, as numbers."""
    numbers: NDArray[np.int32] = np.packbits(masks, axis=1, bitorder="little").view(np.int32)[:, 0]
    return numbers


def booleans_of(masks: NDArray[Any]) -> Masks:
    """Return masks as booleans, `[n, 32]`."""
    named: Masks = (masks[:, None] >> _LANES & 1).astype(np.bool_)
    return named


def own_lanes(masks: NDArray[np.int32], others: NDArray[Any]) -> NDArray[np.int32]:
    """Return the lanes of `masks` whose earlier work comes before what `masks` do now, by the order of the program.

    Lanes that access something together access different parts of it, unless `others` are the same ones.
    """
    alone: NDArray[np.int32] = np.where((masks & (masks - 1) == 0) | (masks == others), masks, 0)
    return alone


def only_lane(masks: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the lane of each mask with one lane, -1 for other masks."""
    bits = masks.astype(np.int64) & 0xFFFFFFFF
    lanes: NDArray[np.int64] = np.where(bits & (bits - 1) == 0, np.log2(np.maximum(bits, 1)).astype(np.int64), -1)
    return lanes


def lanes_in(mask: int) -> list[int]:
    """Return the lanes of a mask."""
    return [lane for lane in range(LANES) if mask >> lane & 1]


def named(mask: int) -> str:
    """Return the lanes of a mask in words."""
    lanes = lanes_in(mask)
    return f"lane {lanes[0]}" if len(lanes) == 1 else "several lanes"
