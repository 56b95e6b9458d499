"""Memory accesses of bulk and tensor copies, for the race checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_arch_hopper.sim.fences import TENSOR_MAPS
from pyptx_arch_hopper.sim.layouts import swizzle
from pyptx_arch_hopper.sim.tma.map_fields import SIZE
from pyptx_sim.extension import AsyncAccess

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_arch_hopper.sim.tma.bulk import Elements, IssuedCopy
    from pyptx_sim.extension import IntArray, Mask

_WORD = 4  # bytes: race checks record accesses in units of 32-bit words


def touches(copy: IssuedCopy, map_at: int | None = None) -> Sequence[AsyncAccess]:
    """Return the memory accesses of a bulk copy, each write with its target's mbarrier, if any.

    `map_at` is the offset of the copy's tensor map if the map is in global memory. The copy's reads complete with the
    first mbarrier's complete-tx.
    """
    transfer = copy.transfer
    if transfer is None:
        return ()
    first = copy.barriers[0] if copy.barriers else None
    told = copy.barriers or (None,) * len(transfer.targets)
    found = [_touch(transfer.source, transfer.known, first, writes=False, atomic=False)]
    for target, barrier in zip(transfer.targets, told, strict=True):
        found.append(_touch(target, transfer.known, barrier, writes=True, atomic=transfer.update is not None))
    found = [touch for touch in found if len(touch.offsets)]
    return found if map_at is None else [*found, _map_touch(map_at, first)]


def _map_touch(at: int, barrier: int | None) -> AsyncAccess:
    """Return the read of a tensor map, which completes with the copy."""
    barriers = None if barrier is None else np.array([barrier])
    owners = np.zeros(1, np.int64)
    return AsyncAccess(
        "global", writes=False, offsets=np.array([at]), size=SIZE, owners=owners, barriers=barriers, proxy=TENSOR_MAPS
    )


def _touch(side: Elements, known: Mask | None, barrier: int | None, *, writes: bool, atomic: bool) -> AsyncAccess:
    pieces, size = _pieces(side, None if side.space == "shared" else known)
    owners = np.zeros(len(pieces), np.int64)
    barriers = None if barrier is None else np.array([barrier])
    layout = None
    if writes and side.swizzle is not None:
        layout = swizzle(side.swizzle, "cp.async.bulk.tensor", side.start)
    return AsyncAccess(side.space, writes, pieces, size, owners, barriers, atomic, layout=layout)


def _pieces(side: Elements, known: Mask | None) -> tuple[IntArray, int]:
    """Return the offsets of equally long byte runs that cover the `known` elements, and the length of a run."""
    step, together = side.dtype.itemsize, side.together
    rows = None if known is None else known.reshape(-1, together)
    if rows is None or (rows == rows[:, :1]).all():  # each byte run of the TMA box is all in bounds or all out
        index = side.index.reshape(-1, together)
        pieces = (index if rows is None else index[rows[:, 0]]).min(axis=1) * step
        size = together * step
        if not len(pieces) or (int(np.bitwise_or.reduce(pieces)) | size) % _WORD == 0:
            return pieces, size
    offsets = side.offsets if known is None else side.offsets[known]
    if step >= _WORD:
        return offsets, step
    return np.unique(offsets // _WORD) * _WORD, _WORD
