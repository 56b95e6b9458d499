"""Names, scopes, constants and variables of a PTX module."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx_sim import run
from pyptx_sim.errors import MissingSemantics, ProgramError, UnknownForm

from .ptx_text import BODY_LINE, execute, module, words


def test_a_register_may_be_declared_without_percent_and_in_ranges_of_any_prefix() -> None:
    body = """
    .reg .b32 low, r2_<3>, %p1_<12>;
    mov.u32 low, 5;
    mov.u32 r2_2, 7;
    add.u32 %p1_11, low, r2_2;
    st.global.u32 [%rd1], %p1_11;
    """
    assert set(words(body)) == {12}


def test_an_inner_scope_hides_registers_and_labels_of_the_same_name() -> None:
    body = """
    mov.u32 %r1, 1;
    {
    .reg .b32 %r1;
    mov.u32 %r1, 10;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 bra done;
    add.u32 %r1, %r1, 1;
    done:
    mov.u32 %r2, %r1;
    }
    {
    setp.eq.u32 %p1, %r0, 1;
    @%p1 bra done;
    add.u32 %r1, %r1, 100;
    done:
    add.u32 %r2, %r2, %r1;
    }
    st.global.u32 [%rd1], %r2;
    """
    expected = [(10 if t == 0 else 11) + (1 if t == 1 else 101) for t in range(32)]
    assert words(body).tolist() == expected


def test_a_vector_register_has_named_components() -> None:
    body = """
    .reg .v4 .b32 v;
    mov.u32 v.x, 1; mov.u32 v.y, 2; mov.u32 v.z, 3; mov.u32 v.w, %r0;
    .shared .align 16 .b8 s[512];
    mov.u32 %r1, s;
    mad.lo.u32 %r1, %r0, 16, %r1;
    st.shared.v4.b32 [%r1], v;
    ld.shared.b32 %r2, [%r1+12];
    add.u32 %r2, %r2, v.z;
    st.global.u32 [%rd1], %r2;
    """
    assert words(body).tolist() == [t + 3 for t in range(32)]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("0x10", 16),
        ("017", 15),
        ("0b101", 5),
        ("-3", 0xFFFFFFFD),
        ("0x7771U", 0x7771),
        ("WARP_SZ", 32),
        ("0f3F800000", 0x3F800000),
        ("(4 + 2) * 3", 18),
        ("-7 / 2", 0xFFFFFFFD),
        ("~0 & 0xff", 255),
        ("1 << 4 | 1", 17),
        ("3 > 2 ? 10 : 20", 10),
        ("!0", 1),
    ],
)
def test_a_constant_expression_has_its_value(expression: str, value: int) -> None:
    assert set(words(f"mov.b32 %r1, {expression};\nst.global.b32 [%rd1], %r1;")) == {value}


# Initializers of `.global .s64 x`, and their values by ptxas 13.
MEASURED = (
    ("-7 / 2", -3),
    ("-7 / 2U", 0x7FFFFFFFFFFFFFFC),
    ("(.u64)-1 / 2", 0x7FFFFFFFFFFFFFFF),
    ("(.s64)0xFFFFFFFFFFFFFFFF / 2", 0),
    ("9223372036854775808 / 2", 1 << 62),
    ("7 % 4", 3),
    ("-7 % 4", 1),
    ("7 % -4", 7),
    ("-7 % 4 - 2 < 0", 1),
    ("(7U % 4) - 4 > 0", 1),
    ("~0 / 2", 0x7FFFFFFFFFFFFFFF),
    ("~0 > 0", 1),
    ("-1 < 1U", 0),
    ("-1 == 0xFFFFFFFFFFFFFFFF", 1),
    ("-1 >= 0", 0),
    ("(-1 & -1) / 2", 0),
    ("(5 & 1U) - 2 > 0", 1),
    ("-5U / 2", 0x7FFFFFFFFFFFFFFD),
    ("+5U - 6 > 0", 1),
    ("-7 >> 1", -4),
    ("~0 >> 1", 0x7FFFFFFFFFFFFFFF),
    ("1 << 63 >> 63", -1),
    ("1 << 65", 2),
    ("1 << -1", -(1 << 63)),
    ("0x7FFFFFFFFFFFFFFF + 1 > 0", 0),
    ("(1 ? -7 : 2U) / 2", -3),
    ("(1U > 0) - 2 > 0", 0),
    ("(1 == 1U && 1) - 2 > 0", 0),
    ("1.5 / 2.0 > 0.5", 1),
)


@pytest.mark.parametrize(("expression", "value"), MEASURED)
def test_integers_of_an_expression_have_the_types_that_ptxas_gives_them(expression: str, value: int) -> None:
    out = np.zeros(1, np.int64)
    body = "ld.global.u64 %rd2, [x];\nst.global.u64 [%rd0], %rd2;"
    assert execute(body, out, before=f".global .align 8 .s64 x = {expression};", block=1).findings == ()
    assert out.tolist() == [value]


@pytest.mark.parametrize(
    ("declaration", "image"),
    [
        (".f64 x = 0.1 + 0.2", "343333333333d33f"),
        (".f64 x = 0d3FF0000000000000 * 3.0", "0000000000000840"),
        (".f64 x = 0f3F800000", "0000803f00000000"),  # a 0f literal initializes f64 with its 32 bits, not its value
        (".f32 x[2] = {0d3FF0000000000000, 1.5 / 2.0}", "0000803f0000403f"),
        (".b32 x[2] = {1.5, 0f3F800000}", "0000c03f0000803f"),
        (".b64 x = -1.5", "000000000000f8bf"),
        (".u8 x[8] = {300, -1}", "2cff000000000000"),
    ],
)
def test_an_initializer_is_written_as_ptxas_writes_it(declaration: str, image: str) -> None:
    out = np.zeros(1, np.uint64)
    execute(
        "ld.global.u64 %rd2, [x];\nst.global.u64 [%rd0], %rd2;", out, before=f".global .align 8 {declaration};", block=1
    )
    assert out.tobytes().hex() == image


@pytest.mark.parametrize("operator", ["/", "%"])
def test_a_constant_that_is_divided_by_zero_is_an_error(operator: str) -> None:
    with pytest.raises(ProgramError, match="division by zero"):
        execute("", np.zeros(1), before=f".global .u32 x = 7 {operator} 0;")


def test_a_global_variable_may_be_declared_in_a_function() -> None:
    body = """
    .global .align 4 .u32 counter = 40;
    atom.global.add.u32 %r1, [counter], 1; bar.sync 0;
    ld.global.u32 %r2, [counter];
    st.global.u32 [%rd1], %r2;
    """
    assert words(body).tolist() == [72] * 32


BEFORE = """
.global .align 4 .u32 plain = 7;
.global .align 4 .b32 grid[2][3] = {{1, 2}, {4, 5, 6}};
.const .align 8 .f64 halves[] = {0.5, 1.5, 2.5};
.global .align 8 .u64 pointer = grid+8;
.global .align 8 .u64 generic_pointer = generic(halves);
.global .align 1 .b8 bytes[4] = {0xFF(plain), 0xFF00(plain), 1, -1};
.global .align 4 .f32 exact = 0f7FC12345;
.extern .global .align 4 .u32 elsewhere;
"""


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("ld.global.u32 %r1, [plain];", 7),
        ("ld.u32 %r1, [plain];", 7),
        ("ld.global.u32 %r1, [grid+8];", 0),
        ("ld.global.u32 %r1, [grid+16];", 5),
        ("ld.global.u64 %rd2, [pointer]; ld.global.u32 %r1, [%rd2+4];", 4),
        ("ld.const.f64 %fd1, [halves+8]; cvt.rni.u32.f64 %r1, %fd1;", 2),
        ("ld.global.u64 %rd2, [generic_pointer]; ld.f64 %fd1, [%rd2+16]; cvt.rzi.u32.f64 %r1, %fd1;", 2),
        ("mov.u64 %rd2, halves; ld.const.u32 %r1, [%rd2+4];", 0x3FE00000),
        ("ld.global.s8 %r1, [bytes+3];", 0xFFFFFFFF),
        ("ld.global.u32 %r1, [exact];", 0x7FC12345),
        ("mov.u64 %rd2, grid; ld.global.u32 %r1, [%rd2+20];", 6),
        ("mov.u64 %rd2, grid+20; ld.global.u32 %r1, [%rd2];", 6),
    ],
)
def test_a_module_variable_is_initialized_and_addressed(body: str, value: int) -> None:
    assert set(words(f"{body}\nst.global.u32 [%rd1], %r1;", before=BEFORE)) == {value}


def test_a_module_without_the_entry_names_those_that_it_has() -> None:
    text = module("") + ".visible .entry other() { ret; }\n"
    out = np.zeros(1)
    with pytest.raises(ProgramError, match=r"expected one entry, got 2 \(k, other\)"):
        run(text, grid=1, block=1, args=[out])
    with pytest.raises(ProgramError, match=r"unknown entry 'missing'(.|\n)*k, other"):
        run(text, entry="missing", grid=1, block=1, args=[out])
    assert run(text, entry="other", grid=1, block=1).clean


def test_an_instruction_that_no_row_knows_is_named_with_its_line() -> None:
    with pytest.raises(UnknownForm, match=rf"frobnicate\.f32(.|\n)*PTX line {BODY_LINE}"):
        execute("frobnicate.f32 %f1, %f2;", np.zeros(1))


def test_an_instruction_without_semantics_is_named_with_its_line() -> None:
    with pytest.raises(MissingSemantics, match=rf"tex\.2dms(.|\n)*PTX line {BODY_LINE}"):
        execute("tex.2dms.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r0, %r0, %r0, %r0}];", np.zeros(1))


@pytest.mark.parametrize(
    "body",
    [
        "fence.acme;",
        "fence.sc.acme;",
        "mov.acme.u32 %r1, %r0;",
        "bar.acme 0;",
        "bar.sync.acme 0;",
        "cp.acme [%rd1], [%rd1], 4;",
        "membar.acme;",
        "ld.acme.global.u32 %r1, [%rd1];",
        "mbarrier.acme.b64 [%rd1], 1;",
        "prefetch.acme [%rd1];",
    ],
)
def test_words_that_no_row_knows_are_refused(body: str) -> None:
    with pytest.raises(UnknownForm, match=rf"acme(.|\n)*PTX line {BODY_LINE}"):
        execute(body, np.zeros(32, np.uint32))


def test_for_experiments_it_is_read_as_the_form_that_it_comes_nearest_to() -> None:
    body = """
    mov.u32 %r1, 5;
    add.acme.u32 %r2, %r1, %r0;
    fence.acme.sc.gpu;
    st.acme.relaxed.gpu.global.u32 [%rd1], %r2;
    """
    out = np.zeros(32, np.uint32)
    with pytest.raises(UnknownForm, match="acme"):
        execute(body, out)
    assert execute(body, out, closest_form=True).clean
    np.testing.assert_array_equal(out, 5 + np.arange(32))
    with pytest.raises(UnknownForm, match=rf"frobnicate(.|\n)*PTX line {BODY_LINE}"):
        execute("frobnicate.f32 %f1, %f2;", out, closest_form=True)
    with pytest.raises(UnknownForm, match="add"):
        execute("add.acme.u32 %r2, %r1;", out, closest_form=True)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("mov.u32 %r1, nowhere;", "undeclared name nowhere"),
        ("bra nowhere;", "undeclared name nowhere"),
        ("add.u32 %r1, %r99, 1;", "undeclared register %r99"),
        ("add.u32 %r1, %rd1, %p1;", "operand 2 of add.u32, `%rd1`, is a .b64 register"),
        ("add.u64 %r1, %rd1, 1;", "operand 1 of add.u64, `%r1`, is a .b32 register"),
        ("ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];", "vector of 3"),
        ("call missing;", "undeclared name missing|undefined function"),
    ],
)
def test_a_name_or_operand_that_does_not_fit_is_an_error_at_its_line(body: str, message: str) -> None:
    with pytest.raises(ProgramError, match=rf"({message})(.|\n)*line {BODY_LINE}"):
        execute(body, np.zeros(1))
