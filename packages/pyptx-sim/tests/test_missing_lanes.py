"""Instructions that some lanes of their membermask do not execute: one finding, and undefined results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from .ptx_text import BODY_LINE, execute, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim import Result

pytestmark = pytest.mark.scaled(3)

SCHEDULES = [(0, False), (0, True), *((seed, False) for seed in range(1, 5)), (5, True)]

# Name of a warp collective -> its code, with inputs %r2 = 100 + tid and %p4 (true for odd threads) and result %r3;
# and a function from the numbers of the participating lanes to the expected result: one, or one per lane in order.
COLLECTIVES: dict[str, tuple[str, Callable[[np.ndarray], object]]] = {
    "vote.any": ("vote.sync.any.pred %p5, %p4, MASK; selp.u32 %r3, 1, 0, %p5;", lambda lanes: (lanes & 1).any()),
    "vote.all": ("vote.sync.all.pred %p5, %p4, MASK; selp.u32 %r3, 1, 0, %p5;", lambda lanes: (lanes & 1).all()),
    "vote.uni": ("vote.sync.uni.pred %p5, %p4, MASK; selp.u32 %r3, 1, 0, %p5;", lambda lanes: len(set(lanes & 1)) == 1),
    "vote.ballot": ("vote.sync.ballot.b32 %r3, %p4, MASK;", lambda lanes: sum(1 << each for each in lanes if each & 1)),
    "match.any": ("match.any.sync.b32 %r3, %r2, MASK;", lambda lanes: [1 << each for each in lanes]),
    "match.all": ("match.all.sync.b32 %r3|%p5, %r2, MASK;", lambda lanes: (1 << lanes[0]) * (len(lanes) == 1)),
    "redux": ("redux.sync.add.u32 %r3, %r2, MASK;", lambda lanes: (100 + lanes).sum()),
    "elect": ("elect.sync %r3|%p5, MASK;", lambda lanes: lanes.min()),
    "shfl": ("shfl.sync.bfly.b32 %r3, %r2, 1, 31, MASK;", lambda lanes: 100 + (lanes ^ 1)),
}
each_collective = pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.hopper] if each == "elect" else []) for each in COLLECTIVES]
)
PREPARE = (
    "add.u32 %r2, %r0, 100; and.b32 %r4, %r0, 1; setp.ne.u32 %p4, %r4, 0; mov.u32 %r3, 0; mov.u32 %r10, 0;"
    "setp.ge.u32 %p1, %r0, 16; selp.u32 %r8, 0xffff0000, 0xffff, %p1; selp.u32 %r9, 0xffff0000, -1, %p1;\n"
)
STORE = "st.global.u32 [%rd1], %r3;"

# `[mask]` is replaced by a warp collective with this membermask. The body's first collective is in its line 2.
ELSE = "@!%p1 bra low;[-1]\nbra on;\nlow:\n[-1]\n"
LOOP = "again:[-1]\nadd.u32 %r10, %r10, 1; setp.lt.u32 %p6, %r10, %r0; @%p6 bra again;\n"
WRONG = {
    "outside the membermask": f"[0xffff]\n{STORE}",
    "at a barrier": f"@%p1 bra low;[-1]\nlow: barrier.sync 0;\n{STORE}",
    "halves of a warp execute two different collectives": f"{ELSE}on: {STORE}",
    "halves of a warp execute two collectives, bar.warp.sync then together": f"{ELSE}on: bar.warp.sync -1;\n{STORE}",
    "with another membermask": f"[%r9]\nbar.warp.sync -1;\n{STORE}",
    "behind a loop": f"{LOOP}bar.warp.sync -1;\n{STORE}",
}
# Name of a correct program -> its code, and threads per CTA.
RIGHT = {
    "a whole warp": (f"[-1]\n{STORE}", 32),
    "a partial warp with a membermask of its lanes": (f"[0xffff]\n{STORE}", 16),
    "a partial warp": (f"[-1]\n{STORE}", 16),
    "lanes that have exited": (f"@%p1 exit;[-1]\n{STORE}", 32),
    "lanes that exit later": (f"@%p1 bra low;[-1]\n{STORE} exit;\nlow: mul.lo.u32 %r10, %r0, 3;", 32),
    "tiles": (f"[%r8]\n{STORE}", 32),
    "tiles of the warp one after the other": (f"@%p1 bra high;[0xffff]\nbra on;\nhigh:[0xffff0000]\non: {STORE}", 32),
    "lanes that arrive later": (f"@%p1 bra low; add.u32 %r10, %r0, 1; low:[-1]\n{STORE}", 32),
}


def body(text: str, name: str) -> str:
    return PREPARE + re.sub(
        r"\[(-1|0x\w+|%r[89])\]", lambda mask: f"\n{COLLECTIVES[name][0]}".replace("MASK", mask[1]), text
    )


def run(text: str, **options: object) -> list[Result]:
    return [
        execute(text, np.zeros(64, np.uint32), **{"seed": seed, "delay_async": delay_async, **options})
        for seed, delay_async in SCHEDULES
    ]


@each_collective
@pytest.mark.parametrize("case", WRONG)
def test_one_finding_names_the_instruction_and_where_its_result_is_used(case: str, name: str) -> None:
    text = body(WRONG[case], name)
    stored = BODY_LINE + text.splitlines().index(next(line for line in text.splitlines() if STORE in line))
    for result in run(text):
        assert [(each.rule, each.line) for each in result.findings] == [("membermask-mismatch", BODY_LINE + 2)]
        assert stored in result.findings[0].also


@each_collective
@pytest.mark.parametrize("case", WRONG)
def test_a_result_that_is_not_used_is_not_named(case: str, name: str) -> None:
    text = body(WRONG[case].replace(STORE, "st.global.u32 [%rd1], %r0;"), name)
    others = [BODY_LINE + 6] if case.endswith("then together") else []  # the next collective lacks these lanes, too
    for result in run(text):
        assert [(each.rule, each.line) for each in result.findings] == [("membermask-mismatch", BODY_LINE + 2)]
        assert list(result.findings[0].also) == others


@each_collective
@pytest.mark.parametrize("case", RIGHT)
def test_the_lanes_that_have_to_come_get_the_result_of_them_all(case: str, name: str) -> None:
    text, threads = RIGHT[case]
    taking_part = np.arange(16 if "tiles" in case or "exit" in case else threads)
    expected = np.zeros(32, np.int64)
    expected[taking_part] = COLLECTIVES[name][1](taking_part)
    if "tiles" in case:
        expected[16:] = COLLECTIVES[name][1](taking_part + 16)
    for seed, delay_async in SCHEDULES:
        found = words(body(text, name), block=threads, seed=seed, delay_async=delay_async)
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["vote.ballot", "redux", "shfl"])
def test_an_undefined_result_is_followed_to_what_it_decides(name: str) -> None:
    """The result reaches an address through memory and another lane, and a branch: the findings have one cause."""
    text = f"""
    {body("@%p1 bra low;[-1]", name)}
    low: barrier.sync 0;
    {{ .shared .b32 s[32];
    mov.u32 %r20, s; mad.lo.u32 %r20, %r0, 4, %r20; st.shared.u32 [%r20], %r3; ld.shared.u32 %r21, [%r20];
    bar.warp.sync -1;
    shfl.sync.idx.b32 %r22, %r21, 3, 31, -1; and.b32 %r22, %r22, 124; mov.u32 %r20, s; add.u32 %r22, %r22, %r20;
    ld.shared.u32 %r23, [%r22];
    setp.gt.u32 %p6, %r21, 3;
    @%p6 bra over;
    over: }}
    """
    lines = text.splitlines()
    used = [
        BODY_LINE - 1 + number for number, line in enumerate(lines) if "ld.shared.u32 %r23" in line or "@%p6" in line
    ]
    for result in run(text):
        assert [each.rule for each in result.findings] == ["membermask-mismatch"]
        assert set(used) <= set(result.findings[0].also)


@each_collective
def test_lanes_at_a_barrier_come_when_another_warp_has_been_there(name: str) -> None:
    """Lanes 16 to 31 of warp 0 and 0 to 15 of warp 1 share a barrier; the other lanes wait at a warp collective."""
    text = (
        "setp.lt.u32 %p6, %r0, 16; @%p6 bra on; setp.ge.u32 %p6, %r0, 48; @%p6 bra on; barrier.sync 1, 32;\non:[-1]\n"
    )
    lanes = np.arange(32)
    expected = np.tile(np.zeros(32, np.int64) + COLLECTIVES[name][1](lanes), 2)
    if name in {"shfl", "redux"}:
        expected[32:] += 32 if name == "shfl" else 32 * 32
    for seed, delay_async in SCHEDULES:
        found = words(body(text + STORE, name), count=64, block=64, seed=seed, delay_async=delay_async)
        assert found.tolist() == expected.tolist()


def test_lanes_with_other_membermasks_do_not_count_whether_they_are_there_or_not() -> None:
    """Lanes 0 to 15 have a full membermask and wait until lanes 16 to 31, which have their own, have exited."""
    for seed, delay_async in SCHEDULES:
        found = words(f"{body('[%r9]', 'redux')} {STORE}", seed=seed, delay_async=delay_async)
        assert found.tolist() == [sum(range(100, 116))] * 16 + [sum(range(116, 132))] * 16


@pytest.mark.parametrize("checks", ["membermask-mismatch", ["membermask-mismatch", "inactive-lane"]], ids=str)
def test_a_lane_outside_its_membermask_is_found_without_other_checks(checks: object) -> None:
    for result in run(body(f"[0xffff]\n{STORE}", "vote.ballot"), checks=checks):
        assert [each.rule for each in result.findings] == ["membermask-mismatch"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("bar.warp.sync %r20;", 0),
        (f"vote.sync.ballot.b32 %r3, 1, %r20;\n{STORE}", 1),
        (f"redux.sync.add.u32 %r3, %r0, %r20;\n{STORE}", 1),
    ],
)
def test_a_membermask_that_nothing_has_written_is_one_finding(text: str, line: int) -> None:
    for result in run(text):
        assert [(each.rule, each.line) for each in result.findings] == [("uninitialized-register", BODY_LINE + line)]


PRODUCT = "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {{%r{}, %r{}}}, {{%r0}}, {{%r0}}, {{%r2, %r2}};"
WHOLE_WARPS = {
    "mma": f"{PRODUCT.format(3, 4)}",
    "two consecutive mma": f"{PRODUCT.format(3, 4)} {PRODUCT.format(5, 6)} add.u32 %r3, %r3, %r5;",
    "the first of two consecutive mma": f"{PRODUCT.format(3, 4)} {PRODUCT.format(5, 6)}",
    "ldmatrix": "mov.u32 %r4, s; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r4];",
    "movmatrix": "movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r2;",
    "stmatrix": "and.b32 %r4, %r0, 7; mov.u32 %r5, s; mad.lo.u32 %r4, %r4, 16, %r5; "
    "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r4], {%r2}; ld.shared.u32 %r3, [%r20];",
    "wmma.store": "wmma.store.d.sync.aligned.m16n16k16.row.shared.s32 [s], {%r2, %r2, %r2, %r2, %r2, %r2, %r2, %r2}; "
    "bar.warp.sync -1; ld.shared.u32 %r3, [%r20];",
}
each_of_whole_warps = pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.hopper] if each == "stmatrix" else []) for each in WHOLE_WARPS]
)
IN_SHARED_MEMORY = (
    ".shared .align 32 .b8 s[1024]; mov.u32 %r20, s; mad.lo.u32 %r20, %r0, 4, %r20; st.shared.u32 [%r20], %r0;\n"
)
ABSENT = {"exited": ("@%p1 exit;", 32), "never launched": ("", 16), "elsewhere": ("@%p1 bra low;", 32)}


@pytest.mark.parametrize("absent", ABSENT)
@each_of_whole_warps
def test_the_result_of_an_aligned_instruction_in_a_partial_warp_is_undefined(name: str, absent: str) -> None:
    first, block = ABSENT[absent]
    text = f"{IN_SHARED_MEMORY} bar.sync 0;\n{PREPARE}{first}\n{WHOLE_WARPS[name]}\nlow: barrier.sync 0, 32;\n{STORE}"
    for result in run(text, block=block):
        assert {each.rule for each in result.findings} == {"membermask-mismatch"}, result
        assert BODY_LINE + len(text.splitlines()) - 1 in result.findings[0].also


@each_of_whole_warps
def test_whole_warps_are_clean(name: str) -> None:
    for result in run(f"{IN_SHARED_MEMORY} bar.sync 0;\n{PREPARE}\n{WHOLE_WARPS[name]}\n{STORE}"):
        assert result.findings == ()
