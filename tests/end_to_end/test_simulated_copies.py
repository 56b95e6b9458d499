"""A DSL kernel that copies tiles by TMA, with tensor maps passed by value and by pointer."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.specs import Layout
from pyptx.types import f32, u32

ROWS, COLUMNS = 16, 32


def copying(slots: Literal["value", "pointer"]) -> Any:
    """Return the kernel y = x, in tiles of 16 x 32 that are swizzled in shared memory."""
    tile = Tile(2 * ROWS, 2 * COLUMNS, f32, Layout.TMA_128B, tma_box=(ROWS, COLUMNS))

    @kernel(
        in_specs=(tile,),
        out_specs=(tile,),
        grid=(2, 2),
        block=(32, 1, 1),
        arch="sm_90a",
        tma_slots=slots,
    )
    def copy(X: Any, Y: Any) -> None:
        slot, full = smem.alloc(f32, (ROWS, COLUMNS), align=1024), smem.mbarrier(1)
        column = reg.from_(ptx.special.ctaid.x(), u32) * COLUMNS
        row = reg.from_(ptx.special.ctaid.y(), u32) * ROWS
        with ptx.if_(reg.from_(ptx.special.tid.x(), u32) == 0):
            ptx.mbarrier.init(full[0], 1)
            ptx.fence.mbarrier_init()
            ptx.mbarrier.arrive_expect_tx(full[0], ROWS * COLUMNS * 4)
            ptx.cp.async_.bulk.tensor_2d(dst=slot, src=X, coord=(column, row), mbar=full[0])
            ptx.mbarrier.wait(full[0], 0)
            ptx.cp.async_.bulk.tensor_2d.store(dst=Y, src=slot, coord=(column, row))
            ptx.cp.async_.bulk.commit_group()
            ptx.cp.async_.bulk.wait_group(0)
        ptx.ret()

    return copy


@pytest.mark.parametrize("slots", ["value", "pointer"])
@pytest.mark.parametrize("schedule", [{}, {"seed": 1}, {"delay_async": True}])
def test_tiles_come_and_go_by_tma(slots: Literal["value", "pointer"], schedule: dict[str, Any]) -> None:
    x = np.random.default_rng(0).standard_normal((2 * ROWS, 2 * COLUMNS)).astype(np.float32)
    result = copying(slots).simulate(x, **schedule)
    assert [str(finding) for finding in result.findings] == []
    assert (result.outputs[0] == x).all()
