"""Undefined rows, columns and registers of wgmma operands make only the dependent accumulators undefined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import run

SCHEDULES = [{}, {"seed": 3}, {"delay_async": True}]
# Two threads write each row of A and each column of B, up to ROWS and COLUMNS. No swizzle: core matrices are 128 bytes
# apart along K, 256 along M and N. A thread holds two columns of D in row g, and in row g + 8.
HEAD = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .pred %p<6>;
.reg .b32 %r<20>;
.reg .b64 %rd<16>;
.reg .f32 %f<4>;
.shared .align 128 .b8 left[2048];
.shared .align 128 .b8 right[256];
ld.param.u64 %rd3, [out];
mov.u32 %r1, %tid.x;
and.b32 %r2, %r1, 1; shr.u32 %r3, %r1, 1; shr.u32 %r4, %r3, 3; and.b32 %r5, %r3, 7;
mov.u32 %r6, left; mov.u32 %r7, right;
mad.lo.u32 %r8, %r4, 256, %r6; mad.lo.u32 %r8, %r2, 128, %r8; mad.lo.u32 %r8, %r5, 16, %r8;
mad.lo.u32 %r9, %r2, 128, %r7; mad.lo.u32 %r9, %r3, 16, %r9;
mov.b64 %rd10, 0x0000001000080000;
bfe.u32 %r10, %r6, 4, 14; cvt.u64.u32 %rd11, %r10; or.b64 %rd11, %rd11, %rd10;
bfe.u32 %r10, %r7, 4, 14; cvt.u64.u32 %rd12, %r10; or.b64 %rd12, %rd12, %rd10;
setp.lt.u32 %p0, %r3, ROWS; @%p0 st.shared.v4.u32 [%r8], {0, 0, 0, 0};
setp.lt.u32 %p0, %r3, COLUMNS; @%p0 st.shared.v4.u32 [%r9], {0, 0, 0, 0};
fence.proxy.async.shared::cta;
bar.sync 0;
"""
TAIL = """
mul.wide.u32 %rd5, %r1, 16; add.u64 %rd5, %rd3, %rd5;
setp.lt.u32 %p1, %r1, THREADS; and.b32 %r12, %r1, 3; setp.lt.and.u32 %p1, %r12, LANES, %p1;
@%p1 st.global.v4.f32 [%rd5], {%f0, %f1, %f2, %f3};
ret;
}
"""
MULTIPLY = """
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, LEFT, %rd12, ADDS, 1, 1, 0TRANSPOSED;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
"""
A_STORED = {"LEFT": "%rd11", "TRANSPOSED": ", 0"}
A_HELD = {"LEFT": "{%r14, %r15, %r16, %r17}", "TRANSPOSED": ""}


def findings(
    *body: str,
    rows: int = 64,
    columns: int = 8,
    threads: int = 128,
    lanes: int = 4,
    delay_async: bool = False,
    seed: int = 0,
) -> list[Any]:
    """Return the findings of a run with `rows` of A and `columns` of B defined.

    Of threads 0 to `threads` - 1, the first `lanes` of each four threads store D.
    """
    text = "".join((HEAD, *body, TAIL))
    words = {"ROWS": rows, "COLUMNS": columns, "THREADS": threads, "LANES": lanes}
    for word, number in words.items():
        text = text.replace(word, str(number))
    return list(
        run(text, grid=1, block=128, args=[np.zeros((128, 4), np.float32)], delay_async=delay_async, seed=seed).findings
    )


def rules(*body: str, **options: Any) -> set[str]:
    return {each.rule for each in findings(*body, **options)}


def multiply(adds: int = 0, how: dict[str, str] = A_STORED) -> str:
    text = MULTIPLY.replace("ADDS", str(adds))
    for word, operand in how.items():
        text = text.replace(word, operand)
    return text


MEMORY, REGISTER = {"uninitialized-memory"}, {"uninitialized-register"}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_rows_and_columns_that_are_not_there_may_be_multiplied_and_not_stored(schedule: dict[str, Any]) -> None:
    assert rules(multiply(), **schedule) == set()
    assert rules(multiply(), rows=32, threads=64, **schedule) == set()
    assert rules(multiply(), rows=32, threads=65, **schedule) == MEMORY
    assert rules(multiply(), columns=4, lanes=2, **schedule) == set()
    assert rules(multiply(), columns=4, lanes=3, **schedule) == MEMORY


def test_a_finding_names_the_product_that_read_them() -> None:
    body = multiply()
    (found,) = findings(body, rows=32)
    assert found.count == 4 * 64  # undefined accumulator registers: 4 in each of 64 threads
    assert found.message == "use of uninitialized shared memory: %f0 depends on 16 bytes at left+1024"
    assert found.other_label == "read by wgmma.mma_async"
    assert found.other_line == (HEAD + body).splitlines().index(multiply().splitlines()[2]) + 1


HELD = "mov.u32 %r14, 0; mov.u32 %r15, 0; mov.u32 %r16, 0; mov.u32 %r17, 0;"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_factor_in_registers_spoils_the_rows_of_its_thread(schedule: dict[str, Any]) -> None:
    """Undefined registers of A in warp 3 make rows 48 to 63 of D undefined."""
    some = "setp.lt.u32 %p2, %r1, 96; " + HELD.replace("mov", "@%p2 mov")
    held = multiply(how=A_HELD)
    assert rules(HELD, held, **schedule) == set()
    assert rules(some, held, threads=96, **schedule) == set()
    assert rules(some, held, threads=97, **schedule) == REGISTER


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_sums_that_are_added_to_without_a_start_spoil_themselves(schedule: dict[str, Any]) -> None:
    start = "setp.lt.u32 %p2, %r1, 32; " + "".join(f"@%p2 mov.f32 %f{each}, 0f00000000; " for each in range(4))
    assert rules(start, multiply(1), threads=32, **schedule) == set()
    assert rules(start, multiply(1), **schedule) == REGISTER
    assert rules(start, multiply(1), multiply(1), threads=32, **schedule) == set()
    assert rules(start, multiply(1), multiply(1), **schedule) == REGISTER


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_sums_that_begin_anew_forget_what_was_undefined(schedule: dict[str, Any]) -> None:
    fill = "setp.ge.u32 %p3, %r3, 32; @%p3 st.shared.v4.u32 [%r8], {0, 0, 0, 0};"
    fill += "fence.proxy.async.shared::cta; bar.sync 0;"
    assert rules(multiply(), fill, multiply(0), rows=32, **schedule) == set()
    assert rules(multiply(), fill, multiply(1), rows=32, **schedule) == MEMORY


def test_a_descriptor_is_no_value_that_may_be_undefined() -> None:
    assert rules(multiply().replace("%rd12", "%rd13")) >= REGISTER


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_accumulators_of_a_warpgroup_with_a_partial_warp_are_undefined(schedule: dict[str, Any]) -> None:
    leave = "setp.eq.u32 %p2, %r1, 127; @%p2 bra low;\n"
    lines = f"{HEAD}{leave}{multiply()}low:\n{TAIL}".splitlines()
    multiplies, stores = (next(n for n, line in enumerate(lines, 1) if word in line) for word in (".mma_async", "st.g"))
    found = findings(leave, multiply(), "low:\n", threads=1, **schedule)
    assert {each.rule for each in found} == {"membermask-mismatch"}
    assert [stores in each.also for each in found if each.line == multiplies] == [True]


def test_a_register_that_occurs_twice_in_d_holds_its_last_element() -> None:
    body = """
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f0}, %rd11, %rd12, 0, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
st.global.f32 [%rd3], %f0;
ret;
}
"""
    out = np.ones(1, np.float32)
    run(HEAD.replace("ROWS", "64").replace("COLUMNS", "8") + body, grid=1, block=128, args=[out], checks="none")
    assert out[0] == 0
