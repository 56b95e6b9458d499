"""Loads, stores and addresses in every state space."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_ir.isa.scalar_types import HELD_BY, SIZES, WIDTHS
from pyptx_sim import Uninitialized, run
from pyptx_sim.errors import MemoryFault
from pyptx_sim.types import byte_size, is_type

from .ptx_text import BODY_LINE, execute, module, words

TYPES = {
    "u8": ("u1", 8), "s8": ("i1", 8), "b8": ("u1", 8), "u16": ("u2", 16), "s16": ("i2", 16), "b16": ("u2", 16),
    "u32": ("u4", 32), "s32": ("i4", 32), "f32": ("f4", 32), "u64": ("u8", 64), "s64": ("i8", 64), "f64": ("f8", 64),
}  # fmt: skip
VECTORS = [(name, width) for name, (_, bits) in TYPES.items() for width in (1, 2, 4) if bits * width <= 128]
random = np.random.default_rng(5)


def samples(dtype: str, count: int) -> np.ndarray[Any, Any]:
    raw = random.integers(0, 256, count * np.dtype(dtype).itemsize, dtype=np.uint8)
    return raw.view(dtype)


def test_every_type_of_the_table_has_a_dtype_as_wide_as_itself_or_its_register() -> None:
    widths = {name: WIDTHS[name] for name in (*SIZES, *HELD_BY) if name != "pred"}
    assert {name: 8 * byte_size(name) for name in widths} == widths
    assert all(is_type(name) and 8 * byte_size(name) >= WIDTHS[name] for name in WIDTHS)
    assert not any(map(is_type, ("u128", "b4", "x32", "global", "")))


@pytest.mark.parametrize("space", ["global", "shared", "local", ""])
@pytest.mark.parametrize(("ptx_type", "width"), VECTORS)
def test_what_is_stored_is_loaded_again(ptx_type: str, width: int, space: str) -> None:
    dtype, bits = TYPES[ptx_type]
    size = np.dtype(dtype).itemsize * width
    bank = {8: "%h", 16: "%h", 32: "%r", 64: "%rd"}[bits]
    names = [f"{bank}{10 + i}" for i in range(width)]
    registers = f"{{{', '.join(names)}}}" if width > 1 else names[0]
    vector = f".v{width}" if width > 1 else ""
    home = {
        "global": "mov.u64 %rd4, %rd3;",
        "shared": "mov.u64 %rd4, s; add.u64 %rd4, %rd4, %rd2;",
        "local": "mov.u64 %rd4, stack;",
        "": "mov.u64 %rd4, stack; cvta.local.u64 %rd4, %rd4;",
    }[space]
    integer = ptx_type if ptx_type[0] != "f" else f"b{bits}"
    body = f"""
    .shared .align 16 .b8 s[1024];
    .local .align 16 .b8 stack[32];
    ld.param.u64 %rd5, [x];
    mul.wide.u32 %rd2, %r0, {size};
    add.u64 %rd3, %rd0, %rd2;
    add.u64 %rd5, %rd5, %rd2;
    {home}
    ld.global{vector}.{integer} {registers}, [%rd5];
    st{"." if space else ""}{space}{vector}.{integer} [%rd4], {registers};
    ld{"." if space else ""}{space}{vector}.{integer} {registers}, [%rd4];
    st.global{vector}.{integer} [%rd3], {registers};
    """
    x, out = samples(dtype, 32 * width), np.zeros(32 * width, dtype)
    result = execute(body, out, x, parameters=".param .u64 out, .param .u64 x")
    assert result.findings == ()
    assert out.tobytes() == x.tobytes()


@pytest.mark.parametrize(
    ("ptx_type", "value"), [("u8", 0xF0), ("s8", 0xFFFFFFF0), ("u16", 0x80F0), ("s16", 0xFFFF80F0)]
)
def test_a_narrow_load_extends_by_its_type(ptx_type: str, value: int) -> None:
    body = (
        f"mov.u32 %r1, 0x80f0;\nst.global.u32 [%rd1], %r1;\nld.global.{ptx_type} %r2, [%rd1];\n"
        f"st.global.u32 [%rd1], %r2;"
    )
    assert set(words(body)) == {value}


def test_eight_words_and_128_bits_move_in_one_instruction() -> None:
    x, out = np.arange(256, dtype=np.uint32), np.zeros(256, np.uint32)
    eight = "{%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}"
    body = f"""
    ld.param.u64 %rd5, [x];
    mul.wide.u32 %rd2, %r0, 32;
    add.u64 %rd3, %rd0, %rd2;
    add.u64 %rd5, %rd5, %rd2;
    ld.global.v8.b32 {eight}, [%rd5];
    st.global.v8.b32 [%rd3], {eight};
    ld.global.b128 %q1, [%rd5];
    mov.b128 {{%rd6, %rd7}}, %q1;
    mov.b128 %q2, {{%rd7, %rd6}};
    st.global.b128 [%rd3+16], %q2;
    """
    assert execute(body, out, x, parameters=".param .u64 out, .param .u64 x").findings == ()
    rows = x.reshape(32, 8)
    assert (out.reshape(32, 8) == np.concatenate([rows[:, :4], rows[:, [2, 3, 0, 1]]], axis=1)).all()


@pytest.mark.parametrize(
    ("whole", "count"), [("b16", 2), ("b32", 2), ("b32", 4), ("b64", 2), ("b64", 4), ("b128", 2), ("b128", 4)]
)
def test_mov_packs_and_unpacks_low_bits_first(whole: str, count: int) -> None:
    bits = int(whole[1:])
    part = f"b{bits // count}"
    parts = ", ".join(f"%part{index}" for index in range(count))
    swapped = ", ".join(f"%part{index}" for index in reversed(range(count)))
    body = f"""
    .reg .{part} %part<{count}>;
    .reg .{whole} %whole;
    ld.param.u64 %rd5, [x];
    mul.wide.u32 %rd2, %r0, {bits // 8};
    add.u64 %rd3, %rd0, %rd2;
    add.u64 %rd5, %rd5, %rd2;
    ld.global.{whole} %whole, [%rd5];
    mov.{whole} {{{parts}}}, %whole;
    mov.{whole} %whole, {{{swapped}}};
    st.global.{whole} [%rd3], %whole;
    """
    x = samples(f"u{bits // count // 8}", 32 * count)
    out = np.zeros_like(x)
    assert execute(body, out, x, parameters=".param .u64 out, .param .u64 x").findings == ()
    assert (out.reshape(32, count) == x.reshape(32, count)[:, ::-1]).all()


def test_a_sink_in_an_unpacked_vector_keeps_its_place() -> None:
    body = "mov.u64 %rd5, 0x500000003; mov.b64 {_, %r1}, %rd5; st.global.u32 [%rd1], %r1;"
    assert set(words(body)) == {5}


def test_a_generic_access_finds_each_lanes_own_space() -> None:
    body = """
    .shared .align 4 .b8 s[128];
    .local .align 4 .b8 stack[4];
    mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2; mad.wide.u32 %rd2, %r0, 4, %rd2;
    mov.u64 %rd3, stack; cvta.local.u64 %rd3, %rd3;
    rem.u32 %r1, %r0, 3;
    setp.eq.u32 %p1, %r1, 1; selp.b64 %rd4, %rd2, %rd1, %p1;
    setp.eq.u32 %p2, %r1, 2; selp.b64 %rd4, %rd3, %rd4, %p2;
    add.u32 %r2, %r0, 100;
    st.u32 [%rd4], %r2;
    ld.u32 %r3, [%rd4];
    isspacep.shared %p3, %rd4; @%p3 add.u32 %r3, %r3, 1000;
    isspacep.local %p4, %rd4; @%p4 add.u32 %r3, %r3, 2000;
    isspacep.global %p5, %rd4; @%p5 add.u32 %r3, %r3, 3000;
    st.global.u32 [%rd1], %r3;
    """
    assert words(body).tolist() == [t + 100 + (3000, 1000, 2000)[t % 3] for t in range(32)]


def test_dynamic_shared_memory_lies_behind_the_static() -> None:
    body = """
    .shared .align 4 .b8 static[12];
    mov.u32 %r1, dynamic; mov.u32 %r2, static; sub.u32 %r3, %r1, %r2;
    mad.lo.u32 %r1, %r0, 4, %r1;
    st.shared.u32 [%r1], %r3;
    ld.shared.u32 %r4, [%r1];
    mov.u32 %r5, %dynamic_smem_size;
    add.u32 %r4, %r4, %r5;
    st.global.u32 [%rd1], %r4;
    """
    before = ".extern .shared .align 16 .b8 dynamic[];"
    assert set(words(body, before=before, shared_bytes=128)) == {16 + 128}


@pytest.mark.parametrize(("target", "static", "total"), [("sm_90", 12, 256), ("sm_80", 130, 384), ("sm_75", 12, 256)])
def test_sizes_of_shared_memory_come_in_units_of_the_device(target: str, static: int, total: int) -> None:
    body = f"""
    .shared .align 1 .b8 fixed[{static}];
    mov.u32 %r1, fixed; mov.u32 %r2, dynamic; sub.u32 %r3, %r2, %r1;
    mov.u32 %r4, %total_smem_size; mov.u32 %r5, %aggr_smem_size; sub.u32 %r5, %r5, %r4;
    st.global.v2.u32 [%rd0], {{%r4, %r5}};
    """
    out = np.zeros(2, np.uint32)
    text = module(body, before=".extern .shared .align 1 .b8 dynamic[];", target=target)
    run(text, grid=1, block=1, args=[out], shared_bytes=200)
    assert out[0] == total
    assert out[1] == 1024  # bytes of shared memory that CUDA reserves in each CTA


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        ("mov.v4.u32 %v, %ntid;", [7, 3, 1, 0]),
        ("ld.global.v4.u32 %v, [%rd0+16];", [7, 20, 21, 23]),
        ("mov.u32 %v.x, 4; mov.u32 %v.y, 5; mov.u32 %v.w, 6;", [7, 4, 5, 6]),
        ("add.u32 %v.x, %r2, %r2; mov.u32 %v.y, %tid.w; mov.u32 %v.w, %ctaid.w;", [7, 14, 0, 0]),
    ],
)
def test_parts_of_a_vector_register_are_stored_beside_others(write: str, expected: list[int]) -> None:
    body = f".reg .v4 .u32 %v; mov.u32 %r2, 7; {write} st.global.v4.u32 [%rd0], {{%r2, %v.x, %v.y, %v.w}};"
    out = np.array([0, 0, 0, 0, 20, 21, 22, 23], np.uint32)
    execute(body, out, block=3, checks="none")
    assert out[:4].tolist() == expected


def test_a_register_that_video_instructions_write_in_parts_is_stored() -> None:
    body = "mov.u32 %r2, 7; vadd.u32.u32.u32 %r3.h1, %r2, %r2, %r2; st.global.v2.u32 [%rd0], {%r2, %r3};"
    out = np.zeros(2, np.uint32)
    assert execute(body, out, block=1).findings == ()
    assert out.tolist() == [7, 14 << 16 | 7]


def test_a_structure_is_passed_by_value_and_indexed_by_a_register() -> None:
    body = """
    mov.b64 %rd2, s; cvta.param.u64 %rd3, %rd2;
    and.b32 %r1, %r0, 3; mad.wide.u32 %rd3, %r1, 4, %rd3;
    ld.u32 %r2, [%rd3];
    ld.param.u16 %h1, [s+4]; cvt.u32.u16 %r3, %h1; add.u32 %r2, %r2, %r3;
    st.global.u32 [%rd1], %r2;
    """
    out = np.zeros(32, np.uint32)
    values = np.array([10, 20, 30, 40], np.uint32)
    parameters = ".param .u64 out, .param .align 4 .b8 s[16]"
    assert execute(body, out, values.tobytes(), parameters=parameters).findings == ()
    assert out.tolist() == [values[t & 3] + 20 for t in range(32)]


@pytest.mark.hopper
def test_a_cta_of_a_cluster_reads_the_next_ones_shared_memory() -> None:
    body = """
    .shared .align 4 .b8 s[4];
    mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, s;
    add.u32 %r3, %r1, 50;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 st.shared.u32 [s], %r3;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    add.u32 %r4, %r1, 1; rem.u32 %r4, %r4, 4;
    mapa.shared::cluster.u32 %r5, %r2, %r4;
    ld.shared::cluster.u32 %r6, [%r5];
    getctarank.shared::cluster.u32 %r7, %r5;
    mad.lo.u32 %r6, %r7, 1000, %r6;
    mov.u32 %r8, %ctaid.x; mad.lo.u32 %r8, %r8, 32, %r0; mad.wide.u32 %rd1, %r8, 4, %rd0;
    st.global.u32 [%rd1], %r6;
    barrier.cluster.arrive; barrier.cluster.wait;
    """
    found = words(body, count=256, grid=8, cluster=(4, 1, 1)).reshape(8, 32)
    assert [set(row) for row in found] == [{(cta % 4 + 1) % 4 * 1001 + 50} for cta in range(8)]


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("ld.global.u32 %r1, [%rd0+128];", "out-of-bounds"),
        ("st.global.u32 [%rd0+-4], %r0;", "out-of-bounds"),
        ("mov.u64 %rd5, 0; ld.u32 %r1, [%rd5];", "out-of-bounds"),
        ("mov.u32 %r5, 0; ld.shared.u32 %r1, [%r5];", "out-of-bounds"),
        ("mov.u64 %rd5, 1048576; st.local.u32 [%rd5], %r0;", "out-of-bounds"),
        ("ld.global.u32 %r1, [%rd0+1];", "misaligned"),
        ("atom.global.add.u32 %r1, [%rd0+2], 1;", "misaligned"),
        ("ld.param.u32 %r1, [out+64];", "out-of-bounds"),
    ],
)
def test_a_fault_is_a_finding_with_checks_and_an_error_without(body: str, rule: str) -> None:
    out = np.zeros(32, np.uint32)
    found = execute(body, out).findings
    assert [finding.rule for finding in found] == [rule]
    assert found[0].line == BODY_LINE
    assert found[0].count == 32
    with pytest.raises(MemoryFault, match=rf"{rule}(.|\n)*PTX line {BODY_LINE}"):
        execute(body, out, checks="none")


def test_a_fault_leaves_the_other_lanes_alone() -> None:
    body = "setp.gt.u32 %p1, %r0, 30; @%p1 add.u64 %rd1, %rd1, 4096; st.global.u32 [%rd1], %r0;"
    out = np.full(32, 99, np.uint32)
    (finding,) = execute(body, out).findings
    assert finding.count == 1
    assert "after argument 0 'out'" in finding.message
    assert out.tolist() == [*range(31), 99]


def test_an_output_read_before_it_is_written_is_found() -> None:
    body = "ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd1], %r1; ld.global.u32 %r2, [%rd1];"
    (finding,) = execute(body, Uninitialized(np.zeros(32, np.uint32))).findings
    assert (finding.rule, finding.count) == ("uninitialized-memory", 32)


def test_special_registers_with_components_move_as_vectors() -> None:
    body = "mov.v4.u32 {%r1, %r2, %r3, %r4}, %tid; mad.lo.u32 %r1, %r2, 100, %r1; st.global.u32 [%rd1], %r1;"
    assert words(body, count=4, block=(4, 1, 1)).tolist() == [0, 1, 2, 3]


def test_special_registers_tell_where_a_thread_stands() -> None:
    body = """
    mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
    mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y;
    mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1;
    mov.u32 %r7, %ctaid.y; mov.u32 %r8, %nctaid.x; mov.u32 %r9, %ctaid.x; mad.lo.u32 %r7, %r7, %r8, %r9;
    mad.lo.u32 %r7, %r7, 60, %r6; mad.wide.u32 %rd1, %r7, 4, %rd0;
    mov.u32 %r10, %laneid; mov.u32 %r11, %warpid; mad.lo.u32 %r10, %r11, 32, %r10;
    mov.u32 %r12, %lanemask_lt; popc.b32 %r12, %r12; mad.lo.u32 %r10, %r12, 100, %r10;
    st.global.u32 [%rd1], %r10;
    """
    out = np.zeros(360, np.uint32)
    assert execute(body, out, grid=(3, 2), block=(5, 4, 3)).findings == ()
    assert out.reshape(6, 60).tolist() == [[t + t % 32 * 100 for t in range(60)]] * 6


def test_a_unified_address_is_an_address() -> None:
    out = np.arange(64, dtype=np.uint32)
    execute("ld.global.u32 %r1, [%rd1+128].unified;\nst.global.u32 [%rd1], %r1;", out)
    assert out[:32].tolist() == list(range(32, 64))


def test_the_address_of_a_parameter_fits_into_32_bits() -> None:
    """Triton extends a parameter's 32-bit address to 64 bits before cvta.param."""
    body = """
    mov.b32 %r1, s; cvt.u64.u32 %rd2, %r1; cvta.param.u64 %rd3, %rd2;
    ld.u32 %r2, [%rd3+8]; st.global.u32 [%rd1], %r2;
    """
    out, values = np.zeros(32, np.uint32), np.array([10, 20, 30, 40], np.uint32)
    parameters = ".param .u64 out, .param .align 4 .b8 s[16]"
    assert execute(body, out, values.tobytes(), parameters=parameters).findings == ()
    assert (out == 30).all()


def test_who_asks_where_reserved_memory_lies_may_use_it() -> None:
    """Cooperative groups of more than one warp use the words at %reserved_smem_offset_1, reserved in each CTA."""
    body = """
    mov.u32 %r1, %reserved_smem_offset_1; cvt.u64.u32 %rd2, %r1; cvta.shared.u64 %rd2, %rd2;
    and.b32 %r2, %r0, 31; setp.eq.u32 %p1, %r2, 0; shr.u32 %r3, %r0, 5; mov.u32 %r4, 1; shl.b32 %r4, %r4, %r3;
    @%p1 red.or.release.cta.b32 [%rd2], %r4;
    bar.sync 0;
    ld.shared.u32 %r5, [%r1]; st.global.u32 [%rd1], %r5;
    """
    assert (words(body, 96, block=96) == 7).all()


def test_others_do_not_know_of_it() -> None:
    (finding,) = execute("mov.u32 %r1, 0x200;\nld.shared.u32 %r2, [%r1];", np.zeros(1, np.uint32)).findings
    assert finding.rule == "out-of-bounds"
    assert "before the first byte" in finding.message


def test_an_entry_parameter_is_selected_by_its_32_bit_address() -> None:
    """Triton selects among the pointers of a kernel so: the address of the parameter, not its value."""
    parameters = ", ".join(f".param .u64 p{number}" for number in range(40))
    body = """
    setp.lt.u32 %p1, %r0, 16;
    mov.b32 %r1, p1;
    mov.b32 %r2, p39;
    selp.b32 %r3, %r1, %r2, %p1;
    ld.param.b64 %rd2, [%r3];
    mad.wide.u32 %rd3, %r0, 8, %rd0;
    st.global.u64 [%rd3], %rd2;
    """
    out = np.zeros(32, np.uint64)
    result = execute(body, out, *range(101, 140), parameters=parameters)
    assert result.findings == ()
    assert out.tolist() == [101] * 16 + [139] * 16
