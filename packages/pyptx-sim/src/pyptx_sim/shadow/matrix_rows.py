"""Matrix rows (ldmatrix, stmatrix) in shadow memory: lanes that access a part of a row.

If shadow granules are split after such an access, each part of a row belongs to some of the entry's lanes only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx_sim.events import MASK, PC
from pyptx_sim.shadow.tables import WIDEST_ACCESS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.observer import Offsets, Rows


class MatrixRows:
    """Instructions of a run that access matrix rows, by pc."""

    def __init__(self) -> None:
        """Start without instructions that access matrix rows."""
        self._rows: dict[int, Rows] = {}
        self.next: Rows | None = None
        """Matrix rows that the next accesses read or write; None if they do not access matrix rows."""

    def enter(self, entries: NDArray[np.int32], lanes: Offsets, count: int, pc: int) -> None:
        """Set the lane masks of the next access's shadow entries, `count` per row, to the lanes that access each part.

        `lanes` supply the addresses of the rows; other lanes may access their bytes.
        """
        if self.next is not None:
            entries[:, MASK] = self.next.masks(lanes, count)
            self._rows[pc] = self.next

    def narrowed(self, entries: NDArray[np.int32], at: NDArray[Any], granule: int) -> NDArray[np.int32]:
        """Return the shadow entries of the shadow granules `at` with only those lanes that accessed the granule."""
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
