"""Register distribution of wgmma accumulators, which the simulator keeps as matrices."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.extension import WARP, WARPGROUP
from pyptx_sim.extension.deferred import Distribution
from pyptx_sim.numerics.elements import elements_of

if TYPE_CHECKING:
    from pyptx_ir.fragments import Fragment

_THREADS = WARPGROUP * WARP
_ROWS = 64


@lru_cache(maxsize=64)
def distribution(fragment: Fragment, columns: int) -> Distribution:
    """Return the distribution of a matrix `[64, columns]` over the registers of a warpgroup.

    If the layout has more columns, only its first registers are used.
    """
    rows, places = np.divmod(elements_of(fragment), fragment.columns)
    kept = _ROWS * columns // _THREADS // fragment.packed
    return Distribution((rows * columns + places)[:kept], _ROWS * columns, fragment.bits)
