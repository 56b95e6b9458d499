"""Random inputs of racing stores: floats of all kinds and sizes are finite, often equal, and often of one magnitude."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pyptx_ir.syntax import parse
from pyptx_sim.duplicates.draws import COUNT, Draws
from pyptx_sim.program.lowering import lower

from .ptx_text import module

FLOATS = {
    1: (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
    2: (np.float16, ml_dtypes.bfloat16),
    4: (np.float32,),
    8: (np.float64,),
}
NUMBERS = np.random.default_rng(5).integers(0, 1 << 63, (64, 32), np.uint64)
COMPUTES_FLOATS = """
add.f16 %h1, %h2, %h3;
add.f32 %f1, %f2, %f3;
"""
CONSTANTS = """
mov.b32 %r1, -5;
setp.eq.s32 %p1, %r1, 99;
max.s32 %r1, %r1, 77;
selp.b32 %r1, 0f41200000, 0f7F800000, %p1;
shl.b32 %r1, %r1, 13;
"""


def draws(body: str) -> Draws:
    """Return the `Draws` of a kernel."""
    return Draws(lower(parse(module(body))))


DRAWN = draws("")


@pytest.mark.parametrize("size", [2, 4, 8, 16])
@pytest.mark.parametrize("index", range(COUNT))
def test_all_floats_in_a_register_are_finite(size: int, index: int) -> None:
    kind: Any = np.dtype([("lo", "<u8"), ("hi", "<u8")]) if size == 16 else np.dtype(f"<u{size}")
    bits = np.ascontiguousarray(DRAWN(NUMBERS, index, kind)).view(np.uint8)
    for width in (each for each in FLOATS if each <= size):
        for each in FLOATS[width]:
            assert np.isfinite(bits.view(each).astype(np.float64)).all(), each


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_any_numbers_are_equal_in_some_files_and_different_in_others(dtype: Any) -> None:
    files = [DRAWN(NUMBERS, index, np.dtype(f"<u{np.dtype(dtype).itemsize}")).view(dtype) for index in range(COUNT)]
    distinct = [len(np.unique(each)) for each in files]
    assert distinct.count(1) == 2  # all are 1, or all are 0
    assert sum(each > 50 for each in distinct) > COUNT // 2
    for threshold in (0.0, 0.25, 2.0):
        assert any((each > threshold).all() for each in files)
        assert any((each < threshold).all() for each in files if each.any()) == (threshold > 0)


@pytest.mark.parametrize(("before", "constants"), [("", {-5, 77}), (COMPUTES_FLOATS, {77})])
def test_numbers_are_equal_to_constants_that_are_no_nan(before: str, constants: set[int]) -> None:
    drawn = draws(before + CONSTANTS)
    found = {each for index in range(COUNT) for each in drawn(NUMBERS, index, np.dtype("<u4")).view(np.int32).flat}
    assert found & {-5, 77, 99, 13} == constants
    assert 0x41200000 in found
    assert (0x7F800000 in found) == (not before)
