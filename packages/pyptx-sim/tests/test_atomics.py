"""Atomics, compared with a loop over the lanes in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx_sim.machine.memory.atomics import UPDATES, apply

from .ptx_text import execute, words

if TYPE_CHECKING:
    from collections.abc import Callable

MASK = (1 << 32) - 1


def signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


SCALAR: dict[str, Callable[[int, int], int]] = {
    "add.u32": lambda old, b: (old + b) & MASK,
    "min.u32": min,
    "max.u32": max,
    "min.s32": lambda old, b: min(signed(old), signed(b)) & MASK,
    "max.s32": lambda old, b: max(signed(old), signed(b)) & MASK,
    "and.b32": lambda old, b: old & b,
    "or.b32": lambda old, b: old | b,
    "xor.b32": lambda old, b: old ^ b,
    "inc.u32": lambda old, b: 0 if old >= b else old + 1,
    "dec.u32": lambda old, b: b if old == 0 or old > b else old - 1,
    "exch.b32": lambda _, b: b,
}
# Numbers of distinct addresses that the atomics of 96 lanes access: one, a few, one per lane.
SPREADS = (1, 7, 96)


def in_order(
    operation: str, start: np.ndarray[Any, Any], at: list[int], values: list[int]
) -> tuple[list[int], list[int]]:
    memory, old = [int(value) for value in start], []
    for place, value in zip(at, values, strict=True):
        old.append(memory[place])
        memory[place] = SCALAR[operation](memory[place], value)
    return memory, old


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("operation", SCALAR)
def test_an_atomic_equals_a_loop_over_the_lanes(operation: str, space: str, spread: int) -> None:
    setup = (
        "mov.u32 %r1, s; mad.lo.u32 %r1, %r2, 4, %r1; cvt.u64.u32 %rd5, %r1;"
        "setp.lt.u32 %p1, %r0, 96; @%p1 ld.global.u32 %r7, [%rd6]; @%p1 st.shared.u32 [%r9], %r7; bar.sync 0;"
        if space == "shared"
        else "mad.wide.u32 %rd5, %r2, 4, %rd4;"
    )
    finish = "bar.sync 0; ld.shared.u32 %r7, [%r9]; st.global.u32 [%rd6], %r7;" if space == "shared" else ""
    body = f"""
    .shared .align 4 .b8 s[384];
    ld.param.u64 %rd4, [memory]; ld.param.u64 %rd3, [values];
    mad.wide.u32 %rd3, %r0, 4, %rd3; ld.global.u32 %r3, [%rd3];
    mad.wide.u32 %rd6, %r0, 4, %rd4; mov.u32 %r9, s; mad.lo.u32 %r9, %r0, 4, %r9;
    mul.lo.u32 %r2, %r0, 5; rem.u32 %r2, %r2, {spread};
    {setup}
    atom.{space}.{operation} %r4, [%rd5], %r3;
    st.global.u32 [%rd1], %r4;
    {finish}
    """
    random = np.random.default_rng(spread)
    memory = random.integers(0, 1 << 32, 96, dtype=np.uint32)
    values = random.integers(0, 1 << 32, 96, dtype=np.uint32)
    if operation[:3] in {"inc", "dec"}:
        memory, values = memory % 7, values % 5
    at = [t * 5 % spread for t in range(96)]
    expected, old = in_order(operation, memory, at, values.tolist())
    out = np.zeros(96, np.uint32)
    parameters = ".param .u64 out, .param .u64 memory, .param .u64 values"
    assert execute(body, out, memory, values, block=96, parameters=parameters).findings == ()
    assert memory.tolist() == expected
    assert out.tolist() == old


def test_a_compare_and_swap_lets_one_lane_win() -> None:
    body = "atom.global.cas.b32 %r1, [%rd0], 0, %r2; st.global.u32 [%rd1+128], %r1;"
    out = np.zeros(64, np.uint32)
    execute("add.u32 %r2, %r0, 1;" + body, out)
    assert out[0] == 1
    assert out[32:].tolist() == [0] + [1] * 31


@pytest.mark.parametrize("bits", [16, 64])
def test_a_compare_and_swap_has_other_widths(bits: int) -> None:
    bank = {16: "%h", 64: "%rd"}[bits]
    body = f"""
    cvt.u{bits}.u32 {bank}10, %r0; add.u{bits} {bank}11, {bank}10, 1;
    atom.global.cas.b{bits} {bank}12, [%rd0], {bank}10, {bank}11;
    """
    out = np.zeros(1, f"u{bits // 8}")
    execute(body, out)
    assert out[0] == 32


def test_a_128_bit_exchange_and_swap_move_both_halves() -> None:
    body = """
    cvt.u64.u32 %rd2, %r0; add.u64 %rd3, %rd2, 100; mov.b128 %q1, {%rd2, %rd3};
    add.u64 %rd4, %rd2, 1; add.u64 %rd5, %rd3, 1; mov.b128 %q2, {%rd4, %rd5};
    atom.global.cas.b128 %q3, [%rd0], %q1, %q2;
    add.u64 %rd6, %rd0, 16;
    atom.global.exch.b128 %q3, [%rd6], %q1;
    """
    out = np.array([0, 100, 7, 7], np.uint64)
    execute(body, out)
    assert out.tolist() == [32, 132, 31, 131]


@pytest.mark.parametrize(("ptx_type", "dtype"), [("f32", "f4"), ("f64", "f8")])
def test_a_float_sum_rounds_after_every_lane(ptx_type: str, dtype: str) -> None:
    bank = {"f32": "%f", "f64": "%fd"}[ptx_type]
    body = (
        f"cvt.rn.{ptx_type}.u32 {bank}1, %r0; add.{ptx_type} {bank}1, {bank}1, {bank}1; "
        f"red.global.add.{ptx_type} [%rd0], {bank}1;"
    )
    out = np.array([0.1], dtype)
    execute(body, out, block=256)
    expected = np.array(0.1, dtype)
    for lane in range(256):
        expected = expected + np.array(2 * lane, dtype)
    assert out[0] == expected


def test_a_global_float_sum_flushes_subnormals_and_a_shared_one_keeps_them() -> None:
    body = """
    .shared .align 4 .b8 s[4];
    st.shared.u32 [s], 0;
    bar.warp.sync -1;
    mov.b32 %f1, 0x00000010;
    red.global.add.f32 [%rd0], %f1;
    red.shared.add.f32 [s], %f1;
    bar.warp.sync -1;
    ld.shared.u32 %r1, [s];
    st.global.u32 [%rd0+4], %r1;
    """
    out = np.zeros(2, np.uint32)
    execute(body, out, checks="none")
    assert out.tolist() == [0, 32 * 16]


def test_a_generic_float_sum_flushes_where_its_address_is_global() -> None:
    body = """
    .shared .align 4 .b8 s[4];
    setp.eq.u32 %p1, %r0, 0;
    @%p1 st.shared.u32 [s], 0;
    bar.sync 0;
    mov.u64 %rd2, s;
    cvta.shared.u64 %rd2, %rd2;
    @%p1 mov.b64 %rd2, %rd0;
    mov.b32 %f1, 0x00000010;
    red.add.f32 [%rd2], %f1;
    bar.sync 0;
    ld.shared.u32 %r1, [s];
    @%p1 st.global.u32 [%rd0+4], %r1;
    """
    out = np.zeros(2, np.uint32)
    assert execute(body, out).findings == ()
    assert out.tolist() == [0, 31 * 16]


# Old value, operand; expected min, max, add. -0 is less than +0, min and max ignore a NaN, a NaN result is canonical.
HALVES = {
    "f16": [
        (0x8000, 0x0000, 0x8000, 0x0000, 0x0000),
        (0x0000, 0x8000, 0x8000, 0x0000, 0x0000),
        (0x7E01, 0x3C00, 0x3C00, 0x3C00, 0x7FFF),
        (0x3C00, 0xFE01, 0x3C00, 0x3C00, 0x7FFF),
        (0x7E01, 0xFE02, 0x7FFF, 0x7FFF, 0x7FFF),
        (0x7C00, 0xFC00, 0xFC00, 0x7C00, 0x7FFF),
        (0x0001, 0x8003, 0x8003, 0x0001, 0x8002),
        (0x7BFF, 0x7BFF, 0x7BFF, 0x7BFF, 0x7C00),
    ],
    "bf16": [
        (0x8000, 0x0000, 0x8000, 0x0000, 0x0000),
        (0x0000, 0x8000, 0x8000, 0x0000, 0x0000),
        (0x7FC1, 0x3F80, 0x3F80, 0x3F80, 0x7FFF),
        (0x3F80, 0xFF81, 0x3F80, 0x3F80, 0x7FFF),
        (0x7FC1, 0xFFC2, 0x7FFF, 0x7FFF, 0x7FFF),
        (0x7F80, 0xFF80, 0xFF80, 0x7F80, 0x7FFF),
        (0x0001, 0x8003, 0x8003, 0x0001, 0x8002),
        (0x7F7F, 0x7F7F, 0x7F7F, 0x7F7F, 0x7F80),
    ],
}


@pytest.mark.parametrize("operation", ["min", "max", "add"])
@pytest.mark.parametrize("element", HALVES)
def test_halves_meet_as_the_instructions_of_registers_have_it(element: str, operation: str) -> None:
    rows = HALVES[element]
    memory = np.array([row[0] for row in rows], np.uint16)
    operands = np.array([row[1] for row in rows], np.uint16)
    body = f"""
    ld.param.u64 %rd2, [memory]; ld.param.u64 %rd3, [operands];
    mul.wide.u32 %rd4, %r0, 4; add.u64 %rd2, %rd2, %rd4; add.u64 %rd3, %rd3, %rd4;
    ld.global.v2.b16 {{%h0, %h1}}, [%rd3];
    red.global.{operation}.noftz.v2.{element} [%rd2], {{%h0, %h1}};
    """
    parameters = ".param .u64 out, .param .u64 memory, .param .u64 operands"
    assert execute(body, np.zeros(4, np.uint32), memory, operands, block=4, parameters=parameters).findings == ()
    column = {"min": 2, "max": 3, "add": 4}[operation]
    assert [hex(bits) for bits in memory.tolist()] == [hex(row[column]) for row in rows]


@pytest.mark.parametrize("lanes", [1, 96])
def test_a_float_sum_that_is_no_number_is_the_canonical_one(lanes: int) -> None:
    body = "mov.b32 %f1, 0xFFC01234; red.global.add.f32 [%rd0], %f1; red.shared.add.f32 [s], %f1; bar.sync 0;"
    start = ".shared .align 4 .b8 s[4]; setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [s], 0; bar.sync 0;"
    out = np.zeros(2, np.uint32)
    finish = "ld.shared.u32 %r1, [s]; @%p1 st.global.u32 [%rd0+4], %r1;"
    assert execute(start + body + finish, out, block=lanes).findings == ()
    assert [hex(bits) for bits in out.tolist()] == ["0x7fffffff"] * 2


def test_an_atomic_operation_on_local_memory_is_a_fault() -> None:
    body = ".local .align 4 .b8 l[4]; mov.u64 %rd2, l; cvta.local.u64 %rd2, %rd2; red.add.u32 [%rd2], 1;"
    (finding,) = execute(body, np.zeros(1, np.uint32)).findings
    assert finding.rule == "out-of-bounds"
    assert "local" in finding.message


def test_packed_halves_add_element_by_element() -> None:
    body = """
    mov.b32 %r1, 0x40003C00; red.global.add.noftz.f16x2 [%rd0], %r1;
    mov.b32 %r2, 0x40003F80; atom.global.add.noftz.bf16x2 %r3, [%rd0+4], %r2;
    mov.b16 %h1, 0x3C00; red.global.add.noftz.f16 [%rd0+8], %h1;
    """
    out = np.zeros(3, np.uint32)
    execute(body, out, checks="none")
    assert out[:1].view(np.float16).tolist() == [32, 64]
    assert out[1] == 0x4280_4200
    assert out[2:].view(np.float16)[0] == 32


def test_a_vector_reduction_adds_each_component() -> None:
    body = """
    mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000;
    red.global.add.v2.f32 [%rd0], {%f1, %f2};
    """
    out = np.zeros(2, np.float32)
    execute(body, out, checks="none")
    assert out.tolist() == [32, 64]


@pytest.mark.parametrize("count", [1, 40, 1000])
@pytest.mark.parametrize("name", ["add", "max", "inc", "cas", "exch"])
def test_conflicts_of_any_multiplicity_are_resolved_in_order(name: str, count: int) -> None:
    random = np.random.default_rng(count)
    memory = random.integers(0, 50, 20, dtype=np.uint32)
    index = random.integers(0, 3, count)
    value, second = (random.integers(0, 50, count, dtype=np.uint32) for _ in range(2))
    expected, old = memory.copy(), []
    for at, a, b in zip(index.tolist(), value, second, strict=True):
        old.append(int(expected[at]))
        expected[at] = UPDATES[name].combine(expected[at : at + 1], np.array([a]), np.array([b]))[0]
    assert apply(memory, index, UPDATES[name], value, second).tolist() == old
    assert (memory == expected).all()


def test_the_result_may_go_to_the_bit_bucket_and_addresses_may_be_generic() -> None:
    body = "cvta.global.u64 %rd2, %rd0; atom.add.u32 _, [%rd2+4], 2; atom.or.b32 %r1, [%rd2+8], %r0;"
    assert words(body + "bar.sync 0; setp.gt.u32 %p1, %r0, 2;", count=3).tolist() == [0, 64, 31]


def test_threads_that_update_one_word_again_and_again_are_followed_once() -> None:
    """Threads find a maximum by a compare-and-swap loop, as kernels do for floats; f64 atomics update other words."""
    body = """
    atom.global.add.f64 %fd1, [%rd0+8], 0d3FF0000000000000;
    ld.volatile.global.u32 %r1, [%rd0];
    AGAIN:
    setp.ge.u32 %p1, %r1, %r0; @%p1 bra DONE;
    atom.global.cas.b32 %r2, [%rd0], %r1, %r0;
    setp.eq.u32 %p2, %r1, %r2; mov.u32 %r1, %r2; @!%p2 bra AGAIN;
    DONE:
    """
    out = np.zeros(4, np.uint32)
    assert execute(body, out, grid=2, block=64).findings == ()
    assert out[0] == 63
    assert out[2:].view(np.float64)[0] == 128


@pytest.mark.parametrize("threads", [32, 64, 256])
@pytest.mark.parametrize(
    "update", ["atom.relaxed.gpu.global.add.u32 %r8, [%rd0], 1;", "red.gpu.global.add.u32 [%rd0], 1;"]
)
@pytest.mark.parametrize("wait", [True, False])
def test_who_reads_the_last_of_many_updates_may_read_the_word_in_any_way(
    threads: int, update: str, *, wait: bool
) -> None:
    """Each update reads the one before it, so the last one is after all ("Observation Order"); no read, no order.

    The store of a byte is strong, too: then the checker compares the sizes and scopes of all strong accesses.
    """
    poll = f"AGAIN: ld.relaxed.gpu.global.u32 %r4, [%rd0]; setp.lt.u32 %p2, %r4, {threads}; @%p2 bra AGAIN;" * wait
    body = f"""
    st.relaxed.gpu.global.u8 [%rd1+4096], 1;
    mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 0; @%p1 bra UPDATE;
    setp.ne.u32 %p3, %r0, 0; @%p3 ret;
    {poll}
    ld.global.u32 %r5, [%rd0]; st.global.u32 [%rd1+2048], %r5; ret;
    UPDATE: {update}
    """
    for seed in (0, 1, 2, 5):
        out = np.zeros(2048, np.uint32)
        found = {each.rule for each in execute(body, out, grid=2, block=threads, seed=seed).findings}
        assert found == (set() if wait else {"global-race"}), seed
        assert not wait or out[512] == threads
