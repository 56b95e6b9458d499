"""The warp splits that wait for what an extension brought."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.wave import KeyOwner, Wave
    from pyptx_sim.operation import Mask

__all__ = ["Stalled"]


class Stalled:
    """Some warp splits of a wave that wait for the same: number i is lanes `masks[i]` of `warps[i]`.

    A warp whose lanes have diverged may be there several times.
    """

    __slots__ = ("_ids", "_wave")

    def __init__(self, wave: Wave, ids: IntArray) -> None:
        """Take splits by their numbers."""
        self._wave = wave
        self._ids = ids

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._ids)

    @property
    def warps(self) -> IntArray:
        """The warp of each, by its number in the wave."""
        return self._wave.splits.warp[self._ids]

    @property
    def masks(self) -> Mask:
        """The lanes of each, bool `[len, 32]`."""
        return self._wave.splits.mask[self._ids]

    def chosen(self, which: Mask) -> Stalled:
        """Return some of them."""
        return Stalled(self._wave, self._ids[which])

    def of_lanes(self, masks: Mask) -> Stalled:
        """Return splits of some lanes of each; the other lanes wait on, in splits of their own."""
        return Stalled(self._wave, self._wave.splits.taken_out(self._ids, masks))

    def resume(self) -> None:
        """Let them go on."""
        self._wave.resume(self._ids)

    def acquire(self, owner: KeyOwner, key: Hashable = None, phase: int = 0) -> None:
        """Let them know what was left at an owner's `key` in a phase (`Turn.release`)."""
        wave, splits = self._wave, self._wave.splits
        if wave.machine.observers.active and len(self._ids):
            pc = int(splits.site[self._ids[0]])
            place = wave.place(owner, key)
            lanes = splits.lanes(self._ids)
            wave.machine.observers.acquire(place, phase, *lanes, pc, scope="cluster", acquires=True)
