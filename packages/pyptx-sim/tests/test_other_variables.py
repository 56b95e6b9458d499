"""An address formed from one variable is in another variable: a finding if data flow proves it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from pyptx_sim import Launch, run

# Variable `a` has 64 words; %r1 is a thread's byte offset, 0 to 508: threads 64 to 127 are outside of `a`.
TEXT = """\
.version 8.8
.target sm_90a
.address_size 64
{outside}
.visible .entry k(.param .u64 out)
{{
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<9>;
{inside}
ld.param.u64 %rd1, [out];
mov.u32 %r0, %tid.x;
shl.b32 %r1, %r0, 2;
mov.u32 %r2, 1;
mov.u32 %r3, a;
cvt.u64.u32 %rd2, %r1;
{body}
ret;
}}
"""
SHARED = ".shared .align 16 .b8 a[256]; .shared .align 16 .b8 b[512];"

# Kernel bodies in which threads 64 to 127 access the variable `b` by an address formed from the variable `a`.
LEAVES = {
    "an index": "add.u32 %r4, %r3, %r1; st.shared.u32 [%r4], %r2;",
    "a multiplied index": "mad.lo.u32 %r4, %r0, 4, %r3; st.shared.u32 [%r4], %r2;",
    "a constant offset and an index": "mov.u32 %r4, a+4; add.u32 %r4, %r4, %r1; st.shared.u32 [%r4+-4], %r2;",
    "a generic address": "mov.u64 %rd3, a; cvta.shared.u64 %rd3, %rd3; add.u64 %rd3, %rd3, %rd2; st.u32 [%rd3], %r2;",
    "a register converted by cvta": "cvt.u64.u32 %rd3, %r3; cvta.shared.u64 %rd3, %rd3; add.s64 %rd3, %rd3, %rd2;"
    "st.u32 [%rd3], %r2;",
    "an incremented pointer": "mov.u32 %r4, %r3; again: add.u32 %r4, %r4, 4; sub.u32 %r1, %r1, 4;"
    "setp.gt.s32 %p1, %r1, -4; @%p1 bra again; st.shared.u32 [%r4+-4], %r2;",
    "an index from global memory": "ld.global.u32 %r5, [%rd1]; add.u32 %r1, %r1, %r5;"
    "add.u32 %r4, %r3, %r1; st.shared.u32 [%r4], %r2;",
    "a chosen index": "setp.lt.u32 %p1, %r0, 200; selp.b32 %r5, %r1, 0, %p1; add.u32 %r4, %r3, %r5;"
    "st.shared.u32 [%r4], %r2;",
    "a swizzled index": "add.u32 %r4, %r3, %r1; xor.b32 %r4, %r4, 4; st.shared.u32 [%r4], %r2;",
    "an atomic operation": "add.u32 %r4, %r3, %r1; red.shared.or.b32 [%r4], 0;",
    "a copy": "add.u32 %r4, %r3, %r1; cp.async.ca.shared.global [%r4], [%rd1], 4; cp.async.wait_all;",
    "a shuffled address": "add.u32 %r4, %r3, %r1; shfl.sync.idx.b32 %r4, %r4, %r0, 31, -1; st.shared.u32 [%r4], %r2;",
}
# Kernel bodies that form addresses in the variable `b` in ways that may be correct.
STAYS = {
    "an offset that is the difference of two addresses": "mov.u32 %r5, b; sub.u32 %r5, %r5, %r3; add.u32 %r4, %r3, %r5;"
    "add.u32 %r4, %r4, %r1; st.shared.u32 [%r4], %r2;",
    "an address of `a` or `b` by selp": "mov.u32 %r5, b; setp.lt.u32 %p1, %r0, 64; selp.b32 %r4, %r3, %r5, %p1;"
    "add.u32 %r4, %r4, %r1; st.shared.u32 [%r4], %r2;",
    "one register for two variables": "mov.u32 %r4, %r3; st.shared.u32 [%r4], 1; mov.u32 %r4, b; add.u32 %r4, %r4, %r1;"
    "bar.sync 0; st.shared.u32 [%r4], %r2;",
    "a predicated move": "mov.u32 %r4, %r3; setp.ge.u32 %p1, %r0, 64; @%p1 mov.u32 %r4, b;"
    "add.u32 %r4, %r4, %r1; st.shared.u32 [%r4], %r2;",
    "an offset loaded from shared memory": "mov.u32 %r5, b; sub.u32 %r5, %r5, %r3; st.shared.u32 [a], %r5; bar.sync 0;"
    "ld.shared.u32 %r6, [a]; add.u32 %r4, %r3, %r6; add.u32 %r4, %r4, %r1; bar.sync 0; st.shared.u32 [%r4], %r2;",
    "an intermediate address below the variable": "sub.u32 %r4, %r3, 508; add.u32 %r4, %r4, %r1; sub.u32 %r4, %r4, %r1;"
    "st.shared.u32 [%r4+508], 1;",
    "an unused address past the end": "add.u32 %r4, %r3, %r1; setp.lt.u32 %p1, %r0, 64;@%p1 st.shared.u32 [%r4], %r2;",
    "halves of an address": "mov.u64 %rd3, a; cvta.shared.u64 %rd3, %rd3; mov.b64 {%r5, %r6}, %rd3; mov.u32 %r7, b;"
    "sub.u32 %r7, %r7, %r3; add.u32 %r5, %r5, %r7; mov.b64 %rd4, {%r5, %r6}; add.u64 %rd4, %rd4, %rd2;"
    "st.u32 [%rd4], 1;",
}


def found(body: str, *, inside: str = SHARED, outside: str = "", **options: Any) -> list[Any]:
    text = TEXT.format(body=body, inside=inside, outside=outside)
    rules = ["other-variable", "out-of-bounds", "misaligned"]
    args = [np.zeros(256, np.uint32)]
    return list(run(text, Launch(grid=1, block=128, args=args), checks=rules, **options).findings)


@pytest.mark.parametrize("seed", [0, 4])
@pytest.mark.parametrize("body", list(LEAVES))
def test_an_address_that_leaves_its_variable_is_found(body: str, seed: int) -> None:
    (finding,) = found(LEAVES[body], seed=seed)
    assert (finding.rule, finding.severity, finding.count) == ("other-variable", "warning", 64)
    assert re.search(r"address formed from a \(256 bytes\) is outside of it: b\+\d+", finding.message)


@pytest.mark.parametrize("body", list(STAYS))
def test_an_address_that_may_have_been_formed_from_the_other_variable_is_not(body: str) -> None:
    assert found(STAYS[body]) == []


@pytest.mark.parametrize("body", list(LEAVES))
def test_the_same_is_right_in_one_variable_that_is_divided_by_hand(body: str) -> None:
    """Compilers address the members of a structure from one variable."""
    assert found(LEAVES[body], inside=".shared .align 16 .b8 a[768];") == []


@pytest.mark.parametrize("body", list(LEAVES))
def test_dynamic_shared_memory_has_no_variables_unless_the_launch_names_them(body: str) -> None:
    text = ".extern .shared .align 16 .b8 a[];"
    assert found(LEAVES[body], inside="", outside=text, shared_bytes=768) == []


@pytest.mark.parametrize("body", list(LEAVES))
def test_dynamic_shared_memory_may_begin_at_a_variable_of_one_element(body: str) -> None:
    """LLVM declares one element if only one kernel uses it. A variable declared after `a` is still another variable."""
    assert found(LEAVES[body], inside=".shared .align 16 .b8 a;", shared_bytes=768) == []
    (finding,) = found(LEAVES[body], inside=".shared .align 16 .b8 a[256]; .shared .align 4 .b32 b;", shared_bytes=768)
    assert (finding.rule, finding.count) == ("other-variable", 1)


@pytest.mark.parametrize("state", ["global", "const"])
def test_variables_of_the_module_are_told_apart(state: str) -> None:
    """An offset of 1024 bytes from `a` is in `b`, an offset of 0 in `a`."""
    body = f"mov.u64 %rd3, a; mul.wide.u32 %rd4, %r0, 4; add.u64 %rd3, %rd3, %rd4; ld.{state}.u32 %r4, [%rd3+STEP];"
    text = TEXT.replace("mov.u32 %r3, a;", "").format(
        body=body, inside="", outside=f".{state} .align 16 .b8 a[256]; .{state} .align 16 .b8 b[2048];"
    )
    for step, expected in ((1024, {"other-variable"}), (0, set())):
        threads = 64
        result = run(text.replace("STEP", str(step)), grid=1, block=threads, args=[np.zeros(256, np.uint32)])
        assert {each.rule for each in result.findings} == expected


def test_a_constant_past_the_end_of_a_variable_is_found() -> None:
    (finding,) = found("st.shared.u32 [a+256], 1;")
    assert "b+0" in finding.message
    assert found("st.shared.u32 [a+252], 1;") == []


@pytest.mark.hopper
def test_the_memory_of_another_block_of_the_cluster_has_the_same_variables() -> None:
    body = "mapa.shared::cluster.u32 %r5, %r3, 1; add.u32 %r5, %r5, %r1; st.shared::cluster.u32 [%r5], %r2;"
    own = "add.u32 %r4, %r3, %r1; st.shared.u32 [%r4], %r2;"
    text = TEXT.format(body=body + own, inside=SHARED, outside="")
    result = run(text, grid=2, cluster=2, block=128, args=[np.zeros(256, np.uint32)], checks=["other-variable"])
    assert [each.count for each in result.findings] == [128]
