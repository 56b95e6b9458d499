"""Warpgroups that execute an instruction, four warps each. Manual: "Warpgroup"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx_sim.machine.lanes import WARP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.instructions.turns.lanes import ActiveLanes, Integers

__all__ = ["Warpgroups"]


class Warpgroups:
    """Warpgroups that execute an instruction: `numbers`, `warps`, `[warpgroups, 4]`, `ctas`, as indices in the wave."""

    __slots__ = ("_positions", "_rows", "ctas", "numbers", "warps")

    def __init__(self, turn: ActiveLanes) -> None:
        """Find the warpgroups that have active lanes in the execution context `turn`."""
        known, rows = turn.wave.geometry.warpgroups, turn.rows
        self.numbers: Integers = np.unique(known.of[turn.warps])
        self.warps: Integers = known.warps[self.numbers]
        self.ctas: Integers = known.cta[self.numbers]
        self._rows = len(rows)
        self._positions: Integers = np.searchsorted(rows, self.warps)

    def __len__(self) -> int:
        """Return the number of warpgroups."""
        return len(self.numbers)

    def leaders(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the value of each warpgroup's first thread, from an array `[rows, 32]`."""
        first: NDArray[Any] = values[self._positions[:, 0], 0]
        return first

    def threads(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return, from an array `[rows, 32]`, the values of all threads of each warpgroup, `[warpgroups, 128]`."""
        return values[self._positions.reshape(-1)].reshape(len(self), -1)

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of warpgroups, `[warpgroups, 128]`, as `[rows, 32]`, with zeros in other lanes."""
        rows = np.zeros((self._rows, WARP), values.dtype)
        rows[self._positions.reshape(-1)] = values.reshape(-1, WARP)
        return rows
