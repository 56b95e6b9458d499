"""Entries of the shadow, one for each granule that an access touches: made and compared."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx_sim.checks.race.lane_masks import bits_of
from pyptx_sim.checks.race.tables import COLUMNS, MASK, PC, TIME, WARP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.checks.race.reports import Step
    from pyptx_sim.observer import Offsets


def entries_of(warps: Offsets, lanes: Offsets, times: NDArray[np.int32], pc: int, count: int) -> NDArray[np.int32]:
    """Return the entries of accesses by the instruction at `pc`, `count` of each: one behind the other."""
    entries = np.empty((len(warps), COLUMNS), np.int32)
    entries[:, WARP], entries[:, MASK] = warps, bits_of(lanes)
    entries[:, TIME], entries[:, PC] = times, pc
    if count == 1:
        return entries
    return entries.view(np.complex128).repeat(count).view(np.int32).reshape(-1, COLUMNS)


def rises(at: NDArray[np.int64]) -> bool:
    """Tell at a glance that no two of some granules are the same; False says nothing."""
    return bool((at[1:] > at[:-1]).all())


def lanes_differ(some: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Tell which entries of the shadow are of other lanes than others: warp and lanes stand side by side in them."""
    differ: NDArray[np.bool_] = some.view(np.int64)[:, 0] != others.view(np.int64)[:, 0]
    return differ


def by_warp_and_granule(step: Step) -> tuple[Step, NDArray[np.int64]]:
    """Return a step with one entry for all lanes of a warp that touch a granule, and which one it was of the others."""
    some, entries = united(step.at, step.warps, step.entries)
    at, warps, lanes, rows = step.at[some], step.warps[some], step.lanes[some], step.rows[some]
    return replace(step, at=at, warps=warps, lanes=lanes, rows=rows, entries=entries), some


def united(
    at: NDArray[np.int64], warps: NDArray[Any], entries: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the first one of each warp that touches a granule, and an entry for all of its lanes that do."""
    keys = warps * (int(at.max()) + 1) + at
    order = keys.argsort(kind="stable")
    first = np.flatnonzero(np.diff(keys[order], prepend=-1))
    some = order[first]
    whole = entries[some]
    whole[:, MASK] = np.bitwise_or.reduceat(entries[order, MASK], first)
    return some, whole
