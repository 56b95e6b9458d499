"""Values that one instruction is about to store, for race checks: overlapping writes of equal values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.machine.lanes import WARP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.memory.arena import Arena
    from pyptx_sim.operation import Array, Mask


@dataclass(frozen=True, slots=True)
class PendingStores:
    """Writes of the elements `values` to the byte array `arena` at `offsets`.

    Lane `lanes[i]` of warp `warps[i]` performs write i. With `height`, the writes are those of all lanes of
    `height` warps.
    """

    arena: Arena
    offsets: IntArray
    values: Sequence[Array]
    height: int | None
    warps: IntArray
    lanes: IntArray

    def unchanged(self, some: IntArray) -> Mask:
        """Return, for each of the writes `some`, whether it stores the bytes that memory already has."""
        wanted = self.bytes_of(some)
        there = self.arena.data[self.offsets[some, None] + np.arange(wanted.shape[1])]
        same: Mask = (there == wanted).all(axis=1)
        return same

    def bytes_of(self, some: IntArray) -> NDArray[np.uint8]:
        """Return the bytes that the writes `some` store, `[writes, bytes]`."""
        shape = (len(self.offsets),) if self.height is None else (self.height, WARP)
        parts = (np.broadcast_to(value, shape).reshape(-1)[some] for value in self.values)
        return np.concatenate([np.ascontiguousarray(part).reshape(-1, 1).view(np.uint8) for part in parts], axis=1)

    def single(self, which: IntArray, at: IntArray, width: int) -> PendingStores:
        """Return writes of `width` bytes each: the bytes of write `which[i]` from its byte `at[i]` on."""
        written = self.bytes_of(which)[np.arange(len(which))[:, None], at[:, None] + np.arange(width)]
        values, (warps, lanes) = [written.view(f"u{width}")[:, 0]], self.addressed_by(which)
        return PendingStores(self.arena, self.offsets[which] + at, values, None, warps, lanes)

    def addressed_by(self, some: IntArray) -> tuple[IntArray, IntArray]:
        """Return the warps and the lanes that provide the addresses of the writes `some`."""
        return self.warps[some], self.lanes[some]
