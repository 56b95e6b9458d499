"""Syntax trees of PTX texts: every directive and every kind of operand has a typed node."""

from __future__ import annotations

import gc

import pytest

from pyptx_ir.syntax import emit, evolve, parse, parse_operand, parse_statements, spell
from pyptx_ir.syntax.nodes import (
    AddressSize,
    Alias,
    Attribute,
    Block,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Declarator,
    Directive,
    Empty,
    File,
    Function,
    Guard,
    HeaderDirective,
    InlinedAt,
    Instruction,
    Label,
    Loc,
    Parameter,
    Pointer,
    Pragma,
    RegisterDeclaration,
    RegisterName,
    Section,
    SectionData,
    Statement,
    Target,
    Variable,
    Version,
)
from pyptx_ir.syntax.operands import (
    Address,
    Apply,
    Binary,
    CallList,
    Immediate,
    Index,
    Negated,
    Operand,
    Pair,
    Parenthesized,
    Register,
    Sink,
    Symbol,
    TensorAddress,
    Ternary,
    Unary,
    Unified,
    Vector,
)
from pyptx_ir.syntax.parser import _parse
from pyptx_ir.syntax.source import Source

ONE, TWO, FOUR = Immediate("1"), Immediate("2"), Immediate("4")
A, B, C = Symbol("a"), Symbol("b"), Symbol("c")
R1, R2, R3 = Register("%r1"), Register("%r2"), Register("%r3")

OPERANDS: dict[str, Operand] = {
    "%r1": R1,
    "%tid.x": Register("%tid.x"),
    "%tid .x": Register("%tid.x"),
    "%v.b0": Register("%v.b0"),
    "%_low": Register("%_low"),
    "$x": Symbol("$x"),
    "_x": Symbol("_x"),
    "V.x": Symbol("V.x"),
    "_": Sink(),
    "WARP_SZ": Immediate("WARP_SZ"),
    "-WARP_SZ": Immediate("-WARP_SZ"),
    "12": Immediate("12"),
    "0x7771U": Immediate("0x7771U"),
    "0XfF": Immediate("0XfF"),
    "0b101U": Immediate("0b101U"),
    "017": Immediate("017"),
    "0f3F800000": Immediate("0f3F800000"),
    "0D3ff0000000000000": Immediate("0D3ff0000000000000"),
    "1.5": Immediate("1.5"),
    "1.": Immediate("1."),
    ".05": Immediate(".05"),
    "1e5": Immediate("1e5"),
    "-1.5E-3": Immediate("-1.5E-3"),
    "-4": Immediate("-4"),
    "- 4": Immediate("-4"),
    "+4": Unary("+", FOUR),
    "-x": Unary("-", Symbol("x")),
    "--4": Unary("-", Immediate("-4")),
    "~4": Unary("~", FOUR),
    "!4": Unary("!", FOUR),
    "!a": Negated(A),
    "! %p1": Negated(Register("%p1")),
    "(.s64)4": Unary("(.s64)", FOUR),
    "(.u64)-4": Unary("(.u64)", Immediate("-4")),
    "(4)": Parenthesized(FOUR),
    "1+2*4": Binary("+", ONE, Binary("*", TWO, FOUR)),
    "(1+2)*4": Binary("*", Parenthesized(Binary("+", ONE, TWO)), FOUR),
    "1-2-4": Binary("-", Binary("-", ONE, TWO), FOUR),
    "4 % 2": Binary("%", FOUR, TWO),
    "1<<2>>4": Binary(">>", Binary("<<", ONE, TWO), FOUR),
    "1<2 == 4>=2": Binary("==", Binary("<", ONE, TWO), Binary(">=", FOUR, TWO)),
    "1&2^4|1": Binary("|", Binary("^", Binary("&", ONE, TWO), FOUR), ONE),
    "1&&2||4": Binary("||", Binary("&&", ONE, TWO), FOUR),
    "1 ? 2 : 4 ? 1 : 2": Ternary(ONE, TWO, Ternary(FOUR, ONE, TWO)),
    "a+4": Binary("+", A, FOUR),
    "a+1*2==4": Binary("+", A, Binary("==", Binary("*", ONE, TWO), FOUR)),
    "a+1?2:4": Binary("+", A, Ternary(ONE, TWO, FOUR)),
    "a[4]": Index(A, FOUR),
    "a[%r1+4][b]": Index(Index(A, Binary("+", R1, FOUR)), B),
    "generic(a)+4": Binary("+", Apply(Symbol("generic"), A), FOUR),
    "0xFF00(generic(a)+4)": Apply(Immediate("0xFF00"), Binary("+", Apply(Symbol("generic"), A), FOUR)),
    "[a]": Address(A),
    "[ %r1 + 4 ]": Address(R1, FOUR),
    "[%r1+-4]": Address(R1, Immediate("-4")),
    "[%r1-4]": Address(R1, Immediate("-4")),
    "[%r1+4+2]": Address(R1, Binary("+", FOUR, TWO)),
    "[a+4*2]": Address(A, Binary("*", FOUR, TWO)),
    "[4*2]": Address(Binary("*", FOUR, TWO)),
    "[%r1, {%r2, %r3}]": TensorAddress((R1, Vector((R2, R3)))),
    "[a].unified": Unified(Address(A)),
    "[%r1+4] .unified": Unified(Address(R1, FOUR)),
    "[a+4-2, b]": TensorAddress((Binary("+", A, Binary("-", FOUR, TWO)), B)),
    "{%r1, {a, -4}, _}": Vector((R1, Vector((A, Immediate("-4"))), Sink())),
    "{}": Vector(()),
    "{a = b, c = 4}": Vector((Binary("=", A, B), Binary("=", C, FOUR))),
    "%p1|_": Pair(Register("%p1"), Sink()),
    "a | b": Pair(A, B),
    "()": CallList(()),
    "(a, b)": CallList((A, B)),
}

FUNCTION = """\
.visible .func .attribute(.unified(1, 2)) (.param .align 8 .b8 r[16]) f(
\t.reg .v2 .f32 x,
\t.param .u64 .ptr .global .align 16 p,
\t.param.u64.ptr.align 1 q, .param .b8 rest[]
)
.noreturn
.abi_preserve 8
{
\tret;
}"""

STATEMENTS: dict[str, tuple[Statement, ...]] = {
    ".version 8.0": (Version(8, 0),),
    ".target sm_90a, debug": (Target(("sm_90a", "debug")),),
    ".address_size 64": (AddressSize(64),),
    '.file 1 "a.cu"': (File(1, "a.cu"),),
    r'.file 2 "C:\"': (File(2, "C:\\"),),
    '.file 1 "a", 5, 0x10': (File(1, "a", 5, 16),),
    ".loc 1 2 3": (Loc(1, 2, 3),),
    ".loc 1 2 3, function_name $L_s, inlined_at 1 4 5": (Loc(1, 2, 3, InlinedAt("$L_s", 0, 1, 4, 5)),),
    ".loc 1 2 3 , function_name .debug_str + 16, inlined_at 1 4 5\nret;": (
        Loc(1, 2, 3, InlinedAt(".debug_str", 16, 1, 4, 5)),
        Instruction(("ret",)),
    ),
    '.pragma "nounroll", "x";': (Pragma(("nounroll", "x")),),
    ".alias f, g;": (Alias("f", "g"),),
    ".maxnreg 32;": (Directive("maxnreg", (Immediate("32"),)),),
    ".maxntid 1, 2\n": (Directive("maxntid", (ONE, TWO), terminated=False),),
    '@@DWARF .4byte .debug_info\n@@DWARF .section .x, "", @progbits': (
        Directive("@@DWARF", (Symbol(".4byte"), Symbol(".debug_info")), terminated=False),
        Directive("@@DWARF", (Symbol(".section"), Symbol(".x"), "", Symbol("@progbits")), terminated=False),
    ),
    "t: .branchtargets N<5>, M;": (Label("t"), BranchTargets(("N<5>", "M"))),
    "t: .calltargets f, g;": (Label("t"), CallTargets(("f", "g"))),
    ".callprototype _;": (CallPrototype(None),),
    ".callprototype (.param .b32 _) _ (.param .b8 _[12], .param .f32) .noreturn .abi_preserve 3;": (
        CallPrototype(
            (Parameter("b8", "_", dimensions=(Immediate("12"),)), Parameter("f32", "")),
            (Parameter("b32", "_"),),
            (HeaderDirective("noreturn"), HeaderDirective("abi_preserve", (Immediate("3"),))),
        ),
    ),
    ".reg .f16 low,high;": (RegisterDeclaration("f16", (RegisterName("low"), RegisterName("high"))),),
    ".reg.v4.b32 %r<4>, q;": (RegisterDeclaration("b32", (RegisterName("%r", 4), RegisterName("q")), "v4"),),
    ".reg .align 8 .b64 x;": (RegisterDeclaration("b64", (RegisterName("x"),), alignment=8),),
    ".global .u32 x;": (Variable("global", "u32", (Declarator("x"),)),),
    ".align 4 .shared .b8 a[2][], b<3>;": (
        Variable("shared", "b8", (Declarator("a", (TWO, None)), Declarator("b", count=3)), alignment=4),
    ),
    ".weak .const[2] .v4 .f32 c = {1, {2, -4}};": (
        Variable(
            "const[2]",
            "f32",
            (Declarator("c", (), Vector((ONE, Vector((TWO, Immediate("-4")))))),),
            linking="weak",
            vector="v4",
        ),
    ),
    ".extern .shared::cta .align 16 .b8 s[];": (
        Variable("shared::cta", "b8", (Declarator("s", (None,)),), linking="extern", alignment=16),
    ),
    ".common .global .attribute(.managed, .unified(1, 2)) .u64 x = generic(a)+4;": (
        Variable(
            "global",
            "u64",
            (Declarator("x", (), Binary("+", Apply(Symbol("generic"), A), FOUR)),),
            linking="common",
            attributes=(Attribute("managed"), Attribute("unified", (ONE, TWO))),
        ),
    ),
    ".global .samplerref s = { filter_mode = nearest };": (
        Variable(
            "global",
            "samplerref",
            (Declarator("s", (), Vector((Binary("=", Symbol("filter_mode"), Symbol("nearest")),))),),
        ),
    ),
    ".tex .u32 t;": (Variable("tex", "u32", (Declarator("t"),)),),
    ".entry k {}": (Function("entry", "k", None, body=Block(())),),
    ".func f\n.weak .func g()": (Function("func", "f", None), Function("func", "g", (), linking="weak")),
    ".extern .func (.reg .u32 r) f (.param .b32) ;": (
        Function("func", "f", (Parameter("b32", ""),), (Parameter("u32", "r", "reg"),), linking="extern"),
    ),
    FUNCTION: (
        Function(
            "func",
            "f",
            (
                Parameter("f32", "x", "reg", vector="v2"),
                Parameter("u64", "p", pointer=Pointer("global", 16)),
                Parameter("u64", "q", pointer=Pointer(None, 1)),
                Parameter("b8", "rest", dimensions=(None,)),
            ),
            (Parameter("b8", "r", alignment=8, dimensions=(Immediate("16"),)),),
            "visible",
            (Attribute("unified", (ONE, TWO)),),
            (HeaderDirective("noreturn"), HeaderDirective("abi_preserve", (Immediate("8"),))),
            Block((Instruction(("ret",)),)),
        ),
    ),
    '.entry k() .maxntid 128, 1, 1 .minnctapersm 2 .pragma "a"; .explicitcluster { }': (
        Function(
            "entry",
            "k",
            (),
            directives=(
                HeaderDirective("maxntid", (Immediate("128"), ONE, ONE)),
                HeaderDirective("minnctapersm", (TWO,)),
                HeaderDirective("pragma", ("a",)),
                HeaderDirective("explicitcluster"),
            ),
            body=Block(()),
        ),
    ),
    ".section .debug_str\n{ .b8 1, -2\nx: .b32 x+4, a-b // c\n.b64 .debug_str+4 .b16 4 }": (
        Section(
            ".debug_str",
            (
                SectionData("b8", (ONE, Immediate("-2"))),
                Label("x"),
                SectionData("b32", (Binary("+", Symbol("x"), FOUR), Binary("-", A, B))),
                SectionData("b64", (Binary("+", Symbol(".debug_str"), FOUR),)),
                SectionData("b16", (FOUR,)),
            ),
        ),
    ),
    "a: b : ret;": (Label("a"), Label("b"), Instruction(("ret",))),
    "{ ret; }": (Block((Instruction(("ret",)),)),),
    "{ ret\n; { } }": (Block((Instruction(("ret",)), Block(()))),),
    "ret;; ;": (Instruction(("ret",)), Empty(), Empty()),
    "add .s32 %r1, %r2, 4;": (Instruction(("add", "s32"), (R1, R2, FOUR)),),
    "ld.const[2].b32 %r1,[a];": (Instruction(("ld", "const[2]", "b32"), (R1, Address(A))),),
    "@p ret;@!%p1 ret;@ ! q ret;": (
        Instruction(("ret",), guard=Guard("p")),
        Instruction(("ret",), guard=Guard("%p1", negated=True)),
        Instruction(("ret",), guard=Guard("q", negated=True)),
    ),
    "call.uni (%r1), f, (a, 4), b;": (
        Instruction(("call", "uni"), (CallList((R1,)), Symbol("f"), CallList((A, FOUR)), B)),
    ),
    "call f, ((1));": (Instruction(("call",), (Symbol("f"), CallList((Parenthesized(ONE),)))),),
    "call f;": (Instruction(("call",), (Symbol("f"),)),),
    "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [a], [b, {c}], [%r1];": (
        Instruction(
            (
                *("cp", "async", "bulk", "tensor", "1d", "shared::cluster", "global", "tile"),
                "mbarrier::complete_tx::bytes",
            ),
            (Address(A), TensorAddress((B, Vector((C,)))), Address(R1)),
        ),
    ),
    "mov.u32 %r1, (1+2);": (Instruction(("mov", "u32"), (R1, Parenthesized(Binary("+", ONE, TWO)))),),
    '# 1 "x.cu"\nret;\n#line 2 "x.cu"\n': (Instruction(("ret",)),),
}


@pytest.mark.parametrize("text", OPERANDS)
def test_an_operand_means_what_the_manual_says_and_its_canonical_text_means_the_same(text: str) -> None:
    assert parse_operand(text) == OPERANDS[text]
    assert parse_operand(spell(OPERANDS[text])) == OPERANDS[text]


@pytest.mark.parametrize("text", STATEMENTS)
@pytest.mark.parametrize("fast", [True, False])
def test_a_statement_means_what_the_manual_says_and_its_canonical_text_means_the_same(*, text: str, fast: bool) -> None:
    def read(source: str) -> tuple[Statement, ...]:
        module, errors = _parse(Source(source), fast=fast)
        assert not errors
        assert emit(module) == source
        return module.body

    assert read(text) == STATEMENTS[text]
    assert read("\n".join(map(spell, STATEMENTS[text]))) == STATEMENTS[text]


@pytest.mark.parametrize("text", OPERANDS)
@pytest.mark.parametrize("fast", [True, False])
def test_an_operand_reads_the_same_inside_an_instruction(*, text: str, fast: bool) -> None:
    for statement in (f"\tmov.b32 \t%r1, {text}, %r2;", f"foo %r3,{text},%r2;"):
        module, errors = _parse(Source(statement), fast=fast)
        assert not errors
        (instruction,) = module.body
        assert isinstance(instruction, Instruction)
        assert OPERANDS[text] in instruction.operands


def test_parentheses_appear_where_a_built_expression_would_change_its_meaning() -> None:
    product = Binary("*", Binary("+", ONE, TWO), FOUR)
    assert spell(product) == "(1+2)*4"
    assert spell(Binary("-", ONE, Binary("-", TWO, FOUR))) == "1-(2-4)"
    assert spell(Unary("-", Binary("+", ONE, TWO))) == "-(1+2)"


def test_canonical_text_is_laid_out_as_people_write_it() -> None:
    tree = parse(
        ".version 8.0 .target sm_90 .visible .entry k(.param .u64 a,.param .u32 b).maxntid 128,1,1{{@!p bra L;L:}ret;}"
    )
    assert spell(tree) == (
        ".version 8.0\n.target sm_90\n.visible .entry k(\n\t.param .u64 a,\n\t.param .u32 b\n)\n.maxntid 128, 1, 1\n{\n"
        "\t{\n\t\t@!p bra L;\n\t\tL:\n\t}\n\tret;\n}\n"
    )


def test_a_listing_of_cuobjdump_is_its_modules() -> None:
    listing = (
        "\nFatbin elf code:\n================\narch = sm_80\ncode version = [1,7]\nhost = linux\ncompile_size = 64bit\n"
        "\nFatbin ptx code:\n================\narch = sm_80\ncode version = [8,0]\nhost = linux\ncompile_size = 64bit\n"
        "compressed\nptxasOptions = -v  \n\n\n.version 8.0\n.target sm_80\n.entry k { ret; }\n"
        "\nFatbin ptx code:\r\n================\r\narch = sm_90\r\n\r\n.version 8.0\n.target sm_90\n"
        "\nFatbin elf code:\n================\narch = sm_80"
    )
    module = parse(listing)
    assert [type(node) for node in module.body] == [Version, Target, Function, Version, Target]
    assert emit(module) == listing
    assert module.tail.endswith("arch = sm_80")


def test_one_statement_of_a_section_reads_by_itself_and_never_inside_a_function() -> None:
    assert parse_statements(".b8 1, 2") == (SectionData("b8", (ONE, TWO)),)
    with pytest.raises(ValueError, match="unknown directive"):
        _refuse(".entry k { .b32 %r1; }")


def _refuse(text: str) -> None:
    _, errors = _parse(Source(text))
    if errors:
        raise ValueError(str(errors[0]))


def test_lines_that_are_written_alike_are_one_node_and_an_edit_of_one_leaves_the_others() -> None:
    (section,) = parse(".section .debug_x {\n.b8 1 // twice\n.b8 2\n.b8 1 // twice\n.b8 2\n\t.b8 2\n}").body
    assert isinstance(section, Section)
    _, two, _, again, indented = section.body
    assert two is again
    assert indented == two
    assert indented is not two
    edited = evolve(section, body=(*section.body[:3], evolve(again, type="b16"), indented))
    after = ".section .debug_x {\n.b8 1 // twice\n.b8 2\n.b8 1 // twice\n.b16 2\n\t.b8 2\n}"
    assert emit(edited) == after


CONTINUED = {
    "mma.sync.aligned.m8n8k4.row.col.f32 \n\t\t{%f1, %f2},\n\t\t{%r1},\n\t\t{%r2}, %f1;": 4,
    "call.uni (ret), \n\tf, \n\t(\n\tparam0, \n\tparam1\n\t);": 3,
    "call.uni \n\tf;": 1,
    "call.uni (ret), %rd1, (), prototype_0;": 4,
    "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [map, {%f5, %f6}];": 2,
    "bra\n\tL;": 1,
    "ld.relaxed.gpu.u32 %r1,[%rd1];": 2,
}


@pytest.mark.parametrize("text", CONTINUED)
def test_operands_on_lines_of_their_own_and_calls_read_the_same_both_ways(text: str) -> None:
    (fast, _), (careful, _) = _parse(Source(text)), _parse(Source(text), fast=False)
    assert fast == careful
    (instruction,) = fast.body
    assert isinstance(instruction, Instruction)
    assert len(instruction.operands) == CONTINUED[text]


def test_reading_leaves_the_garbage_collector_as_it_was() -> None:
    large = ".version 9.0\n.target sm_90a\n.address_size 64\n" + ".global .b32 x;\n" * 2000
    for text in (large, large[:45]):
        frozen = gc.get_freeze_count()
        parse(text)
        assert gc.isenabled()
        assert gc.get_freeze_count() <= frozen, "frozen objects may have been freed"
        gc.disable()
        parse(text)
        assert not gc.isenabled()
        gc.enable()


def test_reading_leaves_frozen_what_somebody_froze() -> None:
    gc.freeze()
    try:
        parse(".global .b32 x;\n" * 2000)
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


@pytest.mark.long
def test_what_somebody_froze_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """`gc.get_freeze_count` is called at most once: it visits every frozen object, slower than parsing most texts."""
    asked = list[int]()
    count = gc.get_freeze_count
    monkeypatch.setattr(gc, "get_freeze_count", lambda: asked.append(1) or count())
    gc.freeze()
    try:
        for _ in range(10):
            parse(".global .b32 x;\n" * 2000)
    finally:
        gc.unfreeze()
    assert len(asked) <= 1
