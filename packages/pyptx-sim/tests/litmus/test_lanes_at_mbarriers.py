"""Lanes of a warp read a word, then arrive at an mbarrier. A thread that waits for all arrivals may write the word."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx_sim import Finding, run

TEXT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 silent)
{
.shared .b64 bar;
.shared .b32 word;
.reg .pred %p<4>;
.reg .b32 %r<9>;
.reg .b64 %rd<2>;
ld.param.u32 %r7, [silent];
mov.u32 %r1, %tid.x;
mov.u32 %r2, bar;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra MADE;
mbarrier.init.shared.b64 [%r2], COUNT;
st.shared.u32 [word], 0;
MADE:
bar.sync 0;
setp.ge.u32 %p1, %r1, 32;
@%p1 bra WRITER;
setp.ge.u32 %p1, %r1, LANES;
@%p1 exit;
ld.shared.u32 %r3, [word];
setp.eq.u32 %p2, %r1, %r7;
@%p2 exit;
mbarrier.arrive.shared.b64 %rd1, [%r2];
exit;
WRITER:
setp.ne.u32 %p1, %r1, 32;
@%p1 exit;
WAIT:
mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0;
@!%p3 bra WAIT;
st.shared.u32 [word], 1;
ret;
}
"""


def found(lanes: int, silent: int, seed: int) -> tuple[Finding, ...]:
    """Return the findings if `lanes` lanes read and all but lane `silent` arrive; all arrive if `silent` is `lanes`."""
    text = TEXT.replace("COUNT", str(lanes - (silent < lanes))).replace("LANES", str(lanes))
    return run(text, grid=1, block=64, args=[np.uint32(silent)], seed=seed).findings


@pytest.mark.parametrize("lanes", [2, 3, 7, 31, 32])
@pytest.mark.parametrize("seed", range(3))
def test_who_waits_for_all_lanes_may_write(lanes: int, seed: int) -> None:
    assert not found(lanes, lanes, seed)


@pytest.mark.parametrize(("lanes", "silent"), [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2), (7, 3), (32, 0), (32, 31)])
@pytest.mark.parametrize("seed", range(3))
def test_a_lane_that_does_not_arrive_is_found(lanes: int, silent: int, seed: int) -> None:
    assert {finding.rule for finding in found(lanes, silent, seed)} == {"shared-race"}
