"""Warp splits: groups of lanes of one warp at the same instruction.

A warp starts as one split. A divergent branch divides it; splits of a warp that reach the same basic block with the
same call frame merge again. All splits of a wave are stored in parallel arrays. Dividing, merging and choosing splits
therefore take a few array operations for the whole wave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.machine.lanes import WARP, united

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.operation import Array, Mask


class State:
    """Execution states of a warp split, the numbers in `WarpSplits.state`.

    They are no Enum: NumPy asks operands for attributes such as `__array_ufunc__`, and drops the errors of the Python
    code that an Enum runs then, an interrupt included.
    """

    READY: Final = 0
    BARRIER: Final = 1  # the warp split waits at a CTA barrier
    GATE: Final = 2  # the warp split waits for other lanes of its warp (`Gate`)
    DEAD: Final = 3  # the warp split has exited, or was merged into another split
    MBARRIER: Final = 4  # the warp split is suspended in an mbarrier wait, which may return false
    WARPGROUP: Final = 5  # the warp split waits for the other warps of its warpgroup
    STALLED: Final = 6  # the warp split waits for a condition of an extension; its `key` identifies the condition


_FIELDS = ("warp", "block", "mask", "state", "frame", "key", "site", "value", "last_run", "parked")

# `key` of a warp split that may pass its `Gate` although lanes of its membermask are missing.
PASS = -2
# Values of `parked`: the warp split does not poll or has not finished an iteration; its iteration was not recorded.
AWAKE = -1
UNNOTED = -2


class WarpSplits:
    """All splits of a wave, as parallel arrays.

    `warp`: the split's warp. `block`: the basic block to execute next. `mask`: the lanes. `state`: a `State`. `frame`:
    number of the innermost call frame. `key`: number of the barrier, mbarrier or condition that the split waits for.
    `site`: pc at which it waits. `value`: the lanes' predicate at a reducing barrier. `last_run`: the scheduler step of
    its last execution. `parked`: `Wave.version` when a polling iteration ended without a change.
    """

    __slots__ = (*_FIELDS, "diverged")

    def __init__(self, mask: Mask, block: int) -> None:
        """Create one split per row (warp) of `mask`, at basic block `block`; warps without lanes are dead."""
        count = len(mask)
        self.warp: IntArray = np.arange(count, dtype=np.int64)
        self.block: IntArray = np.full(count, block, np.int64)
        self.mask: Mask = mask.copy()
        self.state: Array = np.where(mask.any(1), State.READY, State.DEAD).astype(np.int8)
        self.frame: IntArray = np.zeros(count, np.int64)
        self.key: IntArray = np.full(count, -1, np.int64)
        self.site: IntArray = np.full(count, -1, np.int64)
        self.value: Mask = np.zeros((count, WARP), np.bool_)
        self.last_run: IntArray = np.zeros(count, np.int64)
        self.parked: IntArray = np.full(count, AWAKE, np.int64)
        self.diverged = False

    def ready(self) -> IntArray:
        """Return the splits that can run."""
        return np.flatnonzero(self.state == State.READY)

    def alive(self) -> IntArray:
        """Return the splits that have not exited."""
        return np.flatnonzero(self.state != State.DEAD)

    def lanes(self, ids: IntArray) -> tuple[IntArray, Mask]:
        """Return the distinct warps of splits `ids`, with the lanes of each."""
        return united(self.warp[ids], self.mask[ids])

    def taken_out(self, ids: IntArray, masks: Mask) -> IntArray:
        """Return splits of exactly the lanes `masks` of splits `ids`; divide splits that have other lanes as well."""
        parts = (self.mask[ids] & ~masks).any(axis=1)
        whole: IntArray = ids[~parts]
        if not parts.any():
            return whole
        return np.concatenate([whole, self.divide(ids[parts], masks[parts], self.block[ids[parts]])])

    def divide(self, ids: IntArray, masks: Mask, block: int | IntArray) -> IntArray:
        """Move the lanes `masks` of splits `ids` into new splits at `block`; each of `ids` must keep some lanes."""
        added = {name: getattr(self, name)[ids] for name in _FIELDS}
        added["mask"] = masks
        added["block"] = np.full(len(ids), block, np.int64)
        self.mask[ids] &= ~masks
        for name in _FIELDS:
            setattr(self, name, np.concatenate([getattr(self, name), added[name]]))
        self.diverged = True
        return np.arange(len(self.warp) - len(ids), len(self.warp), dtype=np.int64)

    def end(self, ids: IntArray) -> None:
        """Mark splits `ids` as exited."""
        self.state[ids] = State.DEAD

    def merge(self) -> None:
        """Merge splits of one warp with the same basic block, call frame and state (ready, or waiting at a `Gate`).

        A split that may pass its gate (`PASS`) does not merge with splits that arrive later. Dead splits are removed.
        Afterwards, splits are in order of warps.
        """
        candidates = self.alive()
        alike = (self.key == PASS, self.frame, self.block, self.state, self.warp)
        ids = candidates[np.lexsort(tuple(each[candidates] for each in alike))]
        if len(ids) < 2:
            self._keep(ids)
            return
        same = np.zeros(len(ids), np.bool_)
        states = self.state[ids[1:]]
        same[1:] = (states == State.READY) | (states == State.GATE)
        for each in alike:
            values = each[ids]
            same[1:] &= values[1:] == values[:-1]
        if same.any():
            starts = np.flatnonzero(~same)
            self.mask[ids[starts]] = np.logical_or.reduceat(self.mask[ids], starts, axis=0)
            for oldest in (self.last_run, self.parked):
                oldest[ids[starts]] = np.minimum.reduceat(oldest[ids], starts)
            ids = ids[starts]
        self._keep(ids)

    def _keep(self, ids: IntArray) -> None:
        """Remove all warp splits except `ids`, which are in order of their warps."""
        if len(ids) == len(self.warp) and bool((ids[1:] > ids[:-1]).all()):
            return  # `ids` are all warp splits in their present order: nothing to remove
        for name in _FIELDS:
            setattr(self, name, getattr(self, name)[ids])
        self.diverged = bool((self.warp[1:] == self.warp[:-1]).any())
