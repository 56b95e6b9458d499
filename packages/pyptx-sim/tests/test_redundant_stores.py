"""Stores of one instruction to one address: no data race if all threads of a CTA store the same value.

Triton emits them for reductions and histograms: all threads with a copy of a result store it. CUDA: "SIMT
Architecture".
"""

from __future__ import annotations

import numpy as np
import pytest

from .ptx_text import execute

ALIKE = {
    "one word": "st.global.u32 [%rd0], 7;",
    "one vector": "mov.u32 %r1, 3;\nst.global.v2.u32 [%rd0], {%r1, %r1};",
    "one word per pair of lanes": "shr.u32 %r1, %r0, 1;\nmad.wide.u32 %rd2, %r1, 4, %rd0;\nst.global.u32 [%rd2], %r1;",
    "some lanes": "setp.lt.u32 %p1, %r0, 5;\n@%p1 st.global.u32 [%rd0], 9;",
    "16 bytes": "mov.b128 %q1, {%rd0, %rd0};\nst.global.b128 [%rd0], %q1;",
}
APART = {
    "one word": "st.global.u32 [%rd0], %r0;",
    "a vector of which one element differs": "mov.u32 %r1, 3;\nst.global.v2.u32 [%rd0], {%r1, %r0};",
    "one word per pair of lanes": "shr.u32 %r1, %r0, 1;\nmad.wide.u32 %rd2, %r1, 4, %rd0;\nst.global.u32 [%rd2], %r0;",
    "16 bytes": "cvt.u64.u32 %rd2, %r0;\nmov.b128 %q1, {%rd0, %rd2};\nst.global.b128 [%rd0], %q1;",
    "two instructions": "shr.u32 %r1, %r0, 4;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 st.global.u32 [%rd0], 7;\n"
    "@!%p1 st.global.u32 [%rd0], 7;",
}


@pytest.mark.parametrize("body", ALIKE.values(), ids=list(ALIKE))
@pytest.mark.parametrize(("block", "seed"), [(32, 0), (96, 0), (96, 1), (96, 2)])
def test_stores_of_one_value_are_no_race(body: str, block: int, seed: int) -> None:
    assert execute(body, np.zeros(96, np.uint32), block=block, seed=seed).clean


# Lanes 0 to 7 supply the row addresses of stmatrix; each address occurs twice. %r2 holds the lane's matrix fragment.
MATRIX = """
mov.u32 %r3, s; and.b32 %r4, %r0, 3; shl.b32 %r4, %r4, 4; add.u32 %r3, %r3, %r4;
stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r3], {%r2};
"""


@pytest.mark.hopper
@pytest.mark.parametrize(("value", "rules"), [("and.b32 %r2, %r0, 15;", []), ("mov.u32 %r2, %r0;", ["lane-race"])])
def test_rows_of_a_matrix_are_stored_twice(value: str, rules: list[str]) -> None:
    """Triton emits this if a tensor has fewer elements than the CTA has threads. Lanes 4r to 4r + 3 hold row r."""
    found = execute(value + MATRIX, np.zeros(32, np.uint32), before=".shared .align 16 .b8 s[64];").findings
    assert [finding.rule for finding in found] == rules


@pytest.mark.parametrize("seed", range(4))
def test_those_of_two_blocks_are_one(seed: int) -> None:
    (finding,) = execute(ALIKE["one word"], np.zeros(64, np.uint32), grid=2, seed=seed).findings
    assert finding.rule == "global-race"


@pytest.mark.parametrize("seed", range(4))
def test_those_of_other_values_by_two_warps_are_one(seed: int) -> None:
    body = "shr.u32 %r1, %r0, 5;\nst.global.u32 [%rd0], %r1;"
    (finding,) = execute(body, np.zeros(64, np.uint32), block=64, seed=seed).findings
    assert finding.rule == "global-race"


@pytest.mark.parametrize("body", APART.values(), ids=list(APART))
def test_stores_of_several_values_are_one(body: str) -> None:
    (finding,) = execute(body, np.zeros(64, np.uint32)).findings
    assert finding.rule == "lane-race"
