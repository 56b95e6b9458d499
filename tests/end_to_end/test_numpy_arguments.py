"""NumPy numbers and arrays are accepted in place of Python's."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32


@pytest.mark.parametrize("grid", [2, np.int64(2), (2,), [2, 1], np.array([2]), np.array([2, 1, 1], np.uint8)])
def test_a_grid_is_integers_or_one_array_of_them(grid: object) -> None:
    @kernel(out_specs=(Tile(2, u32),), grid=grid, block=np.array([1, 1]))
    def number(Y: object) -> None:
        (py,) = ptx.global_ptrs(Y)
        block = reg.from_(ptx.special.ctaid.x(), u32)
        ptx.st(u32, ptx.addr(py + block * 4), block)

    assert number.block == (1, 1, 1)
    np.testing.assert_array_equal(number(), [0, 1])


def test_sizes_of_numpy_name_the_same_text() -> None:
    @kernel(in_specs=(Tile("N", f32),), grid=lambda N: np.array([N]))
    def nothing(X: object) -> None:
        ptx.global_ptrs(X)

    assert nothing.ptx(N=np.int32(4)) == nothing.ptx(N=4)
    nothing(np.zeros(4, np.float32))
