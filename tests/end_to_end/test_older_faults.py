"""Faults of pyptx 0.1.1 (silently wrong, or PTX that ptxas rejects) are fixed in the API functions of the same names.

Each case is a small kernel of 64 threads that each write one 32-bit word. It runs on the simulator with all checks, is
compared with the expected words, and is assembled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import b16, b32, bf16, e4m3, e5m2, f32, f64, pred, s32, s64, tf32, u32, u64
from pyptx_ir.toolchain import assemble

if TYPE_CHECKING:
    from collections.abc import Callable

THREADS = 64
TID = np.arange(THREADS, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel body that returns the register to store, and the words that the 64 threads must store."""

    title: str
    body: Callable[[Any], Any]
    expected: Any
    options: dict[str, Any]


CASES: list[Case] = []


def case(expected: Any, **options: Any) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    def add(body: Callable[[Any], Any]) -> Callable[[Any], Any]:
        CASES.append(Case(body.__name__.replace("_", " "), body, expected, options))
        return body

    return add


def build(body: Callable[[Any], Any], **options: Any) -> Any:
    @kernel(out_specs=(Tile(THREADS, u32),), grid=1, block=(THREADS, 1, 1), **options)
    def k(Y: Any) -> None:
        (py,) = ptx.global_ptrs(Y)
        tid = reg.from_(ptx.special.tid.x(), u32)
        value = body(tid)
        place = py + tid * 4
        if value.dtype is f32:
            ptx.inst.st.global_.f32(ptx.addr(place), value)
        else:
            ptx.inst.st.global_.b32(ptx.addr(place), value)
        ptx.ret()

    return k


def signed(tid: Any) -> Any:
    """Return the thread index minus 32 in an s32 register."""
    value = reg.scalar(s32)
    ptx.inst.sub.s32(value, tid, 32)
    return value


# --- registers and operators ------------------------------------------------------------------------


@case((TID - 32) >> 2)
def a_signed_shift_is_arithmetic(tid: Any) -> Any:
    return signed(tid) >> 2


@case(TID - 32)
def a_signed_offset_is_sign_extended(tid: Any) -> Any:
    base = reg.scalar(u64, init=1 << 40)
    total = base + signed(tid)
    low = reg.scalar(u32)
    ptx.inst.cvt.u32.u64(low, total)
    return low


@case((TID * (1 << 30) * 4) >> 32)
def a_product_added_to_a_pointer_does_not_wrap(tid: Any) -> Any:
    base = reg.scalar(u64, init=0)
    base += tid * (1 << 32 - 1)  # tid * 2^31 exceeds 32 bits from thread 2 on
    base += tid * (1 << 32 - 1)
    high = reg.scalar(u32)
    ptx.inst.shr.u64(base, base, 32)
    ptx.inst.cvt.u32.u64(high, base)
    return high


@case(np.full(THREADS, 31))
def the_maximum_of_signed_values_is_signed(tid: Any) -> Any:  # noqa: ARG001 - the caller's signature
    value = reg.from_(ptx.special.laneid(), s32)
    with ptx.if_(value < 31):
        value -= 63
    ptx.warp.reduce_max(value)
    return value


@case(np.full(THREADS, -32))
def the_minimum_of_signed_values_is_signed(tid: Any) -> Any:  # noqa: ARG001 - the caller's signature
    lane = reg.from_(ptx.special.laneid(), s32)
    value = lane - 32
    ptx.warp.reduce_min(value)
    return value


@case(((TID * 2.0 + 1.0) / 4.0 - 0.5).astype(np.float32))
def floats_have_arithmetic(tid: Any) -> Any:
    value = reg.scalar(f32)
    ptx.inst.cvt.rn.f32.u32(value, tid)
    return (value * 2.0 + 1.0) / 4.0 - 0.5


@case(np.where((TID > 3) & ~(TID > 9) | (TID == 20), 1, 0))
def predicates_combine(tid: Any) -> Any:
    chosen = (tid > 3) & ~(tid > 9) | (tid == 20)
    out = reg.scalar(u32)
    ptx.selp(u32, out, 1, 0, chosen)
    return out


@case(10 - TID)
def a_number_stands_left_of_a_minus(tid: Any) -> Any:
    return 10 - tid


@case(TID * 3 + 1)
def numpy_integers_are_integers(tid: Any) -> Any:
    return tid * np.int64(3) + np.uint8(1)


@case(np.zeros(THREADS, np.float32))
def an_integer_initializes_a_float(tid: Any) -> Any:  # noqa: ARG001 - the caller's signature
    return reg.scalar(f32, init=0)


@case(TID)
def every_type_has_a_register(tid: Any) -> Any:
    for dtype in (bf16, tf32, e4m3, e5m2, f64, s64, pred):
        reg.scalar(dtype)
    reg.scalar(bf16, init=1.5)
    return tid


@case(TID + 4)
def a_narrow_register_takes_a_wide_addend(tid: Any) -> Any:
    wide = reg.scalar(u64, init=4)
    total = tid + wide
    low = reg.scalar(u32)
    ptx.inst.cvt.u32.u64(low, total)
    return low


# --- memory -----------------------------------------------------------------------------------------


@case(TID * 100 + 2)
def a_stage_of_shared_memory_is_that_stage(tid: Any) -> Any:
    s = smem.alloc(u32, (3, THREADS))
    for stage in range(3):
        s[stage, tid] = tid * 100 + stage
    out = reg.scalar(u32)
    ptx.inst.ld.shared.u32(out, ptx.addr(smem_at(s[2], tid)))
    return out


def smem_at(part: Any, tid: Any) -> Any:
    base = reg.scalar(u32)
    ptx.inst.mov.u32(base, part)
    return base + tid * 4


@case(TID * 7)
def large_shared_memory_keeps_its_offsets(tid: Any) -> Any:
    first = smem.alloc(u32, (14 * 1024,))
    second = smem.alloc(u32, (THREADS, 4))
    first[tid] = tid
    second[tid, 0] = tid * 7
    return second[tid, 0]


@case(TID + 1)
def sixteen_bit_elements_are_loaded_and_stored(tid: Any) -> Any:
    s = smem.alloc(bf16, (THREADS, 2))
    half = reg.scalar(b16)
    ptx.inst.cvt.u16.u32(half, tid + 1)
    s[tid, 1] = half
    back = s[tid, 1]
    out = reg.scalar(u32)
    ptx.inst.cvt.u32.u16(out, back)
    return out


@case(TID)
def a_negative_offset_assembles(tid: Any) -> Any:
    s = smem.alloc(u32, (THREADS + 2,))
    s[tid] = tid
    base = smem_at(s, tid)
    out = reg.scalar(u32)
    ptx.inst.ld.shared.u32(out, ptx.addr(base + 8, -8))
    return out


# --- control flow -----------------------------------------------------------------------------------


@case(np.select([TID < 8, TID < 16, TID < 40], [1, 2, 3], 4))
def branches_nest(tid: Any) -> Any:
    out = reg.scalar(u32)
    with ptx.if_(tid < 16):
        with ptx.if_(tid < 8):
            ptx.inst.mov.u32(out, 1)
        with ptx.else_():
            ptx.inst.mov.u32(out, 2)
    with ptx.else_():
        with ptx.if_(tid < 40):
            ptx.inst.mov.u32(out, 3)
        with ptx.else_():
            ptx.inst.mov.u32(out, 4)
    return out


@case(TID * (TID - 1) // 2)
def a_range_stops_at_a_register(tid: Any) -> Any:
    total = reg.scalar(u32, init=0)
    for i in ptx.range_(0, tid):
        total += i
    return total


@case(np.full(THREADS, 9 + 7 + 5 + 3 + 1))
def a_range_runs_downwards(tid: Any) -> Any:  # noqa: ARG001 - the caller's signature
    total = reg.scalar(s32, init=0)
    for i in ptx.range_(9, -1, -2):
        total += i
    return total


@case(np.minimum(TID, 5))
def a_loop_breaks(tid: Any) -> Any:
    count = reg.scalar(u32, init=0)
    with ptx.loop():
        with ptx.if_(count >= tid):
            ptx.break_()
        with ptx.if_(count == 5):
            ptx.break_()
        count += 1
    return count


@case(np.full(THREADS, 12))
def two_counted_loops_have_two_labels(tid: Any) -> Any:  # noqa: ARG001 - the caller's signature
    total = reg.scalar(u32, init=0)

    def body() -> None:
        ptx.inst.add.u32(total, total, 1)

    ptx.kloop(8, unroll=2, body=body)
    ptx.kloop(4, unroll=2, body=body)
    return total


@case(np.full(THREADS, 10))
def a_python_break_leaves_no_label_dangling(tid: Any) -> Any:  # noqa: ARG001 - the caller's signature
    total = reg.scalar(u32, init=0)
    for _ in ptx.range_(0, 10):
        total += 1
    return total


# --- wrappers ---------------------------------------------------------------------------------------


@case(TID * 5 + 7)
def a_multiply_add_is_an_expression(tid: Any) -> Any:
    return ptx.mad(tid, 5, 7)


@case((TID * 0.5 + 2.0).astype(np.float32))
def a_float_multiply_add_is_an_expression(tid: Any) -> Any:
    value = reg.scalar(f32)
    ptx.cvt(f32, u32, value, tid, rounding="rn")
    return ptx.mad(value, 0.5, 2.0)


@case(TID)
def conversions_take_their_rounding(tid: Any) -> Any:
    value, out = reg.scalar(f32), reg.scalar(b32)
    ptx.cvt(f32, u32, value, tid, rounding="rn")
    ptx.cvt(tf32, f32, out, value, rounding="rna")
    back = reg.scalar(u32)
    ptx.inst.mov.b32(value, out)
    ptx.cvt(u32, f32, back, value, rounding="rzi")
    return back


@case(TID % 32)
def special_registers_have_their_types(tid: Any) -> Any:  # noqa: ARG001 - the caller's signature
    assert ptx.special.clock64().dtype is u64
    assert ptx.sreg("%globaltimer").dtype is u64
    return reg.from_(ptx.special.laneid(), u32)


each_case = pytest.mark.parametrize("item", CASES, ids=[item.title for item in CASES])


@each_case
def test_it_computes_what_it_says_and_gives_no_finding(item: Case) -> None:
    result = build(item.body, **item.options).simulate(checks="all")
    assert result.findings == ()
    expected = np.asarray(item.expected)
    words = expected.view(np.uint32) if expected.dtype == np.float32 else expected.astype(np.int64).astype(np.uint32)
    assert np.array_equal(result.outputs[0], words)


@each_case
@pytest.mark.ptxas
def test_it_assembles_and_traces_the_same_again(item: Case) -> None:
    text = build(item.body, **item.options).ptx()
    assert text == build(item.body, **item.options).ptx()
    assert assemble(text, "sm_90a").cubin[:4] == b"\x7fELF"


def test_template_keywords_do_not_stick() -> None:
    @kernel(out_specs=(Tile(THREADS, u32),), grid=1, block=(THREADS, 1, 1))
    def k(Y: Any, *, factor: int = 1) -> None:
        (py,) = ptx.global_ptrs(Y)
        tid = reg.from_(ptx.special.tid.x(), u32)
        ptx.inst.st.global_.u32(ptx.addr(py + tid * 4), tid * factor)

    plain = k.ptx()
    assert k.ptx(factor=3) != plain
    assert k.ptx() == plain
    assert k(factor=3)[5] == 15
    assert k()[5] == 5
    assert k.template_params == {"factor": 1}


def test_one_specialization_does_not_change_another() -> None:
    @kernel(out_specs=(Tile("N", u32),), grid=1, block=(THREADS, 1, 1))
    def k(Y: Any) -> None:
        smem.alloc(u32, (Y.shape[0],))[0] = 1

    big = k.ptx(N=20_000)
    small = k.ptx(N=64)
    assert k.ptx(N=20_000) == big
    assert ".extern .shared" in big
    assert ".extern .shared" not in small


def test_asynchronous_copies_take_allocations_and_registers() -> None:
    @kernel(in_specs=(Tile(THREADS, u32),), grid=1, block=(THREADS, 1, 1), arch="sm_80")
    def k(X: Any) -> None:
        (px,) = ptx.global_ptrs(X)
        s = smem.alloc(u32, (2, THREADS))
        ptx.cp.async_.ca(s[1], px, 4)
        ptx.cp.async_.cg(ptx.addr(s), ptx.addr(px), 16)
        ptx.cp.async_.commit_group()
        ptx.cp.async_.wait_group(0)

    text = k.ptx()
    assert "cp.async.ca.shared.global [smem_0+256], [%rd0], 4;" in text
    assert assemble(text, "sm_80").cubin[:4] == b"\x7fELF"


def test_a_matrix_load_has_a_layout_by_default() -> None:
    @kernel(grid=1, block=(32, 1, 1), arch="sm_80")
    def k() -> None:
        s = smem.alloc(b16, (8, 32))
        ptx.ldmatrix(dst=reg.array(b32, 4), src=s)

    text = k.ptx()
    assert "ldmatrix.sync.aligned.m8n8.x4.shared.b16" in text
    assert assemble(text, "sm_80").cubin[:4] == b"\x7fELF"
