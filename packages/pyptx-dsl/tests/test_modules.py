from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.errors import (
    ArchError,
    CallError,
    ControlFlowError,
    DirectiveError,
    DslError,
    DuplicateNameError,
    ForeignRegisterError,
    HiddenRegisterError,
    InstructionUseError,
    KeywordError,
    OperandError,
    RegisterTypeError,
    ReturnedValueError,
    SpellingError,
    UndefinedLabelError,
    UnknownTypeError,
)
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.modules.beginning import module
from pyptx_dsl.types import b8, b16, b32, b64, b128, f16, f32, pred, s32, u8, u16, u32, u64
from pyptx_ir.syntax import parse, parse_statements
from pyptx_ir.toolchain.assembler import assemble

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.modules.builder import ModuleBuilder


LARGE = 1_000_000_000  # number of registers for which a list of all names would exhaust memory


def fresh(target: str = "sm_90a", *, unchecked: bool = False) -> ModuleBuilder:
    return module(version=(8, 7), target=target, unchecked=unchecked)


def body(function: Callable[[], object], *, unchecked: bool = False) -> str:
    """Return the text between the braces of an entry."""
    m = fresh(unchecked=unchecked)
    m.entry("k", [m.param("p", u64)])(function)
    return m.ptx().partition("{")[2].removesuffix("}\n")


# --- emitted text -----------------------------------------------------------------------------------


def test_a_module_holds_what_was_called_in_that_order() -> None:
    m = module(version=(8, 7), target="sm_90a")
    lut = m.global_("lut", u32, 4, init=[1, 2, 3, 4], align=16)
    m.comment("adds one")
    helper = m.declare("func", "next", [m.param("a", b32)], [m.param("r", b32)])

    @m.entry("scale", [m.param("X", u64, ptr="global", ptr_align=16)], visible=True, maxntid=(128,), noreturn=False)
    def scale() -> None:
        r = reg.bank("%r", b32, 2)
        (rd,) = reg.declare(b64, "%rd")
        ptx.inst.ld.param.u64(rd, ptx.addr("X"))
        ptx.inst.ld.global_.u32(r[0], ptx.addr(lut, 4))
        ptx.inst.st.global_.u32(ptx.addr(rd, 0), r[0])
        ptx.ret()

    assert (lut, helper, scale) == ("lut", "next", "scale")
    assert m.ptx() == (
        ".version 8.7\n.target sm_90a\n.address_size 64\n\n.global .align 16 .u32 lut[4] = {1, 2, 3, 4};\n\n"
        "// adds one\n.func (.param .b32 r) next(\n\t.param .b32 a\n);\n\n"
        ".visible .entry scale(\n\t.param .u64 .ptr .global .align 16 X\n)\n.maxntid 128\n{\n"
        "\t.reg .b32 %r<2>;\n\t.reg .b64 %rd;\n\tld.param.u64 %rd, [X];\n\tld.global.u32 %r0, [lut+4];\n"
        "\tst.global.u32 [%rd+0], %r0;\n\tret;\n}\n"
    )
    assert parse(m.ptx()) == m.module()


def test_a_body_has_nothing_that_was_not_written() -> None:
    assert body(lambda: None) == "\n"


def test_the_head_stands_where_it_is_written() -> None:
    m = module(tail="")
    m.comment("by hand")
    m.target("sm_90", "debug")
    m.version(8, 0)
    assert m.ptx() == "// by hand\n.target sm_90, debug\n.version 8.0"


@pytest.mark.ptxas
def test_a_module_assembles() -> None:
    m = module(version=(8, 0), target="sm_90a")
    total = m.shared("total", u32, linking="weak")

    @m.func("double", [m.param("a", b32)], [m.param("r", b32)], visible=True)
    def double() -> None:
        r = reg.bank("%r", b32, 2)
        ptx.inst.ld.param.b32(r[0], ptx.addr("a"))
        ptx.inst.add.s32(r[1], r[0], r[0])
        ptx.inst.st.param.b32(ptx.addr("r"), r[1])
        ptx.ret()

    @m.entry("k", [m.param("p", u64)], visible=True, reqntid=(32, 1, 1), pragma="nounroll")
    def k() -> None:
        r = reg.bank("%r", b32, 3)
        ptx.inst.ld.shared.u32(r[0], ptx.addr(total))
        for _ in range(2):
            with ptx.scope():
                argument = ptx.var("param", b32, "argument")
                result = ptx.var("param", b32, "result")
                ptx.inst.st.param.b32(ptx.addr(argument), r[0])
                ptx.call(double, [argument], [result])
                ptx.inst.ld.param.b32(r[0], ptx.addr(result))
        ptx.inst.st.shared.u32(ptx.addr(total), r[0])
        ptx.ret()

    assert assemble(m.ptx(), "sm_90a").cubin


@pytest.mark.ptxas
def test_what_bodies_ask_for_stands_before_their_functions() -> None:
    m = module(version=(8, 0), target="sm_90a")
    for name in ("first", "second"):

        @m.entry(name, [m.param("p", u64)], visible=True)
        def k() -> None:
            tile = smem.alloc(f32, 16)
            x = reg.scalar(f32, init=1.0)
            tile[1] = x + x
            ptx.inst.st.shared.f32(ptx.addr(tile, 0), x)
            ptx.printf("here %f", x)
            ptx.ret()

    text = m.ptx()
    assert text.count("vprintf(") == 1
    assert text.index("printf_text_1") > text.index("entry first")
    assert parse(text) == m.module()
    assert assemble(text, "sm_90a").cubin


def test_comments_behind_the_last_statement_are_kept() -> None:
    m = module(version=(8, 0))
    m.comment("the end")
    assert m.ptx() == m.ptx() == ".version 8.0\n// the end\n"
    m.formatted(leading=" ")
    with pytest.raises(ControlFlowError, match="no statement follows"):
        m.ptx()


def test_functions_have_directives_in_the_order_of_their_keywords() -> None:
    m = fresh()
    m.declare("entry", "k", None, minnctapersm=2, maxntid=(32, 2), directives=[("pragma", "a"), ("pragma", ("b", "c"))])
    m.declare("func", "f", (), linking="extern", noreturn=True, attributes=[("unified", 1, "0x2")])
    assert m.ptx().partition("64\n\n")[2] == (
        '.entry k\n.pragma "a";\n.pragma "b";\n.pragma "c";\n.minnctapersm 2\n.maxntid 32, 2;\n'
        ".extern .func .attribute(.unified(1, 0x2)) f()\n.noreturn;\n"
    )


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda m: m.var("global", "v", u32), ".global .u32 v;"),
        (lambda m: m.const("v", f32, 2, init=[1.0, "0f40000000"]), ".const .f32 v[2] = {0f3F800000, 0f40000000};"),
        (lambda m: m.const("v", u32, (2, 2), init=[[1, 2], [3, 4]]), ".const .u32 v[2][2] = {{1, 2}, {3, 4}};"),
        (lambda m: m.global_("v", u64, 2, init=["generic(w)+4", "w"]), ".global .u64 v[2] = {generic(w)+4, w};"),
        (lambda m: m.global_("v", u8, 1, init=["0xFF(w)"]), ".global .u8 v[1] = {0xFF(w)};"),
        (lambda m: m.shared("v", b8, 0, linking="extern", align=16), ".extern .shared .align 16 .b8 v[];"),
        (lambda m: m.global_("v", f32, vector=4), ".global .v4 .f32 v;"),
        (lambda m: m.global_("v", f16, "0x8"), ".global .f16 v[0x8];"),
        (lambda m: m.global_("v", u32, count=3), ".global .u32 v<3>;"),
        (lambda m: m.global_("v", u32, attributes=["managed"]), ".global .attribute(.managed) .u32 v;"),
        (lambda m: m.global_("v", u32, also=[m.declarator("w", 2)]), ".global .u32 v, w[2];"),
        (lambda m: m.global_("v", "texref"), ".global .texref v;"),
        (
            lambda m: m.global_("v", "texref", init={"filter_mode": "nearest"}),
            ".global .texref v = {filter_mode = nearest};",
        ),
    ],
)
def test_variables_have_every_initializer(write: Callable[[ModuleBuilder], str], text: str) -> None:
    m = fresh()
    assert write(m) == "v"
    assert m.ptx().splitlines()[-1] == text


def test_a_module_has_sections_aliases_files_and_directives() -> None:
    m = fresh()
    m.file(1, "a.cu")
    m.file(2, "b.cu", 7, 9)
    m.file(3, "c.cu", 7)
    with m.section(".debug_info"):
        m.data(b8, 1, "0x2")
        m.label("$here")
        m.data(b32, ".debug_abbrev")
        m.data(b32, "$here-$there")
        m.data(b64, ".debug_str+4")
        m.data("byte", 1)
        m.data("4byte", ".debug_abbrev")
        m.data("quad", "$here+4")
    m.alias("f", "g")
    m.pragma("nounroll")
    m.directive("@@DWARF", ".byte", "0x2b", 0, terminated=False)
    m.empty()
    assert m.ptx().partition("64\n\n")[2] == (
        '.file 1 "a.cu"\n.file 2 "b.cu", 7, 9\n.file 3 "c.cu", 7\n\n.section .debug_info\n\t{\n\t.b8 1, 0x2\n$here:\n'
        "\t.b32 .debug_abbrev\n\t.b32 $here-$there\n\t.b64 .debug_str+4\n"
        "\t.byte 1\n\t.4byte .debug_abbrev\n\t.quad $here+4\n}\n\n"
        '.alias f, g;\n\n.pragma "nounroll";\n\n'
        "@@DWARF .byte 0x2b, 0\n\n;\n"
    )


def test_statements_of_bodies() -> None:
    def function() -> None:
        ptx.directive("maxnreg", 32)
        ptx.pragma("a", "b")
        ptx.loc(1, 2, 3, function_name=("$name", 4), inlined_at=(1, 5, 6))
        ptx.empty()
        for name in ("a", "N0", "N1", "targets"):
            ptx.label(name)
        ptx.branchtargets("a", "N<2>")
        ptx.label("prototype")
        ptx.callprototype([ptx.parameter("_", b32)], [ptx.parameter("_", b64)], noreturn=True)
        ptx.label("functions")
        ptx.calltargets("f", "g")
        ptx.call("%rd1", ["%r1"], ["%rd2"], prototype="prototype", uni=True)
        ptx.comment("two\nlines")
        ptx.call("f")

    assert body(function, unchecked=True).split("\n")[1:-1] == [
        "\t.maxnreg 32;",
        '\t.pragma "a", "b";',
        "\t.loc 1 2 3, function_name $name+4, inlined_at 1 5 6",
        "\t;",
        *("a:", "N0:", "N1:", "targets:"),
        "\t.branchtargets a, N<2>;",
        "prototype:",
        "\t.callprototype (.param .b64 _) _ (.param .b32 _) .noreturn;",
        "functions:",
        "\t.calltargets f, g;",
        "\tcall.uni (%rd2), %rd1, (%r1), prototype;",
        "\t// two",
        "\t// lines",
        "\tcall f;",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (lambda: ptx.addr("p", 0), "[p+0]"),
        (lambda: ptx.addr("p", -8), "[p+-8]"),
        (lambda: ptx.addr("p", "q+4"), "[p+q+4]"),
        (lambda: ptx.tensor_addr("map", ["%r0", 1]), "[map, {%r0, 1}]"),
        (lambda: ptx.tensor_addr("tex", "sampler", ["%f0"]), "[tex, sampler, {%f0}]"),
        (lambda: ptx.unified("p"), "[p].unified"),
        (lambda: reg.pair(["%r0", "%r1"], "%p0"), "{%r0, %r1}|%p0"),
        (lambda: "!%p0", "!%p0"),
        (lambda: "_", "_"),
        (lambda: "0x7771U", "0x7771U"),
        (lambda: "WARP_SZ", "WARP_SZ"),
        (lambda: "p[4]", "p[4]"),
        (lambda: "(1+2)*3", "(1+2)*3"),
    ],
)
def test_operands_of_every_kind(value: Callable[[], object], text: str) -> None:
    written = body(lambda: ptx.inst["word"](value()), unchecked=True).strip()
    assert parse_statements(written) == parse_statements(f"word {text};")


# --- registers and names ------------------------------------------------------------------------------


def test_registers_are_declared_where_and_as_they_are_written() -> None:
    def function() -> None:
        ptx.pragma("first")
        h = reg.bank("%h", f16, 2)
        a, b = reg.declare(u16, "a", ("b", 2), align=4)
        v = reg.bank("%v", f32, 2, vector=4)
        assert (h.dtype, a.dtype, len(b), len(v)) == (f16, u16, 2, 2)
        ptx.inst.mov.b16(h[1], a)
        ptx.inst.mov.f32("%v1.x", "%v0.w")

    assert body(function).split("\n")[1:-1] == [
        '\t.pragma "first";',
        "\t.reg .f16 %h<2>;",
        "\t.reg .align 4 .u16 a, b<2>;",
        "\t.reg .v4 .f32 %v<2>;",
        "\tmov.b16 %h1, a;",
        "\tmov.f32 %v1.x, %v0.w;",
    ]


def test_a_bank_in_a_kernel_leaves_the_names_of_others_alone() -> None:
    @kernel
    def k() -> None:
        r = reg.bank("%r", b32, 2)
        ptx.inst.mov.u32(r[0], reg.scalar(u32, init=1))
        ptx.inst.st.global_.u32(ptx.addr("%rd1", 0), r[0])

    text = k.ptx()
    assert "\t.reg .b32 %r_<1>;\n\n\t.reg .b32 %r<2>;\n\tmov.u32 %r_0, 1;\n\tmov.u32 %r0, %r_0;\n" in text
    assert "[%rd1]" in text


def test_names_of_outer_scopes_come_again_inside() -> None:
    def function() -> None:
        ptx.label("again")
        ptx.var("local", b32, "v")
        p = reg.bank("%p", pred, 1)
        for _ in range(2):
            with ptx.scope():
                q = reg.bank("%p", pred, 1)
                ptx.var("param", b32, "v")
                ptx.label("again")
                ptx.inst.bra("again", pred=~q[0])
        ptx.inst.bra("again", pred=p[0])

    text = body(function)
    assert text.count("again:") == 3
    assert text.count("@!%p0 bra again;") == 2


def test_scopes_open_and_close_by_call_as_deep_as_one_likes() -> None:
    def function() -> None:
        for _ in range(60):
            ptx.open_scope()
        ptx.pragma("deep")
        for _ in range(60):
            ptx.close_scope()

    assert body(function).count("{") == 60


# --- formatting of one statement ------------------------------------------------------------------------


def test_one_statement_has_white_space_and_a_spelling_of_its_own() -> None:
    def function() -> None:
        ptx.formatted(leading="\n\n  /* why */ ")
        r = reg.bank("%r", b32, 2)
        ptx.formatted(leading=" ", text="add.s32\t%r0,%r1, 1 ;")
        ptx.inst.add.s32(r[0], r[1], 1)
        ptx.formatted(leading="\n ")
        with ptx.scope():
            ptx.label("L")
            ptx.formatted(leading=" ")
        ptx.formatted(leading="")

    assert body(function) == "\n\n  /* why */ .reg .b32 %r<2>; add.s32\t%r0,%r1, 1 ;\n {\n\tL: }"


def test_statements_of_a_module_have_a_spelling_of_their_own() -> None:
    m = module(unchecked=True)
    m.formatted(leading="", text=".version  8.0")
    m.version(8, 0)
    m.formatted(leading="\n", text=".entry k ( ) ")
    m.entry("k", brace=" ")(lambda: None)
    m.formatted(text=".section .debug_str ")
    with m.section(".debug_str"):
        m.formatted(leading=" ", text=".b8  1")
        m.data(b8, 1)
        m.formatted(leading=" ")
    assert m.ptx() == ".version  8.0\n.entry k ( )  {\n}\n\n.section .debug_str { .b8  1 }\n"


def test_what_the_table_refuses_can_be_written_unchecked() -> None:
    def wrong() -> None:
        ptx.inst.add.f32(*reg.bank("%r", s32, 3))

    def once() -> None:
        r = reg.bank("%r", s32, 3)
        ptx.formatted(unchecked=True)
        ptx.inst.add.f32(*r)
        ptx.inst.add.f32(*r)  # error here

    with pytest.raises(InstructionUseError):
        body(wrong)
    with pytest.raises(InstructionUseError, match="error here"):
        body(once)
    assert "add.f32 %r0, %r1, %r2;" in body(wrong, unchecked=True)
    assert fresh("sm_20", unchecked=True).ptx() == ".version 8.7\n.target sm_20\n.address_size 64\n"


REFUSED: dict[str, Callable[[ModuleBuilder], object]] = {
    "a variable": lambda m: m.const("c", pred),
    "a declaration": lambda m: m.declare("func", "f", [m.param("p", pred)]),
    "a definition": lambda m: m.entry("k", [m.param("p", pred)])(ptx.inst.ret),
    "a pragma": lambda m: m.pragma("unheard of"),
    "a file": lambda m: m.file(1, "b.cu"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_one_statement_of_a_module_can_be_written_unchecked(kind: str) -> None:
    m = fresh()
    m.file(1, "a.cu")
    with pytest.raises(DslError):
        REFUSED[kind](m)
    m = fresh()
    m.file(1, "a.cu")
    m.formatted(unchecked=True)
    REFUSED[kind](m)
    with pytest.raises(DslError):
        m.const("other", pred)
    parse(m.ptx())


def test_one_line_of_a_section_can_be_written_unchecked() -> None:
    m = fresh()
    with m.section(".debug_x"):
        m.label("one")
        m.formatted(unchecked=True)
        m.data(b8, 300)
        m.formatted(unchecked=True)
        m.label("one")
        with pytest.raises(DirectiveError):
            m.lines(b8, 1, 300)
    assert m.ptx().endswith("{\none:\n\t.b8 300\none:\n}\n")


def test_one_declaration_of_a_body_can_be_written_unchecked() -> None:
    def wrong() -> None:
        ptx.formatted(unchecked=True)
        ptx.var("local", pred, "x")
        ptx.formatted(unchecked=True)
        ptx.file_(1, "a.cu")
        with pytest.raises(DirectiveError):
            ptx.var("local", pred, "y")
        with pytest.raises(DirectiveError):
            ptx.file_(2, "b.cu")

    assert body(wrong).split("\n")[1:-1] == ["\t.local .pred x;", '\t.file 1 "a.cu"']


# --- misuse ---------------------------------------------------------------------------------------------


def twice_in_a_scope() -> None:
    reg.bank("%r", b32, 4)
    reg.declare(b32, "%r3")  # error here


def after_the_traces_own() -> None:
    reg.scalar(u32, init=1)
    reg.bank("%r", b32, 4)  # error here


def by_that_name() -> None:
    reg.bank("%r", b32, 4)
    reg.scalar(u32, name="%r3")  # error here


def behind_its_scope() -> None:
    with ptx.scope():
        r = reg.bank("%r", b32, 1)
    ptx.inst.mov.u32(r[0], 1)  # error here


def below_another() -> None:
    r = reg.bank("%r", b32, 1)
    with ptx.scope():
        reg.bank("%r", b32, 1)
        ptx.inst.mov.u32(r[0], 1)  # error here


def below_another_large_one() -> None:
    r = reg.bank("%r", b32, LARGE)
    with ptx.scope():
        reg.bank("%r1", b32, LARGE)
        ptx.inst.mov.u32(r[12], 1)  # error here


def below_a_member_of_a_large_one() -> None:
    r = reg.bank("%r", b32, LARGE)
    with ptx.scope():
        reg.declare(b32, "%r9")
        ptx.inst.mov.u32(r[8], 1)
        ptx.inst.mov.u32(r[9], 1)  # error here


def behind_the_scope_of_a_large_one() -> None:
    with ptx.scope():
        r = reg.bank("%r", b32, LARGE)
    ptx.inst.mov.u32(r[1], 1)  # error here


def in_a_large_one() -> None:
    reg.bank("%r", b32, LARGE)
    reg.declare(b32, "%r05", f"%r{LARGE}", f"%r{LARGE - 1}")  # error here


def a_large_one_over_another() -> None:
    reg.bank("%r", b32, LARGE)
    reg.bank("%r1", b32, LARGE)  # error here


def a_large_one_over_a_name() -> None:
    reg.declare(b32, "%r7")
    reg.bank("%r", b32, LARGE)  # error here


def operator_behind_its_scope() -> None:
    with ptx.scope():
        (r,) = reg.declare(u32, "%r")
    _ = r + 1  # error here


def another_statement() -> None:
    ptx.formatted(text="ret.uni;")
    ptx.ret()  # error here


def no_statement() -> None:
    ptx.formatted(text="ret")
    ptx.ret()  # error here


def two_deviations() -> None:
    ptx.formatted(leading=" ")
    ptx.formatted(leading=" ")  # error here


def without_a_label() -> None:
    ptx.callprototype()  # error here


def closed_twice() -> None:
    with ptx.scope():
        pass
    ptx.close_scope()  # error here


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (twice_in_a_scope, DuplicateNameError, "'%r3' is already used"),
        (after_the_traces_own, DuplicateNameError, "names %r0"),
        (by_that_name, DuplicateNameError, "'%r3' is already used"),
        (behind_its_scope, HiddenRegisterError, "%r0 is not declared here"),
        (below_another, HiddenRegisterError, "%r0 is hidden here"),
        (below_another_large_one, HiddenRegisterError, "is hidden here"),
        (below_a_member_of_a_large_one, HiddenRegisterError, "%r9 is hidden here"),
        (behind_the_scope_of_a_large_one, HiddenRegisterError, "is not declared here"),
        (in_a_large_one, DuplicateNameError, f"'%r{LARGE - 1}' is already used"),
        (a_large_one_over_another, DuplicateNameError, "'%r10' is already used"),
        (a_large_one_over_a_name, DuplicateNameError, "'%r7' is already used"),
        (operator_behind_its_scope, HiddenRegisterError, "%r is not declared here"),
        (another_statement, SpellingError, "the statement is: ret;"),
        (no_statement, SpellingError, "is not valid PTX"),
        (two_deviations, ControlFlowError, "no statement follows"),
        (without_a_label, ControlFlowError, "must follow the label"),
        (closed_twice, ControlFlowError, "no scope is open"),
        (lambda: ptx.formatted(leading="ret;"), OperandError, "must be whitespace"),
        (lambda: ptx.formatted(leading="/*"), OperandError, "must be whitespace"),
        (lambda: reg.bank("%r", b32, 0), OperandError, "at least one"),
        (lambda: reg.bank("1r", b32, 1), OperandError, "invalid register name"),
        (lambda: reg.bank("%r", b32, 1, vector=3), OperandError, "2 or 4"),
        (lambda: reg.bank("%r", b32, 1, align=3), OperandError, "power of two"),
        (lambda: reg.bank("%r", "b32", 1), UnknownTypeError, "b32"),
        (lambda: reg.declare(b32), OperandError, "needs a name"),
        (lambda: ptx.tensor_addr("map"), OperandError, "coordinates"),
        (lambda: ptx.directive(".maxnreg", 1), OperandError, "without its dot"),
        (lambda: ptx.loc(1, 2, 3, function_name="f"), OperandError, "go together"),
        (lambda: ptx.parameter("a", b32, space="shared"), OperandError, "param or reg"),
        (lambda: ptx.parameter("a", b32, ptr_align=4), OperandError, "ptr=True"),
        (lambda: ptx.callprototype(maxtnid=3), KeywordError, "did you mean maxntid"),
        (lambda: ptx.bra("nowhere"), UndefinedLabelError, "nowhere"),
        (lambda: 3, ReturnedValueError, "returns 3"),
    ],
)
def test_a_mistake_is_an_error_at_its_line(function: Callable[[], object], kind: type[DslError], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)) as caught:
        body(function)
    assert "test_modules.py" in str(caught.value)
    assert "<lambda>" in str(caught.value) or "# error here" in str(caught.value)


def test_an_open_scope_is_an_error_at_the_end() -> None:
    with pytest.raises(ControlFlowError, match="not closed"):
        body(ptx.open_scope)


def test_a_spelling_without_a_statement_is_an_error_at_the_end() -> None:
    with pytest.raises(ControlFlowError, match="no statement follows"):
        body(lambda: ptx.formatted(text="ret;"))


def test_registers_live_in_one_function() -> None:
    m, kept = fresh(), []
    m.entry("first")(lambda: kept.extend(reg.bank("%r", b32, 1)))
    with pytest.raises(ForeignRegisterError, match="first"):
        m.entry("second")(lambda: ptx.inst.mov.u32(kept[0], 1))


@pytest.mark.parametrize(
    ("write", "kind", "message"),
    [
        (lambda m: m.target("sm_42"), ArchError, "unknown target 'sm_42'"),
        (lambda _: module(version=(8, 0)).entry("k"), ArchError, "needs .version and .target"),
        (lambda _: module(version=8.7), OperandError, "must be a pair of numbers"),
        (lambda _: module(tail="ret;"), OperandError, "tail must be whitespace"),
        (lambda m: m.entry("k", brace=";"), OperandError, "brace must be whitespace"),
        (lambda m: m.target(), OperandError, "a name"),
        (lambda m: m.address_size(16), OperandError, "32 or 64"),
        (lambda m: m.var("register", "v", u32), OperandError, "invalid state space"),
        (lambda m: m.global_("v", u32, linking="public"), OperandError, "linking='public'"),
        (lambda m: m.global_("v", "u32"), UnknownTypeError, "u32"),
        (lambda m: m.global_("v", u32, -1), OperandError, "number of elements"),
        (lambda m: m.global_("v", u32, align=6), OperandError, "power of two"),
        (lambda m: m.global_("v", u32, vector=3), OperandError, "2, 4 or 8"),
        (lambda m: m.global_("v", u32, init="1 2"), OperandError, "no operand"),
        (lambda m: m.global_("v", u32, init=1 << 32), OperandError, "4294967296"),
        (lambda m: m.global_("v", u32, initial=1), KeywordError, "init"),
        (lambda m: m.global_("v", u32, attributes=["manged"]), OperandError, "managed"),
        (lambda m: (m.global_("v", u32), m.global_("v", u32)), DuplicateNameError, "'v'"),
        (lambda m: (m.global_("v", u32), m.declare("func", "v")), DuplicateNameError, "'v'"),
        (lambda m: m.declare("kernel", "f"), OperandError, "'kernel'"),
        (lambda m: m.declare("func", "f", linking="common"), OperandError, "common"),
        (lambda m: m.declare("func", "f", visible=True, linking="weak"), OperandError, "not both"),
        (lambda m: m.entry("f", maxtnid=1), KeywordError, "maxntid"),
        (lambda m: (m.entry("f"), m.entry("f")), DuplicateNameError, "'f'"),
        (lambda m: m.entry(lambda: None), OperandError, "comes first"),
        (lambda m: m.entry("f")(lambda x: x), CallError, "1 argument, expected 0"),
        (lambda m: m.entry("f")(3), CallError, "not 3"),
        (lambda m: m.global_("my table", u32), OperandError, "invalid name 'my table'"),
        (lambda m: m.alias("f", "2g"), OperandError, "invalid name '2g'"),
        (lambda m: m.param("a b", u32), OperandError, "invalid name 'a b'"),
        (lambda m: m.data(b8, 1), ControlFlowError, "no section is open"),
        (lambda m: m.file(1, 'a"b'), OperandError, "cannot be written"),
        (lambda m: (m.formatted(leading=" "), m.formatted(leading=" ")), ControlFlowError, "no statement follows"),
        (lambda m: (m.formatted(text=".file 2"), m.file(1, "a")), SpellingError, "no PTX"),
    ],
)
def test_a_mistake_in_a_module_is_an_error(
    write: Callable[[ModuleBuilder], object], kind: type[DslError], message: str
) -> None:
    with pytest.raises(kind, match=re.escape(message)) as caught:
        write(fresh())
    assert "<lambda>" in str(caught.value)


def test_a_header_needs_a_body() -> None:
    m = fresh()
    m.entry("forgotten")  # error here
    with pytest.raises(ControlFlowError, match="'forgotten' has a header but no body") as caught:
        m.ptx()
    assert "error here" in str(caught.value)


def test_sections_hold_data_alone() -> None:
    m = fresh()
    with pytest.raises(ControlFlowError, match="data and labels"), m.section(".debug_str"):
        m.pragma("nounroll")
    with pytest.raises(ControlFlowError, match="cannot be nested"), m.section(".debug_str"), m.section(".debug_info"):
        pass
    with pytest.raises(OperandError, match="type b128"), m.section(".debug_str"):
        m.data(b128, 1)
    with pytest.raises(DirectiveError, match="out of range"), m.section(".debug_str"):
        m.data("byte", 256)
    for name in ("debug_str", ".debug.str", "._"):
        with pytest.raises(OperandError, match="invalid section name"), m.section(name):
            pass


def test_what_is_extern_may_be_defined_too() -> None:
    m = fresh()
    m.global_("v", u32, linking="extern")
    m.global_("v", u32, init=1)
    m.declare("entry", "k")
    m.entry("k")(lambda: None)
    assert m.ptx().count(" v") == 2


def test_a_kernel_has_variables_of_every_kind() -> None:
    @kernel
    def k() -> None:
        ptx.var("const", u32, "table", size=(2, 2), init=[[1, 2], [3, 4]])
        ptx.var("local", b16, "scratch", size=4, also=[ptx.declarator("more", 2)])
        with pytest.raises(RegisterTypeError, match="pred"):
            ptx.var("shared", pred, "p")
        ptx.ret()

    text = k.ptx()
    assert ".const .u32 table[2][2] = {{1, 2}, {3, 4}};" in text
    assert "\t.local .b16 scratch[4], more[2];" in text
