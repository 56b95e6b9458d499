"""What many threads issue by one execution of an instruction, as one piece of work: to be judged in one go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.checks.race.shadow import fitting
from pyptx_sim.machine.lanes import WARP

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from pyptx_sim.observer import AsyncAccess, AsyncOperations, Offsets, Space

_WIDEST: Final = 1 << 16  # bytes of a granule


@dataclass(frozen=True, slots=True)
class Batch:
    """Works of different threads that are alike, none of which touches what another one writes: one operation each.

    `work` is all of them as one, whose `item_id` is that of the first.
    """

    works: Sequence[AsyncOperations]
    work: AsyncOperations

    @property
    def item_ids(self) -> NDArray[np.int64]:
        """The name of each operation in later events."""
        return np.array([each.item_id for each in self.works])


def batches(works: Sequence[AsyncOperations]) -> Iterator[Sequence[AsyncOperations] | Batch]:
    """Yield works in order: as batches, or as they are where they could meet, or where there is but one."""
    for _, alike in groupby(works, _likeness):
        some = list(alike)
        together = _together(some)
        yield some if together is None else Batch(some, together)


def _likeness(work: AsyncOperations) -> Hashable:
    """Return what works have in common that can be one."""
    touches = tuple(
        (each.space, each.writes, each.size, each.barriers is None, each.atomic, each.proxy, each.layout)
        for each in work.touches
    )
    return work.pc, work.kind, work.proxy, len(work.warps), touches


def _together(works: Sequence[AsyncOperations]) -> AsyncOperations | None:
    """Return works that are alike as one, unless they could meet; each is of one operation."""
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
    """Return the same touch of each of some works, all of one operation, as one."""
    barriers = [each.barriers for each in touches if each.barriers is not None]
    return replace(
        touches[0],
        offsets=np.concatenate([each.offsets for each in touches]),
        owners=np.repeat(np.arange(len(touches)), [len(each.offsets) for each in touches]),
        barriers=np.concatenate(barriers) if barriers else None,
    )


def _apart(touches: Sequence[AsyncAccess], space: Space) -> bool:
    """Tell whether in a space no operation touches what another one writes, unless both update."""
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
    """Tell whether the bytes that an operation touches all lie between those that others touch."""
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
