"""Tell the observers of bulk copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_arch_hopper.sim.fences import TENSOR_MAPS
from pyptx_arch_hopper.sim.layouts import swizzle
from pyptx_arch_hopper.sim.tma.maps import SIZE
from pyptx_sim.extension import ASYNC
from pyptx_sim.instructions.notify import tell
from pyptx_sim.machine.lanes import by_warp
from pyptx_sim.observer import Touch

if TYPE_CHECKING:
    from pyptx_arch_hopper.sim.tma.bulk import BulkCopy, Elements
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask

_PIECE = 16  # bytes: swizzles move nothing smaller, but for one
_WORD = 4


def tell_bulk(wave: Wave, copy: BulkCopy, item_id: int, map_at: int | None = None) -> None:
    """Tell of a bulk copy; each of its targets has an mbarrier, if any has. `map_at`: its map in global memory."""
    observers = wave.machine.observers
    one = np.array([copy.warp])
    for place in copy.barriers:
        observers.barrier_used(place, *by_warp(one, np.array([copy.lane])), wave.pc)
    sides = [(copy.source, False, copy.barriers[0] if copy.barriers else None)]
    told = copy.barriers or (None,) * len(copy.targets)
    sides += [(target, True, barrier) for target, barrier in zip(copy.targets, told, strict=True)]
    atomic = copy.update is not None
    touches = tuple(
        _touch(side, copy.known, barrier, writes=writes, atomic=writes and atomic) for side, writes, barrier in sides
    )
    touches = tuple(touch for touch in touches if len(touch.offsets))
    if map_at is not None:
        touches += (_map_touch(map_at, copy.barriers[0] if copy.barriers else None),)
    tell(wave, item_id, copy.group, (one, np.array([copy.lane]), np.array([copy.number])), touches, proxy=ASYNC)


def _map_touch(at: int, barrier: int | None) -> Touch:
    """Return the reading of a tensor map, which is over when the copy is."""
    pieces = at + np.arange(0, SIZE, _PIECE)
    owners, barriers = np.zeros(len(pieces), np.int64), None if barrier is None else np.array([barrier])
    return Touch(
        "global", writes=False, offsets=pieces, size=_PIECE, owners=owners, barriers=barriers, proxy=TENSOR_MAPS
    )


def _touch(side: Elements, known: Mask | None, barrier: int | None, *, writes: bool, atomic: bool) -> Touch:
    step = side.dtype.itemsize
    whole = known is None or side.space == "shared"
    offsets = side.offsets if whole or known is None else side.offsets[known]
    size = max(step, _PIECE)
    pieces = offsets[:: size // step]
    if not whole or (len(pieces) and int(np.bitwise_or.reduce(pieces)) & (size - 1)):
        size = _WORD
        pieces = np.unique(offsets // _WORD) * _WORD
    owners = np.zeros(len(pieces), np.int64)
    barriers = None if barrier is None else np.array([barrier])
    layout = swizzle(side.swizzle, "a tensor copy") if writes and side.swizzle is not None else None
    return Touch(side.space, writes, pieces, size, owners, barriers, atomic, layout=layout)
