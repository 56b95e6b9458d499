"""Lane masks as numbers: bit i of an `int32` is lane i of the warp."""

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
    """Return, per lane number, the mask with this lane only."""
    bits: NDArray[np.int32] = BITS.take(lanes)
    return bits


def of_all_lanes(lanes: Offsets) -> bool:
    """Return whether `lanes` is the cached array of all lanes of whole warps, in order.

    Another array with equal elements gives False.
    """
    return len(lanes) % LANES == 0 and lanes is every_lane(len(lanes) // LANES)[1]


def of_all_warps(warps: Offsets) -> bool:
    """Return whether `warps` is the cached array of all warps, each repeated for its 32 lanes.

    Another array with equal elements gives False.
    """
    return len(warps) % LANES == 0 and warps is every_lane(len(warps) // LANES)[0]


def masks_of(masks: Masks) -> NDArray[np.int32]:
    """Return masks of booleans, `[n, 32]`, as numbers with a bit per lane."""
    numbers: NDArray[np.int32] = np.packbits(masks, axis=1, bitorder="little").view(np.int32)[:, 0]
    return numbers


def booleans_of(masks: NDArray[Any]) -> Masks:
    """Return masks with a bit per lane as booleans, `[n, 32]`."""
    named: Masks = (masks[:, None] >> _LANES & 1).astype(np.bool_)
    return named


def own_lanes(masks: NDArray[np.int32], others: NDArray[Any]) -> NDArray[np.int32]:
    """Return, per mask, the lanes whose next access follows the access of lanes `others` in program order.

    The lanes of a mask access an object together, each lane a part of it. So program order applies only to a mask of
    one lane, or if `others` are the same lanes.
    """
    alone: NDArray[np.int32] = np.where((masks & (masks - 1) == 0) | (masks == others), masks, 0)
    return alone


def only_lane(masks: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the lane number of each mask with one lane, -1 for other masks."""
    bits = masks.astype(np.int64) & 0xFFFFFFFF
    lanes: NDArray[np.int64] = np.where(bits & (bits - 1) == 0, np.log2(np.maximum(bits, 1)).astype(np.int64), -1)
    return lanes


def lanes_in(mask: int) -> list[int]:
    """Return the lane numbers in a mask."""
    return [lane for lane in range(LANES) if mask >> lane & 1]


def named(mask: int) -> str:
    """Return the text for the lanes of a mask in messages: "lane 3", or "several lanes"."""
    lanes = lanes_in(mask)
    return f"lane {lanes[0]}" if len(lanes) == 1 else "several lanes"
