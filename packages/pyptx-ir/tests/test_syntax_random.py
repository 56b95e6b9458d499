"""Round-trip properties with random trivia and random trees."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyptx_ir.syntax import emit, parse, parse_operand, parse_recovering, parse_statements, spell
from pyptx_ir.syntax import nodes as n
from pyptx_ir.syntax import operands as o
from pyptx_ir.syntax.parser import _parse
from pyptx_ir.syntax.source import Source
from pyptx_ir.syntax.style import KNOWN, infer_style, stripped

pytestmark = pytest.mark.no_cover

# A text with every syntactic form once; `TOKEN` finds the tokens between which trivia may be inserted.
FORMS = (
    ".version 8.0 .target sm_90a, debug .address_size 64",
    '.file 1 "a // b.cu", 5, 6 .loc 1 2 3, function_name .debug_str+16, inlined_at 1 4 5 .loc 1 2 3 ret;',
    '.pragma "nounroll", "/* x */"; .alias f, g; .maxnreg 32; @@DWARF .byte 0x2b, 0',
    ".extern .func (.reg .u32 r) f (.param .u64 .ptr .global .align 1 a, .param .align 8 .b8 b[12][]) .noreturn;",
    '.visible .entry k(.param .u64 a) .maxntid 128, 1, 1 .pragma "x"; { { ret; } L: M: @!%p1 bra L; ; }',
    ".reg .v4 .f32 %f<4>, x; .weak .global .attribute(.managed, .unified(1, 2)) .align 4 .u32 y[2] = {{-2}, {1(z)}};",
    ".global .samplerref s = {filter_mode = nearest, w = 4}; .const .u64 p = generic(x) + 4; .shared .b8 q<3>;",
    "t: .branchtargets N<5>, M; u: .calltargets f, g; v: .callprototype (.param .b32 _) _ (.param .b8 _[12]);",
    ".section .debug_str { .b8 1, -2 x: .b32 x + 4, a - b .b64 .debug_info }",
    "add.s32 %r1, %r2, -4; call.uni (r), f, (a, (b), {c, d}), proto; setp.eq.s32 p|q, !a, _; mov.u32 %r1, %tid.x;",
    "ld.v2.f32 {%f1, {a, _}}, [%r1 + -4]; tex.2d [t, s, {u, v}], sym[3][x + 1]; foo [map - 8, {c}], [a + 4 + 2];",
    "mov.b32 a, (1 + 2) * -3 % (.s64) ~4 << 1 ? x && !y : 0f3F800000; mov.b32 b, 1.5e-3 == .5 || 7U >= 017 ^ WARP_SZ;",
)
TOKEN = re.compile(
    r'"[^"]*"|@@DWARF|\.section|[0-9.]+[eE]-[0-9]+|[%.]?[\w$]+(?:\.\d\w*|::\w+)*|<<|>>|[=!<>]=|&&|\|\||\S'
)
TRIVIA = (
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\f",
    "/**/",
    '/* ; " { */',
    "/*\n*/",
    '// ;"}/*\n',
    '# 1 "k.cu"\n',
    "//\r\n",
)
NOTHING_OR_TRIVIA = ("",) * len(TRIVIA) + TRIVIA
PIECES = 3  # maximum pieces of trivia per gap


def gap(chosen: bytes) -> str:
    """Return the trivia that bytes encode: one draw of bytes for all gaps of a text is faster than a list per gap."""
    return "".join(NOTHING_OR_TRIVIA[byte % len(NOTHING_OR_TRIVIA)] for byte in chosen)


@pytest.mark.parametrize("form", FORMS)
@settings(deadline=None)
@given(data=st.data())
def test_trivia_between_tokens_changes_no_meaning_and_no_byte(form: str, data: st.DataObject) -> None:
    words = TOKEN.findall(form)
    expected = parse(form)
    size = PIECES * (len(words) + 1)
    chosen = data.draw(st.binary(min_size=size, max_size=size))
    gaps = [gap(chosen[i : i + PIECES]) for i in range(0, size, PIECES)]
    text = gaps[0]
    for word, behind in zip(words, gaps[1:], strict=True):
        text += word + (behind or " ")
    tree = parse(text)
    assert emit(tree) == text
    assert tree == expected
    careful, _ = _parse(Source(text), fast=False)
    assert careful == tree
    assert parse(spell(tree)) == tree


# --- random trees -----------------------------------------------------------------------------------

NAMES = st.from_regex(r"(?:[A-Za-z][A-Za-z0-9_$]{0,6}|[_$][A-Za-z0-9_$]{1,6})", fullmatch=True).filter(
    lambda name: name != "WARP_SZ"
)
REGISTERS = st.from_regex(r"%[A-Za-z0-9_$]{1,6}(?:\.[xyzw])?", fullmatch=True)
STRINGS = st.text(st.characters(exclude_characters='"\n\0', exclude_categories=("Cs",)), max_size=8)
NUMBERS = st.one_of(
    st.integers(0, 2**64 - 1).map(str),
    st.integers(0, 2**64 - 1).map("0x{:X}U".format),
    st.integers(0, 2**32 - 1).map("0f{:08x}".format),
    st.integers(0, 2**64 - 1).map("0D{:016X}".format),
    st.sampled_from(("1.5", "1.", ".5", "2e10", "1.5E-3", "0b101", "017", "WARP_SZ")),
)
IMMEDIATES = st.builds(o.Immediate, st.one_of(NUMBERS, NUMBERS.map("-{}".format)))
SYMBOLS = st.builds(o.Symbol, NAMES)
NAMED = st.one_of(st.builds(o.Register, REGISTERS), SYMBOLS)
ATOMS = st.one_of(NAMED, IMMEDIATES)
ARITHMETIC = ("+", "-", "*", "/", "%", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&", "^", "&&", "||")


def expressions(inner: st.SearchStrategy[o.Operand]) -> st.SearchStrategy[o.Operand]:
    """Return a strategy for parsed expressions: operands that bind more weakly than their operator have parentheses."""
    inside = st.builds(o.Parenthesized, inner)
    tight = st.one_of(ATOMS, inside)
    return st.one_of(
        inside,
        st.builds(o.Unary, st.sampled_from(("+", "~", "(.s64)", "(.u64)")), tight),
        st.builds(o.Unary, st.just("-"), st.one_of(NAMED, inside)),
        st.builds(o.Unary, st.just("!"), st.one_of(IMMEDIATES, inside)),
        st.builds(o.Negated, NAMED),
        st.builds(o.Binary, st.sampled_from(ARITHMETIC), tight, tight),
        st.builds(o.Binary, st.just("|"), IMMEDIATES, tight),
        st.builds(o.Ternary, tight, tight, tight),
        st.builds(o.Index, SYMBOLS, inner),
        st.builds(o.Apply, st.one_of(SYMBOLS, st.builds(o.Immediate, st.just("0xFF00"))), inner),
    )


EXPRESSIONS = st.recursive(ATOMS, expressions, max_leaves=6)
OFFSETS = st.one_of(IMMEDIATES, st.builds(o.Parenthesized, EXPRESSIONS))


def operands(inner: st.SearchStrategy[o.Operand]) -> st.SearchStrategy[o.Operand]:
    """Return a strategy for vectors and addresses whose elements are drawn from `inner`."""
    lists = st.lists(inner, max_size=4).map(tuple)
    return st.one_of(
        st.builds(o.Vector, lists),
        st.builds(o.Address, NAMED, st.one_of(st.none(), OFFSETS)),
        st.builds(o.TensorAddress, st.tuples(NAMED, inner)),
        st.builds(o.Unified, st.builds(o.Address, NAMED)),
    )


OPERANDS = st.recursive(
    st.one_of(EXPRESSIONS, st.builds(o.Sink), st.builds(o.Pair, NAMED, st.one_of(NAMED, st.builds(o.Sink)))),
    operands,
    max_leaves=6,
)
LISTS = st.lists(OPERANDS, max_size=4).map(tuple)
CALLS = st.builds(
    lambda opcode, returns, name, given: n.Instruction(
        opcode, (*((o.CallList(returns),) if returns else ()), name, o.CallList(given))
    ),
    st.sampled_from((("call",), ("call", "uni"))),
    st.lists(NAMED, max_size=2).map(tuple),
    NAMED,
    st.lists(OPERANDS, max_size=3).map(tuple),
)
MODIFIERS = st.sampled_from(
    ("s32", "1d", "shared::cta", "mbarrier::complete_tx::bytes", "128x256b", "const[2]", "L2::128B")
)
INSTRUCTIONS = st.builds(
    n.Instruction,
    st.tuples(st.sampled_from(("add", "mov", "tcgen05", "Xyz_1")), MODIFIERS, MODIFIERS),
    LISTS,
    st.one_of(st.none(), st.builds(n.Guard, st.one_of(NAMES, st.just("%p1")), st.booleans())),
)

COUNTS = st.one_of(st.none(), st.integers(0, 9999))
ALIGNMENTS = st.one_of(st.none(), st.sampled_from((1, 2, 16, 128)))
TYPES = st.sampled_from(("b8", "u64", "f16x2", "pred", "texref", "bf16"))
VECTORS = st.sampled_from((None, "v2", "v4", "v8"))
DIMENSIONS = st.lists(st.one_of(st.none(), EXPRESSIONS), max_size=2).map(tuple)
FUNCTION_LINKING = st.sampled_from((None, "extern", "visible", "weak"))
LINKING = st.one_of(FUNCTION_LINKING, st.just("common"))
ATTRIBUTES = st.lists(
    st.builds(n.Attribute, st.sampled_from(("managed", "unified")), st.lists(IMMEDIATES, max_size=2).map(tuple)),
    max_size=2,
).map(tuple)
PARAMETERS = st.builds(
    n.Parameter,
    TYPES,
    st.one_of(NAMES, st.just("_"), st.just("%r")),
    st.sampled_from(("param", "reg")),
    ALIGNMENTS,
    VECTORS,
    st.one_of(st.none(), st.builds(n.Pointer, st.sampled_from((None, "global", "const")), ALIGNMENTS)),
    DIMENSIONS,
    ATTRIBUTES,
)
PARAMETER_LISTS = st.lists(PARAMETERS, max_size=3).map(tuple)
WORDS = st.sampled_from(("maxntid", "noreturn", "abi_preserve", "reqnctapercluster", "blocksareclusters"))
ARGUMENTS = st.lists(
    st.builds(o.Immediate, st.one_of(st.integers(-9, 9).map(str), st.just("WARP_SZ"))), max_size=3
).map(tuple)
HEADER_DIRECTIVES = st.lists(
    st.one_of(
        st.builds(n.HeaderDirective, WORDS, ARGUMENTS),
        st.builds(n.HeaderDirective, st.just("pragma"), st.lists(STRINGS, min_size=1, max_size=2).map(tuple)),
    ),
    max_size=2,
).map(tuple)
SMALL = st.integers(0, 2**40)
LINE_VALUES = st.one_of(
    IMMEDIATES,
    SYMBOLS,
    st.builds(o.Symbol, st.just(".debug_str")),
    st.builds(o.Binary, st.sampled_from("+-"), SYMBOLS, st.one_of(SYMBOLS, IMMEDIATES)),
)
LINES = st.one_of(
    st.builds(
        n.SectionData,
        st.sampled_from(("b8", "b16", "b32", "b64")),
        st.lists(LINE_VALUES, min_size=1, max_size=3).map(tuple),
    ),
    st.builds(n.Label, NAMES),
)
NAME_LISTS = st.lists(st.one_of(NAMES, st.just("N<5>")), min_size=1, max_size=3).map(tuple)
LEAVES: st.SearchStrategy[n.Statement] = st.one_of(
    INSTRUCTIONS,
    CALLS,
    st.builds(n.Label, NAMES),
    st.builds(n.Empty),
    st.builds(
        n.RegisterDeclaration,
        TYPES,
        st.lists(st.builds(n.RegisterName, st.one_of(NAMES, st.just("%r")), COUNTS), min_size=1, max_size=3).map(tuple),
        VECTORS,
        ALIGNMENTS,
    ),
    st.builds(
        n.Variable,
        st.sampled_from(("global", "const[3]", "shared::cta", "shared", "local", "param", "tex", "const")),
        TYPES,
        st.lists(
            st.builds(n.Declarator, NAMES, DIMENSIONS, st.one_of(st.none(), OPERANDS), COUNTS), min_size=1, max_size=2
        ).map(tuple),
        LINKING,
        ALIGNMENTS,
        VECTORS,
        ATTRIBUTES,
    ),
    st.builds(n.BranchTargets, NAME_LISTS),
    st.builds(n.CallTargets, NAME_LISTS),
    st.builds(n.CallPrototype, st.one_of(st.none(), PARAMETER_LISTS), PARAMETER_LISTS, HEADER_DIRECTIVES),
    st.builds(
        n.Loc,
        SMALL,
        SMALL,
        SMALL,
        st.one_of(
            st.none(),
            st.builds(n.InlinedAt, st.one_of(NAMES, st.just(".debug_str")), SMALL, SMALL, SMALL, SMALL),
        ),
    ),
    st.builds(n.Version, SMALL, SMALL),
    st.builds(n.Target, st.lists(st.from_regex(r"[a-z0-9_]{1,8}", fullmatch=True), min_size=1, max_size=3).map(tuple)),
    st.builds(n.AddressSize, SMALL),
    st.builds(n.File, SMALL, STRINGS) | st.builds(n.File, SMALL, STRINGS, SMALL, st.none() | SMALL),
    st.builds(n.Alias, NAMES, NAMES),
    st.builds(n.Pragma, st.lists(STRINGS, min_size=1, max_size=3).map(tuple)),
    st.builds(n.Directive, WORDS, ARGUMENTS, st.booleans()),
    st.builds(
        lambda kind, words: n.Directive("@@DWARF", (o.Symbol(kind), *words), terminated=False),
        st.sampled_from((".byte", ".4byte", ".section")),
        st.lists(st.one_of(IMMEDIATES, SYMBOLS, STRINGS), min_size=1, max_size=3),
    ),
)


def apart(statements: list[n.Statement]) -> tuple[n.Statement, ...]:
    """Drop each empty statement `;` after an unterminated directive: a parser would attach the `;` to the directive."""
    kept: list[n.Statement] = []
    for statement in statements:
        before = kept[-1] if kept else None
        if not (isinstance(statement, n.Empty) and isinstance(before, n.Directive) and not before.terminated):
            kept.append(statement)
    return tuple(kept)


def bodies(inner: st.SearchStrategy[n.Statement]) -> st.SearchStrategy[n.Statement]:
    """Return a strategy for blocks whose statements are drawn from `inner`."""
    return st.builds(n.Block, st.lists(inner, max_size=3).map(apart))


FUNCTIONS = st.builds(
    n.Function,
    st.sampled_from(("entry", "func")),
    NAMES,
    st.one_of(st.none(), PARAMETER_LISTS),
    PARAMETER_LISTS,
    FUNCTION_LINKING,
    ATTRIBUTES,
    HEADER_DIRECTIVES,
    st.one_of(st.none(), bodies(st.recursive(LEAVES, bodies, max_leaves=5))),
)
SECTIONS = st.builds(n.Section, st.sampled_from((".debug_str", ".x", "name")), st.lists(LINES, max_size=4).map(tuple))
STATEMENTS: st.SearchStrategy[n.Statement] = st.one_of(st.recursive(LEAVES, bodies, max_leaves=5), FUNCTIONS, SECTIONS)


@settings(deadline=None)
@given(OPERANDS)
def test_every_operand_reads_back_from_its_canonical_text(operand: o.Operand) -> None:
    assert parse_operand(spell(operand)) == operand


@settings(deadline=None)
@given(STATEMENTS)
def test_every_statement_reads_back_from_its_canonical_text(node: n.Statement) -> None:
    text = spell(node)
    assert parse_statements(text) == (node,)
    careful, errors = _parse(Source(text), fast=False)
    assert not errors
    assert careful.body == (node,)


@settings(deadline=None)
@given(st.lists(STATEMENTS, max_size=6).map(apart))
@pytest.mark.long
def test_every_module_built_by_hand_is_text_that_reads_back(body: tuple[n.Statement, ...]) -> None:
    tree = n.Module(body)
    assert parse(emit(tree)) == tree
    assert parse(spell(tree)) == tree


@settings(deadline=None)
@given(st.text(st.sampled_from('ab.,;{}()[]<>+-*/"\n\t %@:0123_!|=#?\0\ré'), max_size=60))
def test_any_text_at_all_comes_back_byte_for_byte(text: str) -> None:
    tree, errors = parse_recovering(text)
    assert emit(tree) == text
    careful, refused = _parse(Source(text), fast=False)
    assert careful == tree
    assert [str(error) for error in errors] == [str(error) for error in refused]


@settings(deadline=None)
@given(st.lists(STATEMENTS, max_size=6).map(apart), st.sampled_from(("canonical", "nvcc", "llvm")))
@pytest.mark.long
def test_every_module_built_by_hand_reads_back_from_any_style(body: tuple[n.Statement, ...], name: str) -> None:
    style = KNOWN[name]
    tree = n.Module(body)
    text = emit(tree, style)
    read = parse(text)
    assert read == tree
    assert emit(stripped(read, style), style) == text
    learned = infer_style(read)
    assert emit(stripped(read, learned), learned) == text


@settings(deadline=None)
@given(st.text(st.sampled_from('ab.,;{}()[]<>+-*/"\n\t %@:0123_!|=#?\0\ré'), max_size=60))
def test_any_text_at_all_comes_back_from_its_style(text: str) -> None:
    tree, _ = parse_recovering(text)
    style = infer_style(tree)
    assert emit(stripped(tree, style), style) == text
