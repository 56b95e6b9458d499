"""Epilogues that reuse one staging buffer in shared memory for TMA stores of consecutive tiles.

All threads of a CTA write parts of a tile with stmatrix, one thread issues the TMA store, and all threads continue with
the next tile. Before the buffer is overwritten, one thread waits until TMA has read it, then all threads execute
bar.sync. Manual: "cp.async.bulk.wait_group", "Async proxy".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx_ir.plugins.rows import TensorMap
from pyptx_sim import WithDescriptor, explore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim import Exploration

pytestmark = pytest.mark.hopper

CLUSTERS, BLOCKS, TILES = 2, 2, 2  # each CTA of a cluster computes two consecutive tiles
ROWS, COLUMNS = 64, 16
WAIT = "@%p0 cp.async.bulk.wait_group.read 0;\n"
MEET = "bar.sync 0;\n"
FENCE = "fence.proxy.async.shared::cta;\n"


def kernel(before: str, fence: str = FENCE) -> str:
    """Return the kernel with the instructions `before` before the stmatrix writes, and `fence` before the TMA store."""
    return f"""\
.version 8.5
.target sm_90a
.address_size 64
.visible .entry epilogue(.param .align 64 .b8 map[128])
{{
.reg .pred %p<3>;
.reg .b32 %r<24>;
.reg .b64 %rd<3>;
.shared .align 1024 .b8 staged[{ROWS * COLUMNS * 2}];
mov.b64 %rd1, map;
cvta.param.u64 %rd1, %rd1;
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
and.b32 %r3, %r1, 31;
shr.u32 %r4, %r1, 5;
setp.eq.u32 %p0, %r1, 0;
// %r7: address of the lane's 8-element row; 8 x 8 matrices 0 and 1 are rows 0-15, columns 0-7; 2 and 3 columns 8-15
and.b32 %r5, %r3, 15;
mad.lo.u32 %r5, %r4, 16, %r5;
shr.u32 %r6, %r3, 4;
mov.u32 %r7, staged;
mad.lo.u32 %r7, %r5, {2 * COLUMNS}, %r7;
mad.lo.u32 %r7, %r6, 16, %r7;
// %r8: index in the tile of the lane's first element
shr.u32 %r8, %r3, 2;
mad.lo.u32 %r8, %r4, 16, %r8;
and.b32 %r9, %r3, 3;
shl.b32 %r9, %r9, 1;
mad.lo.u32 %r8, %r8, {COLUMNS}, %r9;
mov.u32 %r10, 0;
NEXT:
mad.lo.u32 %r11, %r10, {CLUSTERS * BLOCKS}, %r2;
mad.lo.u32 %r12, %r11, {ROWS * COLUMNS}, %r8;
mad.lo.u32 %r13, %r12, 65537, 65536;
add.u32 %r14, %r13, {8 * COLUMNS * 65537};
add.u32 %r15, %r13, {8 * 65537};
add.u32 %r16, %r14, {8 * 65537};
{before}stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r7], {{%r13, %r14, %r15, %r16}};
{fence}bar.sync 0;
mul.lo.u32 %r17, %r11, {ROWS};
mov.u32 %r18, 0;
mov.u32 %r19, staged;
@%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {{%r18, %r17}}], [%r19];
@%p0 cp.async.bulk.commit_group;
add.u32 %r10, %r10, 1;
setp.lt.u32 %p1, %r10, {TILES};
@%p1 bra NEXT;
@%p0 cp.async.bulk.wait_group 0;
ret;
}}
"""


def explored(text: str) -> tuple[Exploration, NDArray[np.uint16]]:
    out = np.zeros((TILES * CLUSTERS * BLOCKS * ROWS, COLUMNS), np.uint16)
    described = TensorMap("u16", out.shape, out.strides, (ROWS, COLUMNS), (1, 1))
    found = explore(
        text, grid=CLUSTERS * BLOCKS, block=128, cluster=BLOCKS, args=[WithDescriptor(out, described)], seeds=range(10)
    )
    return found, out


@pytest.mark.long
def test_who_writes_again_behind_a_wait_and_a_barrier_is_right_and_clean() -> None:
    found, out = explored(kernel(WAIT + MEET))
    assert found.clean, str(found)
    np.testing.assert_array_equal(out.ravel(), np.arange(out.size))


@pytest.mark.parametrize("before", [WAIT, MEET, ""], ids=["a wait, no barrier", "a barrier, no wait", "neither"])
@pytest.mark.long
def test_who_writes_what_tma_may_still_read_is_found_under_every_schedule(before: str) -> None:
    text = kernel(before)
    found, _ = explored(text)
    early = [shown for shown in found.findings if shown.finding.rule == "early-reuse"]
    assert {schedule for shown in early for schedule in shown.schedules} == set(found.results)
    lines = text.splitlines()
    for shown in early:
        assert lines[(shown.finding.line or 0) - 1].startswith("stmatrix")
        assert "cp.async.bulk.tensor" in lines[(shown.finding.other_line or 0) - 1]
        assert "before the asynchronous operation that reads it completes" in shown.finding.message
    assert {shown.finding.rule for shown in found.findings} <= {"early-reuse", "shared-race"}


@pytest.mark.long
def test_a_tile_that_no_fence_shows_to_tma_is_found_too() -> None:
    found, _ = explored(kernel(WAIT + MEET, fence=""))
    (shown,) = found.findings
    assert shown.finding.rule == "missing-proxy-fence"
    assert set(shown.schedules) == set(found.results)
