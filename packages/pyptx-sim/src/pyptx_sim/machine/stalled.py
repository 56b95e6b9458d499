"""Warp splits (lanes of a warp at one instruction) that wait for a condition of an extension."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.wave import KeyOwner, Wave
    from pyptx_sim.operation import Mask

__all__ = ["Stalled"]


class Stalled:
    """Warp splits of a wave that wait for one condition (`Stall`): split i is lanes `masks[i]` of warp `warps[i]`.

    A warp whose lanes have diverged may have several entries.
    """

    __slots__ = ("_ids", "_wave")

    def __init__(self, wave: Wave, ids: IntArray) -> None:
        """Refer to the warp splits `ids` of `wave`."""
        self._wave = wave
        self._ids = ids

    def __len__(self) -> int:
        """Return the number of warp splits."""
        return len(self._ids)

    @property
    def warps(self) -> IntArray:
        """Warp of each warp split, by its number in the wave."""
        return self._wave.splits.warp[self._ids]

    @property
    def masks(self) -> Mask:
        """Lanes of each warp split, bool `[splits, 32]`."""
        return self._wave.splits.mask[self._ids]

    def chosen(self, which: Mask) -> Stalled:
        """Return the warp splits that the mask `which` selects."""
        return Stalled(self._wave, self._ids[which])

    def of_lanes(self, masks: Mask) -> Stalled:
        """Return warp splits with only the lanes `masks`; the other lanes continue to wait in separate splits."""
        return Stalled(self._wave, self._wave.splits.taken_out(self._ids, masks))

    def resume(self) -> None:
        """Make these warp splits ready to run again."""
        self._wave.resume(self._ids)

    def acquire(self, owner: KeyOwner, key: Hashable = None, phase: int = 0) -> None:
        """Acquire, in all these lanes, the clocks that `ExecutionContext.release` released with equal arguments."""
        wave, splits = self._wave, self._wave.splits
        if wave.machine.observers.active and len(self._ids):
            pc = int(splits.site[self._ids[0]])
            place = wave.place(owner, key)
            lanes = splits.lanes(self._ids)
            wave.machine.observers.acquire(place, phase, *lanes, pc, scope="cluster", acquires=True)
