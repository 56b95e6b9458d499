"""Shadow entries (warp, lane mask, time, pc), one per shadow granule of an access: creation and comparison."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_sim.events import COLUMNS, MASK, WARP
from pyptx_sim.happens_before.lane_masks import BITS, LANES, of_all_lanes, of_all_warps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.events import AccessEvent
    from pyptx_sim.observer import Offsets

_HALF: Final = 32  # number of bits per column of a shadow entry; two adjacent columns are set as one 64-bit number
_HIGH: Final = BITS.astype(np.int64) << _HALF


def entries_of(
    warps: Offsets, lanes: Offsets, first_warp: int, now: NDArray[np.int32], pc: int, count: int
) -> NDArray[np.int32]:
    """Return the shadow entries of accesses by the instruction at `pc`, `count` consecutive entries per access.

    Access i is by lane `lanes[i]` of `warps[i]`. `first_warp` is the number of the first warp of this wave of CTAs, and
    `now` the time of each warp.
    """
    pairs = np.empty((len(warps), COLUMNS // 2), np.int64)  # shadow entries: WARP and MASK as one number, TIME and PC
    if of_all_warps(warps) and of_all_lanes(lanes):
        height = len(warps) // LANES
        pairs[:, 0] = _who(first_warp, height)
        pairs.reshape(-1, LANES, 2)[:, :, 1] = (now[:height] | np.int64(pc << _HALF))[:, None]
    else:
        pairs[:, 0] = warps + first_warp | _HIGH.take(lanes)
        pairs[:, 1] = now.take(warps) | np.int64(pc << _HALF)
    entries = pairs.view(np.int32)
    if count == 1:
        return entries
    return entries.view(np.complex128).repeat(count).view(np.int32).reshape(-1, COLUMNS)


@lru_cache(maxsize=4)
def _who(first_warp: int, height: int) -> NDArray[np.int64]:
    """Return columns WARP and MASK of shadow entries for accesses by all lanes of `height` warps."""
    found: NDArray[np.int64] = (np.arange(first_warp, first_warp + height)[:, None] | _HIGH).reshape(-1)
    return found


def rises(at: NDArray[np.int64]) -> bool:
    """Return whether shadow granule numbers strictly increase, so that none is repeated."""
    return bool((at[1:] > at[:-1]).all())


def last_of_each(at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, per shadow granule number `at[i]`, the index of its last occurrence in `at`."""
    granules, which = np.unique(at, return_inverse=True)
    last = np.zeros(len(granules), np.int64)
    last[which.reshape(-1)] = np.arange(len(at))
    return last[which.reshape(-1)]


def lanes_differ(some: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return, per pair of shadow entries, whether their warps or lanes differ; both columns are compared as one."""
    differ: NDArray[np.bool_] = some.view(np.int64)[:, 0] != others.view(np.int64)[:, 0]
    return differ


class AccessGroups:
    """Groups of entries with the same vector clock and granule: an access by another warp precedes all or none."""

    def __init__(self, step: AccessEvent) -> None:
        """Group the entries of `step`."""
        keys = step.rows * (int(step.at.max()) + 1) + step.at
        _, self.first, group, self._sizes = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        """Index of the first entry of each group."""
        self._group: NDArray[np.int64] = group.reshape(-1)
        self._members = self._group.argsort(kind="stable")
        self._starts = self._sizes.cumsum() - self._sizes

    def spread(self, at: NDArray[np.int64], last: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the pairs of all entries in the groups of `at` with the previous accesses `last`."""
        groups = self._group[at]
        sizes = self._sizes[groups]
        inside = np.arange(sizes.sum()) - np.repeat(sizes.cumsum() - sizes, sizes)
        return self._members[np.repeat(self._starts[groups], sizes) + inside], np.repeat(last, sizes, axis=0)

    def distinct(self, at: NDArray[np.int64], *columns: NDArray[Any]) -> NDArray[np.int64]:
        """Return the index of the first pair with each combination of group and `columns`, in order."""
        order = np.lexsort((*columns, self._group[at]))
        keys = np.stack([self._group[at], *columns], axis=1)[order]
        changes = np.ones(len(at), np.bool_)
        changes[1:] = (keys[1:] != keys[:-1]).any(axis=1)
        return np.sort(order[changes])


def by_warp_and_granule(step: AccessEvent) -> tuple[AccessEvent, NDArray[np.int64]]:
    """Return `step` with one entry per warp and shadow granule, and the numbers of these entries in `step`."""
    some, entries = united(step.at, step.warps, step.entries)
    at, warps, lanes, rows = step.at[some], step.warps[some], step.lanes[some], step.rows[some]
    return replace(step, at=at, warps=warps, lanes=lanes, rows=rows, entries=entries), some


def united(
    at: NDArray[np.int64], warps: NDArray[Any], entries: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Merge entries of one warp and granule: return the index of each first entry, and entries with all lanes."""
    keys = warps * (int(at.max()) + 1) + at
    order = keys.argsort(kind="stable")
    first = np.flatnonzero(np.diff(keys[order], prepend=-1))
    some = order[first]
    whole = entries[some]
    whole[:, MASK] = np.bitwise_or.reduceat(entries[order, MASK], first)
    return some, whole


def rules_of(
    step: AccessEvent, bad: NDArray[np.int64], last: NDArray[np.int32]
) -> Iterator[tuple[NDArray[np.bool_], str]]:
    """Yield a mask over `bad` (racing entries of `step`), and a rule: races between warps, then lanes of one warp."""
    own = last[:, WARP] == step.entries[bad, WARP]
    for which, rule in ((~own, f"{step.space}-race"), (own, "lane-race")):
        if which.any():
            yield which, rule
