"""PTX functions: parameters, recursion, indirect calls, the stack, and functions of CUDA's device runtime."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx_sim.errors import KernelTrap, ProgramError, SimulationError

from .ptx_text import execute, words

each_seed = pytest.mark.parametrize("seed", [0, 1])

FIBONACCI = """
.func (.param .b32 result) fib(.param .b32 n)
{
.reg .pred %p1; .reg .b32 %r<6>;
ld.param.u32 %r1, [n];
setp.lt.u32 %p1, %r1, 2;
mov.u32 %r4, %r1;
@%p1 bra done;
add.u32 %r2, %r1, -1;
{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), fib, (a); ld.param.b32 %r3, [b]; }
add.u32 %r2, %r1, -2;
{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), fib, (a); ld.param.b32 %r4, [b]; }
add.u32 %r4, %r4, %r3;
done:
st.param.b32 [result], %r4;
ret;
}
"""
CALL = "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), NAME, (a); ld.param.b32 %r2, [b]; }"


@each_seed
def test_a_recursive_function_keeps_each_lanes_registers(seed: int) -> None:
    body = f"rem.u32 %r1, %r0, 9;\n{CALL.replace('NAME', 'fib')}\nst.global.u32 [%rd1], %r2;"
    fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21]
    assert words(body, count=40, block=40, before=FIBONACCI, seed=seed).tolist() == [
        fibonacci[t % 9] for t in range(40)
    ]


THREE = """
.func (.reg .b32 y) twice(.reg .b32 x) { add.u32 y, x, x; ret; }
.func (.reg .b32 y) square(.reg .b32 x) { mul.lo.u32 y, x, x; ret; }
.func (.reg .b32 y) next(.reg .b32 x) { add.u32 y, x, 1; ret; }
.global .align 8 .u64 table[3] = {twice, square, next};
"""


@each_seed
def test_lanes_call_different_functions_through_a_table(seed: int) -> None:
    body = """
    prototype: .callprototype (.reg .b32 _) _ (.reg .b32 _);
    rem.u32 %r1, %r0, 3; mov.u64 %rd2, table; mad.wide.u32 %rd2, %r1, 8, %rd2; ld.global.u64 %rd3, [%rd2];
    call (%r2), %rd3, (%r0), prototype;
    st.global.u32 [%rd1], %r2;
    """
    expected = [(2 * t, t * t, t + 1)[t % 3] for t in range(32)]
    assert words(body, before=THREE, seed=seed).tolist() == expected


def test_a_call_through_a_register_may_list_its_targets() -> None:
    body = """
    targets: .calltargets twice, square;
    setp.lt.u32 %p1, %r0, 10; mov.u64 %rd2, twice; mov.u64 %rd3, square; selp.b64 %rd4, %rd2, %rd3, %p1;
    call (%r2), %rd4, (%r0), targets;
    st.global.u32 [%rd1], %r2;
    """
    assert words(body, before=THREE).tolist() == [2 * t if t < 10 else t * t for t in range(32)]


def test_a_guarded_call_is_made_by_some_lanes_only() -> None:
    body = "mov.u32 %r2, 7; setp.gt.u32 %p1, %r0, 20; @%p1 call (%r2), square, (%r0); st.global.u32 [%rd1], %r2;"
    assert words(body, before=THREE).tolist() == [t * t if t > 20 else 7 for t in range(32)]


def test_a_structure_travels_by_value_both_ways() -> None:
    before = """
    .func (.param .align 8 .b8 result[16]) swap(.param .align 8 .b8 given[16], .param .b32 add)
    {
    .reg .b64 %rd<3>; .reg .b32 %r<2>;
    ld.param.b64 %rd1, [given]; ld.param.b64 %rd2, [given+8]; ld.param.b32 %r1, [add];
    mad.wide.u32 %rd1, %r1, 1, %rd1;
    st.param.b64 [result], %rd2; st.param.b64 [result+8], %rd1;
    ret;
    }
    """
    body = """
    cvt.u64.u32 %rd2, %r0;
    {
    .param .align 8 .b8 a[16]; .param .b32 c; .param .align 8 .b8 b[16];
    st.param.v2.b64 [a], {%rd2, 1000}; st.param.b32 [c], 5;
    call (b), swap, (a, c);
    ld.param.v2.b64 {%rd3, %rd4}, [b];
    }
    sub.u64 %rd3, %rd3, %rd4; cvt.u32.u64 %r1, %rd3;
    st.global.u32 [%rd1], %r1;
    """
    assert words(body, before=before).tolist() == [1000 - (t + 5) for t in range(32)]


def test_an_alias_calls_the_function_that_it_names() -> None:
    before = THREE + ".func (.reg .b32 y) again(.reg .b32 x);\n.alias again, square;"
    assert words("call (%r2), again, (%r0); st.global.u32 [%rd1], %r2;", before=before)[5] == 25


def test_each_frame_of_a_recursion_has_its_own_local_memory() -> None:
    before = """
    .func (.param .b32 result) sum(.param .b32 n)
    {
    .local .align 4 .b8 keep[4]; .reg .pred %p1; .reg .b32 %r<5>;
    ld.param.u32 %r1, [n]; st.local.u32 [keep], %r1; mov.u32 %r3, 0;
    setp.eq.u32 %p1, %r1, 0; @%p1 bra done;
    add.u32 %r2, %r1, -1;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call (b), sum, (a); ld.param.b32 %r3, [b]; }
    done:
    ld.local.u32 %r4, [keep]; add.u32 %r3, %r3, %r4; st.param.b32 [result], %r3;
    ret;
    }
    """
    body = f"mov.u32 %r1, %r0;\n{CALL.replace('NAME', 'sum')}\nst.global.u32 [%rd1], %r2;"
    assert words(body, before=before).tolist() == [t * (t + 1) // 2 for t in range(32)]


def test_an_endless_recursion_overflows_the_stack() -> None:
    before = ".func forever() { call forever; ret; }"
    with pytest.raises(
        SimulationError, match=r"stack overflow in a call of forever: the stack has \d+ bytes per thread"
    ):
        execute("call forever;", np.zeros(1), before=before)


def test_memory_is_allocated_on_the_stack() -> None:
    body = """
    stacksave.u64 %rd5;
    add.u64 %rd2, 8, 8; alloca.u64 %rd3, %rd2, 16; cvta.local.u64 %rd4, %rd3;
    st.u32 [%rd4+12], %r0; ld.local.u32 %r1, [%rd3+12];
    stackrestore.u64 %rd5;
    alloca.u64 %rd6, %rd2, 16; sub.u64 %rd6, %rd6, %rd3; cvt.u32.u64 %r2, %rd6; mad.lo.u32 %r1, %r2, 100, %r1;
    st.global.u32 [%rd1], %r1;
    """
    assert words(body).tolist() == list(range(32))


RUNTIME = """
.extern .func (.param .b32 status) vprintf(.param .b64 format, .param .b64 arguments);
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
.extern .func (.param .b64 pointer) malloc(.param .b64 size);
.extern .func free(.param .b64 pointer);
.global .align 1 .b8 text[] = {37, 100, 32, 37, 46, 50, 102, 32, 37, 115, 37, 37, 37, 108, 108, 120, 10, 0};
.global .align 1 .b8 word[] = {104, 105, 0};
"""


def test_vprintf_prints_in_the_order_of_the_lanes() -> None:
    body = """
    .local .align 8 .b8 frame[32];
    setp.gt.u32 %p1, %r0, 2; @%p1 exit;
    mov.u64 %rd2, frame; cvta.local.u64 %rd3, %rd2;
    neg.s32 %r1, %r0; st.local.u32 [%rd2], %r1;
    cvt.rn.f64.u32 %fd1, %r0; mul.f64 %fd1, %fd1, 0d3FF8000000000000; st.local.f64 [%rd2+8], %fd1;
    mov.u64 %rd4, word; cvta.global.u64 %rd4, %rd4; st.local.u64 [%rd2+16], %rd4;
    st.local.u64 [%rd2+24], 0xABCDEF012345;
    mov.u64 %rd5, text; cvta.global.u64 %rd5, %rd5;
    {
    .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %rd5; st.param.b64 [b], %rd3;
    call.uni (c), vprintf, (a, b); ld.param.b32 %r2, [c];
    }
    st.global.u32 [%rd1], %r2;
    """
    out = np.zeros(32, np.uint32)
    result = execute(body, out, before=RUNTIME)
    assert result.findings == ()
    assert result.printed == "0 0.00 hi%abcdef012345\n-1 1.50 hi%abcdef012345\n-2 3.00 hi%abcdef012345\n"
    assert out[:4].tolist() == [4, 4, 4, 0]


FORMATS = """
.global .align 1 .b8 formats[] = {37, 99, 32, 37, 104, 104, 117, 32, 37, 104, 100, 32, 37, 112, 32, 37, 54, 120, 33, 0};
"""


def test_vprintf_prints_characters_short_numbers_and_addresses_as_c_does() -> None:
    body = """
    .local .align 8 .b8 frame[32];
    setp.gt.u32 %p1, %r0, 0; @%p1 exit;
    mov.u64 %rd2, frame; cvta.local.u64 %rd3, %rd2;
    st.local.u32 [%rd2], 0x141; st.local.u32 [%rd2+4], 0x1FF; st.local.u32 [%rd2+8], 0x18000;
    st.local.u64 [%rd2+16], 0xABCDEF; st.local.u32 [%rd2+24], 0xBEEF;
    mov.u64 %rd5, formats; cvta.global.u64 %rd5, %rd5;
    {
    .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %rd5; st.param.b64 [b], %rd3;
    call.uni (c), vprintf, (a, b);
    }
    """
    result = execute(body, np.zeros(32, np.uint32), before=RUNTIME + FORMATS)
    assert result.printed == "A 255 -32768 0xabcdef   beef!"


def test_threads_that_exit_in_a_function_end_and_the_others_return() -> None:
    before = """
    .func (.reg .b32 y) inner(.reg .b32 x) { .reg .pred p; setp.lt.u32 p, x, 5; @p exit; add.u32 y, x, 1; ret; }
    .func (.reg .b32 y) outer(.reg .b32 x) { .reg .b32 t; call (t), inner, (x); mul.lo.u32 y, t, 2; ret; }
    """
    body = "call (%r2), outer, (%r0);\nst.global.u32 [%rd1], %r2;"
    assert words(body, before=before).tolist() == [0 if t < 5 else 2 * (t + 1) for t in range(32)]


def test_a_failed_assertion_stops_the_kernel_with_its_words() -> None:
    body = """
    mov.u64 %rd2, word; cvta.global.u64 %rd2, %rd2;
    setp.eq.u32 %p1, %r0, 3;
    @!%p1 bra fine;
    {
    .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
    st.param.b64 [a], %rd2; st.param.b64 [b], %rd2; st.param.b32 [c], 12; st.param.b64 [d], %rd2; st.param.b64 [e], 1;
    call.uni __assertfail, (a, b, c, d, e);
    }
    fine:
    """
    with pytest.raises(KernelTrap, match=r"hi:12: hi: thread \(3, 0, 0\) of CTA \(0, 0, 0\): Assertion `hi` failed"):
        execute(body, np.zeros(1), before=RUNTIME)


def test_malloc_gives_each_lane_its_own_memory_and_guards_its_end() -> None:
    body = """
    {
    .param .b64 a; .param .b64 b; st.param.b64 [a], 8; call.uni (b), malloc, (a); ld.param.b64 %rd2, [b];
    }
    st.u32 [%rd2+4], %r0; ld.u32 %r1, [%rd2+4];
    { .param .b64 a; st.param.b64 [a], %rd2; call.uni free, (a); }
    EXTRA
    st.global.u32 [%rd1], %r1;
    """
    assert words(body.replace("EXTRA", ""), before=RUNTIME).tolist() == list(range(32))
    out = np.zeros(32, np.uint32)
    (finding,) = execute(body.replace("EXTRA", "ld.u32 %r1, [%rd2];"), out, before=RUNTIME).findings
    assert finding.rule == "out-of-bounds"


def test_a_call_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(ProgramError, match="twice: expected 1 argument and 1 result, got 2"):
        execute("call (%r1), twice, (%r2, %r3);", np.zeros(1), before=THREE)
    extern = ".extern .func unheard_of();"
    with pytest.raises(ProgramError, match="undefined function unheard_of"):
        execute("call unheard_of;", np.zeros(1), before=extern)
    assert execute("setp.lt.u32 %p1, %r0, 0; @%p1 call unheard_of;", np.zeros(1), before=extern).clean
    body = "p: .callprototype _ (); mov.u64 %rd2, 64; call %rd2, p;"
    with pytest.raises(SimulationError, match="indirect call of 0x40: not a function"):
        execute(body, np.zeros(1), before=THREE)


PASSED_ON = """
.func (.param .b32 out) second(.param .b32 first, .param .b32 second)
{
    .reg .b32 %r<9>;
    ld.param.b32 %r1, [second];
    st.param.b32 [out], %r1;
    ret;
}
"""


def passed_on(stores: str) -> str:
    return f"""
    {{
        .param .b32 a; .param .b32 b; .param .b32 c;
        {stores}
        call (c), second, (a, b);
        ld.param.b32 %r1, [c];
    }}
    st.global.u32 [%rd1], %r1;
    """


def test_an_argument_that_the_callee_never_reads_need_not_be_given() -> None:
    assert words(passed_on("st.param.b32 [b], %r0;"), before=PASSED_ON).tolist() == list(range(32))


@pytest.mark.parametrize(("store", "lanes"), [("", 32), ("setp.lt.u32 %p1, %r0, 5; @%p1 st.param.b32 [b], %r0;", 27)])
def test_an_argument_that_the_callee_reads_is_missed_where_it_reads_it(store: str, lanes: int) -> None:
    found = execute(passed_on(store), np.zeros(32, np.uint32), before=PASSED_ON).findings
    assert (found[0].rule, found[0].count) == ("uninitialized-register", lanes)
    assert found[0].message.endswith("depends on b")


ADDRESSED = """
.func (.param .b32 out) sum(.param .align 4 .b8 pair[8], .param .align 4 .b8 rest[])
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    mov.b64 %rd1, pair;
    ld.local.u32 %r1, [%rd1+4];
    cvta.local.u64 %rd2, %rd1;
    ld.u32 %r2, [%rd2];
    mov.b64 %rd3, rest;
    ld.local.u32 %r3, [%rd3+8];
    ld.param.u32 %r4, [rest+4];
    add.u32 %r1, %r1, %r2;
    add.u32 %r1, %r1, %r3;
    add.u32 %r1, %r1, %r4;
    st.param.b32 [out], %r1;
    ret;
}
"""


def test_the_address_of_a_functions_parameter_is_local_and_an_array_may_have_no_size() -> None:
    body = """
    .param .align 4 .b8 a[8]; .param .align 4 .b8 b[12]; .param .b32 c;
    st.param.u32 [a], %r0;
    st.param.u32 [a+4], 100;
    st.param.u32 [b+4], 1000;
    st.param.u32 [b+8], %r0;
    call (c), sum, (a, b);
    ld.param.b32 %r1, [c];
    st.global.u32 [%rd1], %r1;
    """
    assert words(body, before=ADDRESSED).tolist() == [2 * lane + 1100 for lane in range(32)]


COUNTED = """
.func (.param .b32 out) count(.param .b32 n, .param .b32 spare)
{
    .reg .pred %p1;
    .reg .b32 %r<9>;
    ld.param.b32 %r1, [n];
    mov.u32 %r2, 0;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra done;
    sub.u32 %r3, %r1, 1;
    .param .b32 a; .param .b32 b; .param .b32 c;
    st.param.b32 [a], %r3;
    call (c), count, (a, b);
    ld.param.b32 %r2, [c];
    ld.param.b32 %r4, [spare];
    add.u32 %r2, %r2, %r4;
    done:
    st.param.b32 [out], %r2;
    ret;
}
"""


@pytest.mark.parametrize(("depth", "found"), [(1, 0), (2, 1)])
def test_a_recursion_has_its_own_arguments_at_each_level(depth: int, found: int) -> None:
    body = f"""
    .param .b32 a; .param .b32 b; .param .b32 c;
    st.param.b32 [a], {depth};
    st.param.b32 [b], %r0;
    call (c), count, (a, b);
    ld.param.b32 %r1, [c];
    st.global.u32 [%rd1], %r1;
    """
    findings = execute(body, np.zeros(32, np.uint32), before=COUNTED).findings
    assert [finding.rule for finding in findings] == ["uninitialized-register"] * found


def test_a_constant_is_passed_to_a_parameter_that_is_read_in_parts() -> None:
    before = """
    .func (.param .b32 y) sum(.param .b64 x)
    { .reg .b32 %q<3>; ld.param.v2.b32 {%q1, %q2}, [x]; add.u32 %q1, %q1, %q2; st.param.b32 [y], %q1; ret; }
    """
    out = np.zeros(1, np.uint32)
    assert execute("call (%r1), sum, (0x500000007); st.global.u32 [%rd0], %r1;", out, block=1, before=before).clean
    assert out.tolist() == [12]


def test_a_parameter_in_a_register_is_packed_beside_others() -> None:
    before = """
    .func (.reg .b64 y) pair(.reg .u32 x) { .reg .b32 %q; mov.u32 %q, 3; mov.b64 y, {x, %q}; ret; }
    .func write(.reg .u64 p, .reg .u32 x) { .reg .b32 %q; mov.u32 %q, 4; st.global.v2.u32 [p], {x, %q}; ret; }
    """
    body = "call (%rd2), pair, (77); st.global.u64 [%rd0], %rd2; add.u64 %rd3, %rd0, 8; call write, (%rd3, 78);"
    out = np.zeros(4, np.uint32)
    assert execute(body, out, block=1, before=before).findings == ()
    assert out.tolist() == [77, 3, 78, 4]


WIDE = """
.func (.param .b128 result) bump(.param .b128 given)
{
.reg .b128 %q<3>; .reg .b64 %d<3>;
ld.param.b128 %q1, [given];
mov.b128 {%d1, %d2}, %q1;
add.u64 %d1, %d1, 1; add.u64 %d2, %d2, 2;
mov.b128 %q2, {%d1, %d2};
st.param.b128 [result], %q2;
ret;
}
"""
WIDE_CALL = (
    "{ .param .b128 a; .param .b128 b; STORE call (b), bump, (a); LOAD }\nst.global.v2.u64 [%rd0], {%rd4, %rd5};"
)


@pytest.mark.parametrize(
    ("store", "load", "expected"),
    [
        ("mov.b128 %q1, {%rd2, %rd3}; st.param.b128 [a], %q1;", "ld.param.v2.b64 {%rd4, %rd5}, [b];", [-6, 9]),
        ("st.param.v2.b64 [a], {%rd2, %rd3};", "ld.param.b128 %q1, [b]; mov.b128 {%rd4, %rd5}, %q1;", [-6, 9]),
        ("st.param.s64 [a], %rd2;", "ld.param.v2.b64 {%rd4, %rd5}, [b];", [-6, 1]),
        ("st.param.b64 [a], %rd2;", "ld.param.v2.b64 {%rd4, %rd5}, [b];", [-6, 2]),
        ("st.param.s8 [a], -7;", "ld.param.v2.b64 {%rd4, %rd5}, [b];", [-6, 1]),
        ("mov.b128 %q1, {%rd2, %rd3}; st.param.b128 [a], %q1;", "ld.param.s16 %rd4, [b]; mov.u64 %rd5, 0;", [-6, 0]),
    ],
)
def test_a_parameter_of_128_bits_may_be_passed_in_parts(store: str, load: str, expected: list[int]) -> None:
    body = "mov.s64 %rd2, -7; mov.s64 %rd3, 7;\n" + WIDE_CALL.replace("STORE", store).replace("LOAD", load)
    out = np.zeros(2, np.int64)
    assert execute(body, out, block=1, before=WIDE).findings == ()
    assert out.tolist() == expected
