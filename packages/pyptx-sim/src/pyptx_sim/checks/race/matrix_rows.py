"""Rows of matrices in the shadow: which lanes accessed a part of a row, when granules have become narrower since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx_sim.checks.race.tables import MASK, PC, WIDEST_ACCESS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.observer import Offsets, Rows


class MatrixRows:
    """The instructions of a run that access rows of matrices."""

    def __init__(self) -> None:
        """Begin without any."""
        self._rows: dict[int, Rows] = {}
        self.next: Rows | None = None
        """Those of the next access, if it is to rows of a matrix."""

    def enter(self, entries: NDArray[np.int32], lanes: Offsets, count: int, pc: int) -> None:
        """Name the lanes of `entries` of the next access at `pc`, `count` of each row whose address `lanes` give."""
        if self.next is not None:
            entries[:, MASK] = self.next.masks(lanes, count)
            self._rows[pc] = self.next

    def narrowed(self, entries: NDArray[np.int32], at: NDArray[Any], granule: int) -> NDArray[np.int32]:
        """Return the shadow's entries of the granules `at` with only those lanes that accessed the granule."""
        if not self._rows or granule == WIDEST_ACCESS:
            return entries
        masks, count = entries[:, MASK], WIDEST_ACCESS // granule
        of_rows = (masks & (masks - 1) != 0) & np.isin(entries[:, PC], list(self._rows))
        if of_rows.any():
            entries = entries.copy()
            for number in np.flatnonzero(of_rows).tolist():
                rows, part = self._rows[int(entries[number, PC])], int(at[number]) % count
                entries[number, MASK] = rows.narrowed(int(masks[number]), part, count)
        return entries
