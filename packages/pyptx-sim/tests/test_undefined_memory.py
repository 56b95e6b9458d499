"""The checker tracks undefined bits through atomics, fragments, copies and 128-bit registers to affected results."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from pyptx_sim import Uninitialized
from pyptx_sim.machine.memory.atomics import UPDATES
from pyptx_sim.machine.memory.paired_bits import apart, paired

from .ptx_text import execute

OUT = "\nst.global.u32 [%rd1], %r9;\n"
SHARED = ".shared .align 16 .b8 s[1024];\nshl.b32 %r1, %r0, 4; mov.u32 %r2, s; add.u32 %r2, %r2, %r1;\n"
SCHEDULES = [{}, {"seed": 3}, {"delay_async": True}]


def found(body: str, *more: Any, **options: Any) -> list[str]:
    """Return the rules of the findings of a kernel body that stores a word per thread."""
    return [each.rule for each in execute(body, np.zeros(512, np.uint32), *more, **options).findings]


# --- properties ---------------------------------------------------------------------------------

EXACT = ("exch", "and", "or", "xor")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", UPDATES)
def test_what_an_update_leaves_defined_is_the_same_whatever_was_undefined(name: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    bits = random.permutation(16)[:5].tolist()
    unknown = sum(1 << bit for bit in bits)
    value, second = (np.full(32, each, np.uint16) for each in random.integers(0, 1 << 16, 2))
    known = int(random.integers(0, 1 << 16)) & ~unknown
    fillings = [
        sum(1 << bit for bit, on in zip(bits, choice, strict=True) if on) for choice in product((0, 1), repeat=5)
    ]
    results = UPDATES[name].combine(np.array([known | each for each in fillings], np.uint16), value, second)
    changing = int(np.bitwise_or.reduce(results ^ results[0]))
    kept = int(UPDATES[name].keeps(np.full(1, ~unknown & 0xFFFF, np.uint16), value[:1], second[:1])[0])
    assert changing & kept == 0
    if name in EXACT:
        assert changing | kept == 0xFFFF


def test_bits_of_wide_registers_are_kept_two_by_two() -> None:
    random = np.random.default_rng(0)
    low, high = random.integers(0, 1 << 63, (2, 1000), np.uint64) & random.integers(0, 1 << 63, (2, 1000), np.uint64)
    kept = paired(low, high)
    for bit in range(64):
        half, place = (low, bit) if bit < 32 else (high, bit - 32)
        assert ((kept >> np.uint64(bit) & np.uint64(1)) == ((half >> np.uint64(2 * place) & np.uint64(3)) != 0)).all()
    assert all((wide & half == half).all() for wide, half in zip(apart(kept), (low, high), strict=True))
    assert (paired(*apart(kept)) == kept).all()


# --- 128 bits -----------------------------------------------------------------------------------

HALVES = {
    "packed": "mov.b64 %rd5, {%r0, %r0}; mov.b128 %q0, {%rd5, %rd30};",
    "half stored": SHARED + "mov.b64 %rd5, {%r0, %r0}; st.shared.u64 [%r2], %rd5; ld.shared.b128 %q0, [%r2];",
    "stored with it": SHARED + "mov.b64 %rd5, {%r0, %r0}; mov.b128 %q1, {%rd5, %rd30}; st.shared.b128 [%r2], %q1;"
    "ld.shared.b128 %q0, [%r2];",
    "exchanged": SHARED + "mov.b64 %rd5, {%r0, %r0}; st.shared.u64 [%r2], %rd5; mov.b128 %q1, {%rd5, %rd5};"
    "atom.shared.exch.b128 %q0, [%r2], %q1;",
}


@pytest.mark.parametrize("way", HALVES)
def test_half_of_a_wide_register_may_be_undefined(way: str) -> None:
    taken = HALVES[way] + "mov.b128 {%rd6, %rd7}, %q0; cvt.u32.u64 %r9, %rd6;" + OUT
    assert found(taken) == []
    assert len(found(taken.replace("%r9, %rd6", "%r9, %rd7"))) == 1


# --- atomics ------------------------------------------------------------------------------------

BEGUN = {
    "exch": "atom.shared.exch.b32 %r8, [%r2], %r0;",
    "and with zeros": "atom.shared.and.b32 %r8, [%r2], 0;",
    "or with ones": "red.shared.or.b32 [%r2], -1;",
    "exch of all lanes at one address": "mov.u32 %r2, s; atom.shared.exch.b32 %r8, [%r2], %r0;",
}


@pytest.mark.parametrize("way", BEGUN)
def test_an_atomic_may_be_what_writes_first(way: str) -> None:
    body = f"{SHARED}{BEGUN[way]} bar.warp.sync -1; ld.shared.u32 %r9, [%r2];"
    assert found(body + OUT) == []


@pytest.mark.parametrize(
    "update",
    ["atom.shared.add.u32 %r8, [%r2], 1;", "atom.shared.cas.b32 %r8, [%r2], 0, 1;", "red.shared.max.u32 [%r2], 7;",
     "atom.shared.xor.b32 %r8, [%r2], 5;", "red.shared.add.f32 [%r2], 0f3F800000;"],
)  # fmt: skip
def test_what_comes_of_unwritten_memory_matters_where_it_is_used(update: str) -> None:
    body = f"{SHARED}{update} bar.warp.sync -1; "
    assert found(body + "mov.u32 %r9, 1;" + OUT) == []
    assert found(body + "ld.shared.u32 %r9, [%r2];" + OUT) == ["uninitialized-memory"]
    if "%r8" in update:
        assert found(body + "mov.u32 %r9, %r8;" + OUT) == ["uninitialized-memory"]


def test_of_several_at_one_place_the_first_finds_what_nobody_knows() -> None:
    """Only the first lane of an exch gets an undefined value: each later lane gets the value of the lane before."""
    body = SHARED + "mov.u32 %r2, s; atom.shared.exch.b32 %r9, [%r2], %r0;"
    first = execute(body + OUT, np.zeros(512, np.uint32)).findings
    assert [(each.rule, each.count) for each in first] == [("uninitialized-memory", 1)]


@pytest.mark.parametrize("update", ["red.global.add.u32 [%rd1], 1;", "atom.global.max.u32 %r8, [%rd1], 1;"])
def test_an_output_that_is_added_to_without_a_start_is_found_at_once(update: str) -> None:
    (only,) = execute(update, Uninitialized(np.zeros(32, np.uint32))).findings
    assert (only.rule, only.count) == ("uninitialized-memory", 32)


def test_an_output_may_begin_with_an_exchange() -> None:
    assert execute("atom.global.exch.b32 %r8, [%rd1], 1;", Uninitialized(np.zeros(32, np.uint32))).findings == ()


# --- fragments with an unspecified layout -------------------------------------------------------

FILLED = """
.shared .align 32 .b8 tile[512];
.shared .align 32 .b8 sums[1024];
mov.u32 %r1, tile; shl.b32 %r2, %r0, 4; add.u32 %r3, %r1, %r2;
setp.lt.u32 %p1, %r0, 16; @%p1 st.shared.v4.u32 [%r3], {0, 0, 0, 0};
bar.warp.sync -1;
wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, [tile];
mov.u32 %r20, 0; mov.b32 %f0, 0;
wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8},
    {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17},
    {%r20, %r20, %r20, %r20, %r20, %r20, %r20, %r20}, {%f0, %f0, %f0, %f0, %f0, %f0, %f0, %f0};
mov.u32 %r30, sums;
wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r30], {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8};
bar.warp.sync -1;
shl.b32 %r4, %r0, 2; add.u32 %r30, %r30, %r4;
"""


@pytest.mark.parametrize("schedule", SCHEDULES[:2])
def test_rows_of_a_tile_that_nothing_fills_reach_their_own_sums_only(schedule: dict[str, Any]) -> None:
    """Rows 0 to 7 of operand A are initialized; a row of the accumulator is 64 bytes."""
    assert found(FILLED + "ld.shared.u32 %r9, [%r30+384];" + OUT, **schedule) == []
    assert found(FILLED + "ld.shared.u32 %r9, [%r30+512];" + OUT, **schedule) == ["uninitialized-memory"]


def test_a_fragment_that_the_host_sees_is_found_where_it_is_stored() -> None:
    body = FILLED.replace("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r30]",
                          "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd0]")  # fmt: skip
    assert found(body) == ["uninitialized-memory"]
    assert found(body.replace("setp.lt.u32 %p1, %r0, 16;", "setp.lt.u32 %p1, %r0, 32;")) == []


# --- copies -------------------------------------------------------------------------------------

BULK = """
.shared .align 128 .b8 from[1024];
.shared .align 128 .b8 to[1024];
.shared .align 8 .b64 bar;
mov.u32 %r2, from; mov.u32 %r3, to; mov.u32 %r4, bar; shl.b32 %r5, %r0, 2; add.u32 %r6, %r2, %r5; add.u32 %r7, %r3, %r5;
setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared.b64 [bar], 1;
@%p0 fence.mbarrier_init.release.cluster;
st.shared.u32 [%r6], %r0;
fence.proxy.async.shared::cta;
bar.warp.sync -1;
@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
@%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r3], [%r2], 256, [%r4];
WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
@!%p1 bra WAIT;
"""


@pytest.mark.hopper
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_padding_may_be_copied_in_bulk(schedule: dict[str, Any]) -> None:
    """The first row of 128 bytes is initialized, and the second is padding."""
    assert found(BULK + "ld.shared.u32 %r9, [%r7];" + OUT, **schedule) == []
    used = execute(BULK + "ld.shared.u32 %r9, [%r7+128];" + OUT, np.zeros(512, np.uint32), **schedule).findings
    assert [each.rule for each in used] == ["uninitialized-memory"]
    assert used[0].other_label == "read by bulk copy of thread (0, 0, 0) of CTA (0, 0, 0)"


@pytest.mark.hopper
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_padding_that_a_bulk_copy_brings_to_the_host_is_found_at_the_copy(schedule: dict[str, Any]) -> None:
    body = BULK.partition("@%p0 mbarrier.arrive")[0] + (
        "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r2], SIZE;"
        "@%p0 cp.async.bulk.commit_group; @%p0 cp.async.bulk.wait_group 0;"
    )
    assert found(body.replace("SIZE", "128"), **schedule) == []
    assert found(body.replace("SIZE", "256"), **schedule) == ["uninitialized-memory"]


REDUCED = """
.shared .align 128 .b8 from[1024];
mov.u32 %r2, from; shl.b32 %r5, %r0, 2; add.u32 %r6, %r2, %r5; setp.eq.u32 %p0, %r0, 0;
st.shared.u32 [%r6], %r0;
fence.proxy.async.shared::cta;
bar.warp.sync -1;
@%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.OP [%rd0], [%r2], 128;
@%p0 cp.async.bulk.commit_group; @%p0 cp.async.bulk.wait_group 0;
"""


@pytest.mark.hopper
@pytest.mark.parametrize(
    ("operation", "rules"), [("add.u32", ["uninitialized-memory"]), ("and.b32", ["uninitialized-memory"])]
)
def test_an_output_that_a_bulk_copy_adds_to_without_a_start_is_found(operation: str, rules: list[str]) -> None:
    body = REDUCED.replace("OP", operation)
    assert [each.rule for each in execute(body, np.zeros(32, np.uint32)).findings] == []
    assert [each.rule for each in execute(body, Uninitialized(np.zeros(32, np.uint32))).findings] == rules


ASYNC = """
ld.param.u64 %rd2, [x];
mad.wide.u32 %rd3, %r0, 16, %rd2;
st.global.u32 [%rd3], %r0;
cp.async.ca.shared.global [%r2], [%rd3], 16; cp.async.wait_all;
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_thread_may_copy_more_than_has_been_written(schedule: dict[str, Any]) -> None:
    def rules(load: str) -> list[str]:
        scratch = Uninitialized(np.zeros(512, np.uint32))
        parameters = ".param .u64 out, .param .u64 x"
        return found(SHARED + ASYNC + load + OUT, scratch, parameters=parameters, **schedule)

    assert rules("ld.shared.u32 %r9, [%r2];") == []
    assert rules("ld.shared.u32 %r9, [%r2+12];") == ["uninitialized-memory"]
    few = "cp.async.ca.shared.global [%r2], [%rd3], 16, 4; cp.async.wait_all; ld.shared.u32 %r9, [%r2+12];"
    assert rules(few) == []
