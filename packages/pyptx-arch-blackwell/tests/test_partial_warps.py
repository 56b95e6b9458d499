"""`tcgen05.ld` and `tcgen05.st` executed by a part of a warp load and store undefined values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx_sim import run

if TYPE_CHECKING:
    from pyptx_sim import Result

HEAD = """\
.version 8.8
.target sm_100a
.address_size 64
.shared .align 4 .b32 column;
.visible .entry k(.param .u64 out)
{
.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
ld.param.u64 %rd0, [out];
mov.u32 %r0, %tid.x;
mad.wide.u32 %rd1, %r0, 4, %rd0;
setp.ge.u32 %p1, %r0, 16;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [column], 32;
ld.shared.u32 %r1, [column];
mov.u32 %r2, 0;
mov.u32 %r3, 0;
tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r0};
tcgen05.wait::st.sync.aligned;
"""
TAIL = """\
low:
barrier.sync 0;
tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r1];
tcgen05.wait::ld.sync.aligned;
st.global.u32 [%rd1], RESULT;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;
ret;
}
"""
LOAD = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1]; tcgen05.wait::ld.sync.aligned;\n"
STORE = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r0}; tcgen05.wait::st.sync.aligned;\n"
PARTIAL = "@%p1 bra low;\n"


def result_of(body: str, used: str) -> tuple[Result, str]:
    text = HEAD + body + TAIL.replace("RESULT", used)
    return run(text, grid=1, block=32, args=[np.zeros(32, np.uint32)]), text


@pytest.mark.parametrize(("body", "used"), [(LOAD, "%r2"), (STORE, "%r3")], ids=["ld", "st"])
def test_a_use_of_the_result_of_a_partial_warp_belongs_to_its_finding(body: str, used: str) -> None:
    result, text = result_of(PARTIAL + body, used)
    (found,) = result.findings
    assert found.rule == "membermask-mismatch"
    assert found.line == text.splitlines().index(body.splitlines()[0]) + 1
    assert text.splitlines().index(f"st.global.u32 [%rd1], {used};") + 1 in found.also


def test_a_result_of_a_partial_warp_that_is_not_used_is_reported_once() -> None:
    result, text = result_of(PARTIAL + LOAD, "%r3")
    (found,) = result.findings
    assert found.rule == "membermask-mismatch"
    assert text.splitlines().index("st.global.u32 [%rd1], %r3;") + 1 not in found.also


@pytest.mark.parametrize(("body", "used"), [(LOAD, "%r2"), (STORE, "%r3")], ids=["ld", "st"])
def test_whole_warps_are_clean(body: str, used: str) -> None:
    assert result_of(body, used)[0].findings == ()
