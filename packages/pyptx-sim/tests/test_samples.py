"""Random inputs of racing stores: every float that a register may hold is finite, of all kinds and sizes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pyptx_sim.duplicates.samples import _drawn  # no run shows which inputs were drawn

FLOATS = {
    1: (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
    2: (np.float16, ml_dtypes.bfloat16),
    4: (np.float32,),
    8: (np.float64,),
}
NUMBERS = np.random.default_rng(5).integers(0, 1 << 63, (64, 32), np.uint64)


@pytest.mark.parametrize("size", [2, 4, 8, 16])
@pytest.mark.parametrize("index", range(32))
def test_all_floats_in_a_register_are_finite(size: int, index: int) -> None:
    kind: Any = np.dtype([("lo", "<u8"), ("hi", "<u8")]) if size == 16 else np.dtype(f"<u{size}")
    drawn = np.ascontiguousarray(_drawn(NUMBERS, index, kind)).view(np.uint8)
    assert len(np.unique(drawn.reshape(-1, size), axis=0)) > 3
    for width in (each for each in FLOATS if each <= size):
        for each in FLOATS[width]:
            assert np.isfinite(drawn.view(each).astype(np.float64)).all(), each
