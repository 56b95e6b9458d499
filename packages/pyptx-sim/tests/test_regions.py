"""Regions of memory (st.bulk, discard, applypriority), bulk copies with .ignore_oob, and multimem addresses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .ptx_text import execute, words

pytestmark = pytest.mark.hopper

BEFORE = ".shared .align 128 .b8 s[1024];\n.shared .align 8 .b64 bar;"
SLOT = "mov.u32 %r2, s;\nmad.lo.u32 %r1, %r0, 32, %r2;\n"


def rules(body: str, *arguments: Any, **options: Any) -> list[str]:
    return [finding.rule for finding in execute(body, *arguments, before=BEFORE, **options).findings]


@pytest.mark.parametrize("form", ["st.bulk", "st.bulk.weak.shared::cta"])
def test_a_region_is_filled_with_zeros(form: str) -> None:
    """Thread t clears the first 8 * (t % 4) of its 32 bytes, and sums its eight words."""
    body = SLOT + "st.shared.v4.u32 [%r1], {1, 2, 4, 8};\nst.shared.v4.u32 [%r1+16], {16, 32, 64, 128};\n"
    body += "and.b32 %r3, %r0, 3;\nshl.b32 %r3, %r3, 3;\n"
    if form == "st.bulk":
        body += f"cvt.u64.u32 %rd3, %r1;\ncvta.shared.u64 %rd3, %rd3;\n{form} [%rd3], %r3, 0;\n"
    else:
        body += f"{form} [%r1], %r3, 0;\n"
    body += "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r1];\nld.shared.v4.u32 {%r8, %r9, %r10, %r11}, [%r1+16];\n"
    body += "".join(f"add.u32 %r4, %r4, %r{part};\n" for part in range(5, 12)) + "st.global.u32 [%rd1], %r4;\n"
    found = words(body, before=BEFORE)
    assert found.tolist() == [255 & ~((1 << 2 * (thread % 4)) - 1) for thread in range(32)]


@pytest.mark.parametrize(
    ("given", "rule"), [("[%r1], 12", "misaligned"), ("[%r1+4], 8", "misaligned"), ("[%r1], 1024", "out-of-bounds")]
)
def test_a_region_that_cannot_be_filled_is_a_finding(given: str, rule: str) -> None:
    assert set(rules(f"{SLOT}st.bulk.shared::cta {given}, 0;", np.zeros(32, np.uint32))) == {rule}


def test_a_region_filled_twice_is_a_race() -> None:
    body = "mov.u32 %r2, s;\nst.bulk.shared::cta [%r2], 64, 0;\n"
    assert "lane-race" in rules(body, np.zeros(32, np.uint32))


LINE = (
    "setp.eq.u32 %p0, %r0, 0;\n@%p0 discard.global.L2 [%rd0{at}], 128;\nld.global.u32 %r3, [%rd1];\n"
    "st.global.u32 [%rd1+128], %r3;\n"
)


def test_what_is_discarded_is_arbitrary_until_it_is_written() -> None:
    assert set(rules(LINE.format(at=""), np.ones(64, np.uint32))) == {"lane-race", "uninitialized-memory"}
    after = LINE.format(at="").replace("ld.global", "bar.warp.sync -1;\nst.global.u32 [%rd1], 7;\nld.global")
    assert rules(after, np.ones(64, np.uint32)) == []


@pytest.mark.parametrize("name", ["discard.global.L2", "applypriority.global.L2::evict_normal"])
@pytest.mark.parametrize(("at", "rule"), [("+64", "misaligned"), ("+256", "out-of-bounds")])
def test_a_cache_line_that_is_none_is_a_finding(name: str, at: str, rule: str) -> None:
    assert rules(f"{name} [%rd0{at}], 128;", np.ones(64, np.uint32)) == [rule]


def test_hints_change_nothing() -> None:
    x = np.arange(64, dtype=np.uint32)
    body = """
    setp.eq.u32 %p0, %r0, 0;
    applypriority.global.L2::evict_normal [%rd0], 128;
    prefetch.global.L2 [%rd0];
    createpolicy.fractional.L2::evict_last.b64 %rd3, 1.0;
    @%p0 cp.async.bulk.prefetch.L2.global.L2::cache_hint [%rd0], 256, %rd3;
    griddepcontrol.wait;
    griddepcontrol.launch_dependents;
    """
    assert rules(body, x) == []
    assert (x == np.arange(64)).all()


# --- .ignore_oob --------------------------------------------------------------------------------

ENDS = """
mov.u32 %r2, s;
mad.lo.u32 %r1, %r0, 4, %r2;
setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared.b64 [bar], 1;
@%p0 fence.mbarrier_init.release.cluster;
bar.sync 0;
ld.param.u64 %rd2, [x];
@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob
    [%r2], [%rd2{at}], 128, {left}, {right}, [bar];
WAIT:
mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
@!%p1 bra WAIT;
setp.ge.u32 %p2, %r0, {first};
setp.lt.and.u32 %p2, %r0, {last}, %p2;
@%p2 ld.shared.u32 %r5, [%r1];
@%p2 st.global.u32 [%rd1], %r5;
"""
TWO = {"parameters": ".param .u64 out, .param .u64 x"}


@pytest.mark.parametrize(("left", "right"), [(0, 0), (0, 12), (4, 0), (8, 4)])
def test_ends_that_do_not_exist_are_left_out(left: int, right: int) -> None:
    """The array ends `right` bytes before the copy does; the bytes ignored on the left are inside the array."""
    x, out = np.arange(1, 33 - right // 4, dtype=np.uint32), np.zeros(32, np.uint32)
    body = ENDS.format(at="", left=left, right=right, first=left // 4, last=32 - right // 4)
    assert rules(body, out, x, **TWO) == []
    expected = np.zeros(32, np.uint32)
    expected[left // 4 : 32 - right // 4] = x[left // 4 :]
    assert (out == expected).all()


@pytest.mark.parametrize(
    ("left", "right", "first", "last", "at", "rule"),
    [
        (4, 0, 0, 32, "", "uninitialized-memory"),
        (0, 8, 0, 31, "", "uninitialized-memory"),
        (0, 16, 0, 1, "", "out-of-bounds"),
        (0, 0, 0, 1, "+16", "out-of-bounds"),
        (4, 12, 1, 2, "+12", "misaligned"),
    ],
)
def test_ends_are_misused(left: int, right: int, first: int, last: int, at: str, rule: str) -> None:
    x, out = np.arange(1, 33, dtype=np.uint32), np.zeros(32, np.uint32)
    body = ENDS.format(at=at, left=left, right=right, first=first, last=last)
    if rule != "uninitialized-memory":  # the copy never completes: remove the wait
        body = body[: body.index("WAIT:")]
    assert rule in rules(body, out, x, **TWO)


# --- multimem with one device -------------------------------------------------------------------

LOADS = [
    ("multimem.ld_reduce.global.add.u32 %r3, [%rd2];\nst.global.u32 [%rd1], %r3;", np.uint32),
    ("multimem.ld_reduce.relaxed.gpu.global.max.s32 %r3, [%rd2];\nst.global.u32 [%rd1], %r3;", np.int32),
    ("multimem.ld_reduce.acquire.sys.global.and.b32 %r3, [%rd2];\nst.global.u32 [%rd1], %r3;", np.uint32),
    ("multimem.ld_reduce.weak.global.add.acc::f32.f16x2 %r3, [%rd2];\nst.global.u32 [%rd1], %r3;", np.float16),
    ("multimem.ld_reduce.global.add.f32 %f3, [%rd2];\nst.global.f32 [%rd1], %f3;", np.float32),
    ("multimem.ld_reduce.global.min.v2.bf16x2 {%r3, %r4}, [%rd3];\nst.global.v2.u32 [%rd4], {%r3, %r4};", np.uint16),
]
EACH = """
ld.param.u64 %rd3, [x];
mad.wide.u32 %rd2, %r0, 4, %rd3;
mad.wide.u32 %rd3, %r0, 8, %rd3;
mad.wide.u32 %rd4, %r0, 8, %rd0;
"""


@pytest.mark.parametrize(("body", "dtype"), LOADS)
def test_a_reduction_over_one_device_is_its_value(body: str, dtype: Any) -> None:
    x = np.random.default_rng(0).integers(-100, 100, 256 // np.dtype(dtype).itemsize).astype(dtype)
    out = np.zeros_like(x)
    block = 64 if ".v2" not in body else 32
    assert rules(EACH + body, out, x, block=block, **TWO) == []
    assert out.tobytes() == x.tobytes()


def test_stores_and_reductions_reach_the_only_place() -> None:
    x = np.arange(32, dtype=np.float32)
    body = """
    cvt.rn.f32.u32 %f1, %r0;
    multimem.st.relaxed.gpu.global.f32 [%rd1], %f1;
    multimem.red.release.sys.global.add.f32 [%rd1], %f1;
    multimem.red.global.add.f32 [%rd0+124], %f1;
    """
    out = np.zeros(32, np.float32)
    assert rules(body, out) == []
    expected = 2 * x
    expected[31] += x.sum()
    assert (out == expected).all()


def test_bulk_copies_reach_the_only_place() -> None:
    body = (
        SLOT
        + """
    mad.lo.u32 %r3, %r0, 4, %r2;
    st.shared.u32 [%r3], %r0;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.eq.u32 %p0, %r0, 0;
    @%p0 multimem.cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r2], 128;
    @%p0 cp.async.bulk.commit_group;
    @%p0 cp.async.bulk.wait_group 0;
    @%p0 multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], [%r2], 128;
    @%p0 cp.async.bulk.commit_group;
    @%p0 cp.async.bulk.wait_group 0;
    """
    )
    assert (words(body, before=BEFORE) == 2 * np.arange(32)).all()
