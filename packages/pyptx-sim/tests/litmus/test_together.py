"""Threads that execute one instruction together have the outcomes of separate threads: Dekker's lock by two CTAs."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx_sim import Finding, run

DEKKER = """\
.version 8.5
.target sm_90
.address_size 64
.visible .entry both(.param .u64 words)
{{
.reg .pred %p<3>;
.reg .b32 %r<5>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [words];
mov.u32 %r1, %tid.x;
setp.ne.u32 %p1, %r1, 0;
@%p1 exit;
mov.u32 %r2, %ctaid.x;
xor.b32 %r3, %r2, 1;
mad.wide.u32 %rd2, %r2, 64, %rd1;
mad.wide.u32 %rd3, %r3, 64, %rd1;
st.relaxed.gpu.global.u32 [%rd2], 1;
{fence};
ld.relaxed.gpu.global.u32 %r4, [%rd3];
setp.ne.u32 %p2, %r4, 0;
@%p2 exit;
st.global.u32 [%rd1+128], %r2;
ret;
}}
"""


def found(fence: str, seed: int) -> tuple[Finding, ...]:
    return run(DEKKER.format(fence=fence), grid=2, block=32, args=[np.zeros(64, np.uint32)], seed=seed).findings


@pytest.mark.parametrize("seed", range(60))
def test_fences_in_order_keep_one_of_them_out(seed: int) -> None:
    assert not found("fence.sc.gpu", seed)


def test_others_let_both_in() -> None:
    rules = {finding.rule for seed in range(1, 60) for finding in found("fence.acq_rel.gpu", seed)}
    assert rules == {"global-race"}
