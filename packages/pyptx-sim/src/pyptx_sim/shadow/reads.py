"""Reads and polls (strong reads) of global memory, kept until every later access is ordered after them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.events import MASK, NOBODY, PC, TIME, WARP
from pyptx_sim.shadow.entries import by_warp_and_granule, lanes_differ, rises

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.events import AccessEvent
    from pyptx_sim.happens_before.causality import Causality
    from pyptx_sim.shadow.overflow import Overflow
    from pyptx_sim.shadow.tables import Table


class Reads:
    """Records reads of shadow granules: the last read, an earlier unordered read, and others in an `Overflow`."""

    def __init__(self, causality: Causality) -> None:
        """Record reads that are ordered by `causality`."""
        self._causality = causality

    def enter(self, table: Table, first: Table, more: Overflow, step: AccessEvent) -> None:
        """Record the reads or polls of `step` as the last ones in `table`; keep unordered earlier ones."""
        last = table.touched(step.at, step.reach)
        table.put(step.at, step.entries, step.reach)
        winner = None if rises(step.at) else table.get(step.at)
        if (
            winner is not None
            and (lanes_differ(winner, step.entries) & (winner[:, WARP] == step.entries[:, WARP])).any()
        ):
            step, some = by_warp_and_granule(step)
            table.put(step.at, step.entries, step.reach)
            last, winner = None if last is None else last[some], table.get(step.at)
        if last is not None and self._unite(step, last):
            table.put(step.at, step.entries, step.reach)
        if last is not None:
            self._keep_first(first, more, step, last, winner)
        # `table` keeps one read per granule; reads of the granule by other warps of `step` go to the overflow `more`.
        if winner is not None:
            lost = np.flatnonzero(winner[:, WARP] != step.entries[:, WARP])
            more.add(step.at[lost], step.entries[lost])

    def _mixed(self, step: AccessEvent) -> bool:
        """Return whether a later write can be morally strong with one read of a lane and not with another one."""
        return step.kind == "strong-read" and self._causality.mixed

    def _unite(self, step: AccessEvent, last: NDArray[np.int32]) -> bool:
        """Merge the lanes of `last` reads into reads of `step` by the same warp at the same time, if there are any.

        Returns whether reads of `step` have changed.
        """
        new = step.entries
        same = (last[:, WARP] == new[:, WARP]) & (last[:, TIME] == new[:, TIME])
        if self._mixed(step):
            same &= last[:, PC] == step.pc
        same &= last[:, MASK] & ~new[:, MASK] != 0
        new[same, MASK] |= last[same, MASK]
        return bool(same.any())

    def _keep_first(
        self, table: Table, more: Overflow, step: AccessEvent, last: NDArray[np.int32], winner: NDArray[np.int32] | None
    ) -> None:
        """Keep the `last` reads that do not happen before the reads of `step`, in `table` or in `more`.

        If several warps of `step` read a shadow granule, only the warp whose entry `winner` is in the table of
        last reads is compared.
        """
        new, mixed = step.entries, self._mixed(step)
        other = (last[:, WARP] != new[:, WARP]) | (last[:, MASK] & ~new[:, MASK] != 0)
        if mixed:
            other |= last[:, PC] != step.pc
        other &= last[:, WARP] != NOBODY
        if winner is not None:
            other &= winner[:, WARP] == new[:, WARP]
        at = np.flatnonzero(other)
        if len(at) and not mixed:
            at = at[~self._causality.precede(step, at, last[at])]
        if not len(at):
            return
        first = table.touched(step.at[at], step.reach)
        if first is not None:
            free = first[:, WARP] == NOBODY
            free[~free] = self._causality.precede(step, at[~free], first[~free]) & (not mixed)
            more.add(step.at[at[~free]], last[at[~free]])
            at = at[free]
        if len(at):
            table.put(step.at[at], last[at], step.reach)
