"""An access of all lanes makes the same shadow memory entries as an access of the same lanes, listed singly."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx_sim.events import MASK, PC, TIME, WARP
from pyptx_sim.happens_before.clocks import WarpClocks
from pyptx_sim.happens_before.lane_masks import of_all_lanes, of_all_warps
from pyptx_sim.machine.lanes import every_lane
from pyptx_sim.shadow.entries import entries_of

WARPS = 5
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("height", [1, WARPS])
def test_entries_of_all_lanes_are_those_of_each(height: int, count: int) -> None:
    now = RNG.integers(1, 1 << 30, WARPS).astype(np.int32)
    warps, lanes = every_lane(height)
    assert of_all_warps(warps)
    assert of_all_lanes(lanes)
    one_by_one = warps.copy(), lanes.copy()
    assert not of_all_warps(one_by_one[0])
    assert not of_all_lanes(one_by_one[1])
    found = entries_of(warps, lanes, 7, now, 123_456, count)
    assert (found == entries_of(*one_by_one, 7, now, 123_456, count)).all()
    assert (found[::count, WARP] == warps + 7).all()
    assert (found[::count, MASK].view(np.uint32) == np.uint32(1) << lanes.astype(np.uint32)).all()
    assert (found[::count, TIME] == now[warps]).all()
    assert (found[:, PC] == 123_456).all()


def test_times_are_held_against_what_is_settled_row_by_row_or_at_once() -> None:
    clocks = WarpClocks(np.ones((WARPS, 32), np.bool_))
    clocks.settled[:] = RNG.integers(0, 5, WARPS)
    rows, _ = every_lane(WARPS)
    times = RNG.integers(0, 6, len(rows)).astype(np.int32)
    late = clocks.unsettled(times, rows)
    assert (late == (times > clocks.settled[rows])).all()
    assert (late == clocks.unsettled(times, rows.copy())).all()
    assert late.any()
    assert not late.all()
