"""Joins asynchronous operations that many threads issue by one instruction, so that they are checked together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.machine.lanes import WARP
from pyptx_sim.shadow.shadow import fitting

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from pyptx_sim.observer import AsyncAccess, AsyncOperations, Offsets, Space

_WIDEST: Final = 1 << 16  # accesses of asynchronous operations are compared in granules of at most this number of bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """`AsyncOperations` of different threads as one; no operation accesses bytes that another one writes.

    Each of `works` has one operation. `work` has all of these operations, and the `item_id` of the first.
    """

    works: Sequence[AsyncOperations]
    work: AsyncOperations

    @property
    def item_ids(self) -> NDArray[np.int64]:
        """Item id of each operation, which names it in later events."""
        return np.array([each.item_id for each in self.works])


def batches(works: Sequence[AsyncOperations]) -> Iterator[Sequence[AsyncOperations] | Batch]:
    """Yield `AsyncOperations` in order: similar ones joined to a `Batch`, unless they are single or may conflict."""
    for _, alike in groupby(works, _likeness):
        some = list(alike)
        together = _together(some)
        yield some if together is None else Batch(some, together)


def _likeness(work: AsyncOperations) -> Hashable:
    """Return the properties in which `AsyncOperations` must agree to be joined."""
    touches = tuple(
        (each.space, each.writes, each.size, each.barriers is None, each.atomic, each.proxy, each.layout)
        for each in work.touches
    )
    return work.pc, work.kind, work.proxy, len(work.warps), touches


def _together(works: Sequence[AsyncOperations]) -> AsyncOperations | None:
    """Return similar `AsyncOperations` of one operation each as one, None if their accesses may conflict."""
    warps, lanes, groups = (
        np.concatenate(each) for each in zip(*((work.warps, work.lanes, work.groups) for work in works), strict=True)
    )
    if len(works) == 1 or len(warps) != len(works) or len(np.unique(warps * WARP + lanes)) < len(warps):
        return None
    touches = tuple(_joined(each) for each in zip(*(each.touches for each in works), strict=True))
    if not all(_apart(touches, space) for space in {each.space for each in touches if each.writes}):
        return None
    return replace(works[0], warps=warps, lanes=lanes, groups=groups, touches=touches)


def _joined(touches: Sequence[AsyncAccess]) -> AsyncAccess:
    """Return the same access of several `AsyncOperations`, of one operation each, as one access."""
    barriers = [each.barriers for each in touches if each.barriers is not None]
    return replace(
        touches[0],
        offsets=np.concatenate([each.offsets for each in touches]),
        owners=np.repeat(np.arange(len(touches)), [len(each.offsets) for each in touches]),
        barriers=np.concatenate(barriers) if barriers else None,
    )


def _apart(touches: Sequence[AsyncAccess], space: Space) -> bool:
    """Return whether no operation accesses bytes in `space` that another one writes, unless both are atomic."""
    here = [each for each in touches if each.space == space and len(each.offsets)]
    if all(each.atomic for each in here) or _in_intervals_of_their_own(here):
        return True
    granule = _WIDEST
    for each in here:
        granule = fitting(granule, each.offsets, each.size)
    written = np.concatenate([_granules(each, granule) for each in here if each.writes])
    read = [_granules(each, granule) for each in here if not each.writes]
    return len(np.unique(written)) == len(written) and not any(np.isin(each, written).any() for each in read)


def _in_intervals_of_their_own(touches: Sequence[AsyncAccess]) -> bool:
    """Return whether the byte ranges that different operations access do not overlap."""
    lows: list[Offsets] = []
    highs: list[Offsets] = []
    owners: list[Offsets] = []
    for each in touches:
        first = np.flatnonzero(np.diff(each.owners, prepend=-1))
        lows.append(np.minimum.reduceat(each.offsets, first))
        highs.append(np.maximum.reduceat(each.offsets, first) + each.size)
        owners.append(each.owners[first])
    order = np.argsort(np.concatenate(lows))
    low, high, owner = (np.concatenate(each)[order] for each in (lows, highs, owners))
    return bool(((np.maximum.accumulate(high)[:-1] <= low[1:]) | (owner[:-1] == owner[1:])).all())


def _granules(touch: AsyncAccess, granule: int) -> Offsets:
    first = touch.offsets // granule
    found: Offsets = (first[:, None] + np.arange(touch.size // granule)).reshape(-1)
    return found
