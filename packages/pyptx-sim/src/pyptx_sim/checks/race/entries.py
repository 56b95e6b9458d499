"""Entries of the shadow, one for each granule that an access touches: made and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.checks.race.shadow import COLUMNS, LANE, PC, TIME, WARP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.observer import Offsets


def entries_of(warps: Offsets, lanes: Offsets, times: NDArray[np.int32], pc: int, count: int) -> NDArray[np.int32]:
    """Return the entries of accesses by the instruction at `pc`, `count` of each: one behind the other."""
    entries = np.empty((len(warps), COLUMNS), np.int32)
    entries[:, WARP], entries[:, LANE] = warps, lanes
    entries[:, TIME], entries[:, PC] = times, pc
    if count == 1:
        return entries
    return entries.view(np.complex128).repeat(count).view(np.int32).reshape(-1, COLUMNS)


def rises(at: NDArray[np.int64]) -> bool:
    """Tell at a glance that no two of some granules are the same; False says nothing."""
    return bool((at[1:] > at[:-1]).all())


def lanes_differ(some: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Tell which entries of the shadow are of other lanes than others: warp and lane stand side by side in them."""
    differ: NDArray[np.bool_] = some.view(np.int64)[:, 0] != others.view(np.int64)[:, 0]
    return differ


def read_again(last: NDArray[np.int32], entries: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Tell which entries come from another lane of the same warp than the `last` read, at the same time."""
    same: NDArray[np.bool_] = (last[:, WARP] == entries[:, WARP]) & (last[:, TIME] == entries[:, TIME])
    same &= last[:, LANE] != entries[:, LANE]
    return same
