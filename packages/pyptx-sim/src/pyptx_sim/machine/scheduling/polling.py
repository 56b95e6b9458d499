"""Polling warp splits: suspended (parked) after a loop iteration without a change, until memory changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.machine.lanes import WARP
from pyptx_sim.machine.scheduling.warp_splits import AWAKE, UNNOTED
from pyptx_sim.types import bits_dtype

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.scheduling.code import Group, PollingLoop
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array
    from pyptx_sim.program.scopes import RegisterBinding

_BOOL = np.dtype(np.bool_)


class Polling:
    """Per-lane state at the start of a polling loop iteration: `Wave.version` and registers carried between iterations.

    These two determine the whole iteration. A lane is in one loop at a time, so one record per lane is enough. Records
    stay valid when warp splits divide and merge. Nothing is recorded if no other split is ready, since parking
    (suspending) a split then saves nothing.
    """

    __slots__ = ("_began", "_registers", "_wave")

    def __init__(self, wave: Wave) -> None:
        """Start with no lane in a polling loop."""
        self._wave = wave
        self._began: IntArray = np.full((wave.height, WARP), -1, np.int64)
        self._registers: dict[int, Array] = {}

    def begin(self, loop: PollingLoop, group: Group) -> None:
        """Record that the warp splits of `group` start an iteration of `loop`."""
        wave, splits, ids = self._wave, self._wave.splits, group.ids
        splits.parked[ids] = UNNOTED if group.whole else AWAKE
        if group.whole:
            return
        warps, masks = splits.warp[ids], splits.mask[ids]
        self._began[warps] = np.where(masks, wave.version, self._began[warps])
        for register in loop.carried:
            value = self._value(register, warps)
            known = self._registers.get(register.slot)
            if known is None:
                known = self._registers[register.slot] = np.zeros((wave.height, WARP), value.dtype)
            known[warps] = np.where(masks, value, known[warps])

    def end(self, loop: PollingLoop, group: Group) -> None:
        """Park the warp splits of `group` that are back at the entry of `loop` after an iteration without a change."""
        if group.whole:
            return
        wave, splits, ids = self._wave, self._wave.splits, group.ids
        ids = ids[(splits.block[ids] == loop.entry) & (splits.parked[ids] == AWAKE)]
        warps, masks = splits.warp[ids], splits.mask[ids]
        same = self._began[warps] == wave.version
        for register in loop.carried:
            same &= self._registers[register.slot][warps] == self._value(register, warps)
        unchanged = (same | ~masks).all(axis=1)
        if loop.together:
            unchanged &= (masks == wave.live[warps]).all(axis=1)
        splits.parked[ids[unchanged]] = wave.version

    def _value(self, register: RegisterBinding, warps: IntArray) -> Array:
        """Return the bits of a register in `warps`; zeros for a register never written."""
        dtype = bits_dtype(register.width) if register.width else _BOOL
        value = self._wave.registers[register.slot]
        if value is None:
            return np.zeros((1, 1), dtype)
        bits = value.view(dtype)
        return bits if bits.shape[0] == 1 else bits[warps]
