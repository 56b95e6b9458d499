"""The warps of earlier waves: the columns of clocks in which it is kept what is known of their work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import NDArray

    from pyptx_sim.checks.race.clocks import Known, WarpClocks
    from pyptx_sim.observer import Offsets

# With more, it is only kept up to which wave everything is known, which can hide a race, and invents none.
MOST: Final = 1 << 13
WHOLE: Final = -1  # in place of a lane: the warp


class Retired:
    """Columns for warps that are gone, and for lanes of theirs, as far as messages tell of them."""

    def __init__(self, clocks: WarpClocks) -> None:
        """Begin without any; the first column says below which warp everything is known."""
        self._clocks = clocks
        self._below = clocks.columns(1)
        self._columns: dict[tuple[int, int], int] = {}

    def kept(self, known: Known, first: int, columns: Iterable[tuple[int, int, int]]) -> Known:
        """Return what is known as it is kept when a wave ends, whose warps are numbered from `first` on.

        `columns` are those of its warps and lanes: the warp in the wave, the lane or `WHOLE`, and the column.
        """
        told = [(first + warp, lane, int(known[at])) for warp, lane, at in columns if at < len(known) and known[at]]
        much = len(self._columns) + len(told) > MOST
        for warp, lane, _ in told if not much else ():
            if (warp, lane) not in self._columns:
                self._columns[warp, lane] = self._clocks.columns(1)
        kept = np.zeros(self._clocks.known.shape[1], np.int32)
        old = np.array([self._below, *self._columns.values()], np.int64)
        old = old[old < len(known)]
        kept[old] = known[old]
        if much:
            kept[self._below] = max((warp + 1 for warp, _, _ in told), default=int(kept[self._below]))
            return kept
        for warp, lane, time in told:
            kept[self._columns[warp, lane]] = time
        return kept

    def hold(self, rows: Offsets, warps: Offsets, lanes: NDArray[Any], times: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell for each entry whether a row of the clocks knows what a lane of a warp that is gone did at a time."""
        known = self._clocks.known
        held: NDArray[np.bool_] = known[rows, self._below] > warps
        if not self._columns:
            return held
        for entry in np.flatnonzero(~held).tolist():
            places = (self._columns.get((int(warps[entry]), which)) for which in (WHOLE, int(lanes[entry])))
            held[entry] = any(at is not None and known[rows[entry], at] >= times[entry] for at in places)
        return held
