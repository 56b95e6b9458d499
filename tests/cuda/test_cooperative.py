"""Grids that synchronize with `cooperative_groups`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import run
from pyptx_sim.errors import KernelTrap

from .compiler import ptx_of

SOURCE = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void shift(int *x, int rounds) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank(), n = grid.size();
    for (int k = 0; k < rounds; ++k) {
        int next = x[(i + 33) % n] + 1;
        grid.sync();
        x[i] = next;
        if (LAST_SYNC || k + 1 < rounds) grid.sync();
    }
    x[n + i] = x[(i + 77) % n];
}
"""


def shifted(last_sync: int, **options: Any) -> tuple[Any, Any, Any]:
    """Run the cooperative kernel; return its output array, the expected contents, and the simulator's result."""
    threads = 24 * 64
    x = np.arange(2 * threads, dtype=np.int32)
    ptx = ptx_of(SOURCE, f"-DLAST_SYNC={last_sync}")
    result = run(ptx, grid=(12, 2), block=(32, 2), args=[x, 3], **options)
    expected = np.roll(np.arange(threads), -99) + 3
    return x, np.concatenate([expected, np.roll(expected, -77)]), result


@pytest.mark.parametrize("schedule", [{}, {"seed": 1}, {"seed": 2}, {"seed": 3}, {"delay_async": True}])
def test_a_grid_synchronizes(schedule: dict[str, Any]) -> None:
    x, expected, result = shifted(1, cooperative=True, **schedule)
    assert (x == expected).all()
    assert result.findings == ()


def test_a_missing_synchronization_of_the_grid_is_found() -> None:
    *_, result = shifted(0, cooperative=True)
    assert "global-race" in {finding.rule for finding in result.findings}


def test_a_plain_launch_traps_as_on_a_device() -> None:
    with pytest.raises(KernelTrap):
        shifted(1)
