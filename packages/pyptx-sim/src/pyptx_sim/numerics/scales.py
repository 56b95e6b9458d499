"""Scale factors of block scaling: powers of two, and unsigned 8-bit floats.

Manual: "Alternate Floating-Point Data Formats".
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.numerics.minifloats import E4M3, decode

if TYPE_CHECKING:
    from pyptx_sim.operation import Array

_BIAS = 127  # exponent bias of ue8m0
_NAN_CODE = 0xFF


@cache
def _table(element: str) -> Array:
    codes = np.arange(256)
    if element == "ue8m0":
        return np.where(codes == _NAN_CODE, np.nan, np.ldexp(1.0, codes - _BIAS))
    values = decode((codes & 0x7F).astype(np.uint8), E4M3).view(np.float16)  # ue4m3: bit 7 is unused
    return values.astype(np.float64)


def scales(codes: Array, element: str) -> Array:
    """Return the float64 values of uint8 `codes` in the format `element`, `ue8m0` or `ue4m3`."""
    return np.asarray(_table(element)[codes])
