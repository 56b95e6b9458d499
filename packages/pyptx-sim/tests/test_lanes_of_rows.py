"""`ldmatrix` and `stmatrix`: each lane accesses the elements of its own fragments, not the row that it addresses.

Manual: "Warp-level matrix load instruction: ldmatrix", "Warp-level matrix store instruction: stmatrix".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx_ir.fragments.moves import MOVES

from .ptx_text import execute

if TYPE_CHECKING:
    from pyptx_ir.isa.matrix_rows import MatrixMove

SCHEDULES = [(seed, delay_async) for seed in range(4) for delay_async in (False, True)]
SYNC = "bar.warp.sync -1;"
# Addresses in s: %r2 of this lane's 16-byte row; %r3 of this lane's 4-byte word; %r4 of the next lane's 4-byte word.
START = """
.shared .align 16 .b8 s[1024]; mov.u32 %r1, s; shl.b32 %r5, %r0, 4; add.u32 %r2, %r1, %r5;
shl.b32 %r5, %r0, 2; add.u32 %r3, %r1, %r5; add.u32 %r4, %r0, 1; and.b32 %r4, %r4, 31; mad.lo.u32 %r4, %r4, 4, %r1;
"""
STORE_ROW = "st.shared.v4.b32 [%r2], {%r0, %r0, %r0, %r0};"
STORE_WORD = "st.shared.b32 [%r3], %r0;"
LOAD = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r2];"
LOAD_TRANSPOSED = "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r10}, [%r2];"
STORE = "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r0};"
STORE_TRANSPOSED = "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r2], {%r0};"
READ_OWN = "ld.shared.b32 %r10, [%r3];"
READ_NEXT = "ld.shared.b32 %r10, [%r4];"
READ_ROW = "ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r2];"
COPY_ROWS = """
mad.wide.u32 %rd5, %r0, 16, %rd0; cp.async.cg.shared.global [%r2], [%rd5], 16; cp.async.commit_group;
cp.async.wait_group 0;
"""
COPY_WORDS = """
mad.wide.u32 %rd5, %r0, 4, %rd0; cp.async.ca.shared.global [%r3], [%rd5], 4; cp.async.commit_group;
cp.async.wait_group 0;
"""
# Lane 0 stores all matrix rows, then releases a flag that the other lanes acquire.
TOLD = """
.shared .align 4 .b32 flag; mov.u32 %r20, flag; setp.eq.u32 %p1, %r0, 0;
@%p1 st.shared.b32 [%r20], 0; bar.warp.sync -1;
@!%p1 bra hear;
st.shared.v4.b32 [%r1], {%r0, %r0, %r0, %r0}; st.shared.v4.b32 [%r1+16], {%r0, %r0, %r0, %r0};
st.shared.v4.b32 [%r1+32], {%r0, %r0, %r0, %r0}; st.shared.v4.b32 [%r1+48], {%r0, %r0, %r0, %r0};
st.shared.v4.b32 [%r1+64], {%r0, %r0, %r0, %r0}; st.shared.v4.b32 [%r1+80], {%r0, %r0, %r0, %r0};
st.shared.v4.b32 [%r1+96], {%r0, %r0, %r0, %r0}; st.shared.v4.b32 [%r1+112], {%r0, %r0, %r0, %r0};
st.release.cta.shared.b32 [%r20], 1; bra all;
hear: ld.acquire.cta.shared.b32 %r21, [%r20]; setp.eq.u32 %p2, %r21, 0; @%p2 bra hear;
all:
"""

# Cases: first access, second access, and the rule that reports their race if no `bar.warp.sync` is between them.
ORDERED_BY_A_BARRIER = {
    "a load of rows that other lanes stored": (STORE_ROW, LOAD, "lane-race"),
    "a transposed load of rows that other lanes stored": (STORE_ROW, LOAD_TRANSPOSED, "lane-race"),
    "a transposed load of a word that two lanes read": (STORE_WORD, LOAD_TRANSPOSED, "lane-race"),
    "a read of the next lane's element": (STORE, READ_NEXT, "lane-race"),
    "a read of the row whose address the lane supplied": (STORE, READ_ROW, "lane-race"),
    "a read of a word that two lanes stored": (STORE_TRANSPOSED, READ_OWN, "lane-race"),
    "an stmatrix over elements that other lanes read": (f"{STORE_ROW}{SYNC}{READ_ROW}", STORE, "lane-race"),
    "a store over rows that other lanes load by ldmatrix": (f"{STORE_ROW}{SYNC}{LOAD}", STORE_ROW, "lane-race"),
    "a transposed store over a matrix stored without .trans": (STORE, STORE_TRANSPOSED, "lane-race"),
    "a load of rows that other lanes copied": (COPY_ROWS, LOAD, "read-before-wait"),
    "a transposed load of words that other lanes copied": (COPY_WORDS, LOAD_TRANSPOSED, "read-before-wait"),
}
ORDERED_BY_THE_PROGRAM = {
    "a load of words that the lane stored": (STORE_WORD, LOAD),
    "a read of the lane's own element": (STORE, READ_OWN),
    "a store over the lane's own element": (STORE, STORE_WORD),
    "a store to an element that the lane loads": (f"{STORE_WORD}{SYNC}{LOAD}", STORE_WORD),
    "two stmatrix to the same addresses": (STORE, STORE),
    "an ldmatrix of the matrix that stmatrix stored": (STORE, LOAD),
    "a load of words that the lane copied": (COPY_WORDS, LOAD),
    "a load ordered after the stores by a flag": (TOLD, LOAD),
}

# Rows of one stmatrix at one address, on a buffer of zeros: row numbers, stored registers, and whether that is a race.
# %r12 is a row number per lane; %r13 is loaded (zero in this run), %r14 is the constant 0.
ROWS_AT_ONE_ADDRESS = {
    "rows of two lanes": ("shr.b32 %r12, %r0, 1;", "%r0", True),
    "rows of the same lanes, from two matrices": ("and.b32 %r12, %r0, 7;", "%r0, %r1", True),
    "rows of different lanes, from two matrices": (
        "setp.ne.u32 %p1, %r0, 9; selp.b32 %r12, %r0, 0, %p1;",
        "%r0, %r1",
        True,
    ),
    "rows of two lanes, equal in this run": ("shr.b32 %r12, %r0, 1;", "%r13", True),
    "rows of two lanes, equal in every run": ("shr.b32 %r12, %r0, 1;", "%r14", False),
    "rows of two matrices, equal in this run": ("and.b32 %r12, %r0, 7;", "%r13, %r14", True),
    "rows of two matrices, equal in every run": ("and.b32 %r12, %r0, 7;", "%r13, %r13", False),
    "distinct rows": ("mov.u32 %r12, %r0;", "%r0, %r1", False),
}


def named(cases: dict[str, tuple[str, ...]]) -> list[Any]:
    """Return the names of the cases to run; the instruction table has `stmatrix` from pyptx-arch-hopper."""
    of_hopper = {name: any("stmatrix" in part for part in case) for name, case in cases.items()}
    return [pytest.param(name, marks=[pytest.mark.hopper] * marked) for name, marked in of_hopper.items()]


def rules(body: str) -> list[set[str]]:
    found = []
    for seed, delay_async in SCHEDULES:
        result = execute(f"{START}{body}", np.arange(128, dtype=np.uint32), seed=seed, delay_async=delay_async)
        found.append({each.rule for each in result.findings})
    return found


@pytest.mark.parametrize("case", named(ORDERED_BY_A_BARRIER))
def test_lanes_that_depend_on_each_other_need_a_barrier(case: str) -> None:
    first, second, rule = ORDERED_BY_A_BARRIER[case]
    assert rules(f"{first}{second}") == [{rule}] * len(SCHEDULES)
    assert rules(f"{first}{SYNC}{second}") == [set()] * len(SCHEDULES)


@pytest.mark.parametrize("case", named(ORDERED_BY_THE_PROGRAM))
def test_what_a_lane_does_by_itself_is_in_order(case: str) -> None:
    first, second = ORDERED_BY_THE_PROGRAM[case]
    assert rules(f"{first}{second}") == [set()] * len(SCHEDULES)


@pytest.mark.hopper
@pytest.mark.parametrize("case", ROWS_AT_ONE_ADDRESS)
def test_rows_of_one_store_at_one_address_race_unless_they_are_equal(case: str) -> None:
    """The manual defines no order of the rows of one instruction, even of rows that the same lanes store."""
    rows, registers, races = ROWS_AT_ONE_ADDRESS[case]
    body = f"""{START} mov.u32 %r14, 0; ld.global.b32 %r13, [%rd1];
    {rows} mad.lo.u32 %r12, %r12, 16, %r1;
    stmatrix.sync.aligned.m8n8.x{registers.count(",") + 1}.shared.b16 [%r12], {{{registers}}};
    """
    findings = execute(body, np.zeros(128, np.uint32)).findings
    assert [each.rule for each in findings] == ["lane-race"] * races
    assert all(each.help is not None and "to one address per thread" in each.help for each in findings)


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.name)
def test_every_load_is_by_the_lanes_of_its_fragments(move: MatrixMove) -> None:
    """A lane writes one byte without a barrier: a race exactly if another lane's fragment includes the byte."""
    fragment = move.fragment
    registers = ", ".join(f"%r{10 + at}" for at in range(fragment.registers))
    load = f"ldmatrix.sync.aligned.{move.shape}.x1{'.trans' * move.transposed}.shared.{'.'.join(move.types)}"
    for row, column in ((0, 0), (1, 5), (fragment.rows - 1, fragment.columns - 1)):
        byte = column * move.stored // 8
        beside = (
            n for n in range(fragment.columns) if byte in {n * move.stored // 8, ((n + 1) * move.stored - 1) // 8}
        )
        holders = {fragment.lane_of(row, each) for each in beside}
        for lane in {*holders, 0, 31}:
            body = f"""{START}
            st.shared.v4.b32 [%r2], {{%r0, %r0, %r0, %r0}}; {SYNC}
            setp.eq.u32 %p1, %r0, {lane}; @%p1 st.shared.b8 [%r1+{row * 16 + byte}], %r0;
            {load} {{{registers}}}, [%r2];
            """
            found = {each.rule for each in execute(body, np.zeros(128, np.uint32)).findings}
            assert found == ({"lane-race"} if holders - {lane} else set()), (row, column, lane)
