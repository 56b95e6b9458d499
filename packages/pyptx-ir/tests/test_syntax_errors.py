"""Wrong PTX text: one error per wrong statement, with its position and a remedy; the rest is still parsed."""

from __future__ import annotations

import pickle
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.errors import PyptxError
from pyptx_ir.isa.modules import check_text, shown
from pyptx_ir.syntax import (
    PtxSyntaxError,
    Source,
    Span,
    emit,
    parse,
    parse_instruction,
    parse_operand,
    parse_recovering,
    parse_statements,
    positions,
    spell,
    walk,
)
from pyptx_ir.syntax.nodes import Block, Function, Instruction, Invalid, Label, Section, SectionData
from pyptx_ir.syntax.parser import DEEPEST_BLOCK, _parse

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Wrong:
    """A wrong text with one error: line and column, and substrings of its message and its help."""

    text: str
    line: int
    column: int
    message: str
    help: str | None = None


WRONG = [
    Wrong("add.s32 %r1, %r2 %r3;\nret;", 1, 18, "expected ',' or ';', found '%r3'", "end the instruction with ';'"),
    Wrong("add.s32 %r1, %r2\nsub.s32 %r1, %r2, %r3;\nret;", 2, 1, "expected ',' or ';', found 'sub.s32'", "with ';'"),
    Wrong("mov.b64 %rd1 {%r1, %r2};\nret;", 1, 14, "expected ',' or ';', found '{'"),
    Wrong("mov.b64 %rd1, {%r1, %r2;\nret;", 1, 24, "expected ',' or '}', found ';'"),
    Wrong("add.s32 %r1,, %r2;\nret;", 1, 13, "expected an operand, found ','"),
    Wrong("add.s32 %r1, ;\nret;", 1, 14, "expected an operand, found ';'"),
    Wrong("add.s32 %r1, 12abc;\nret;", 1, 14, "expected an operand, found '12abc'"),
    Wrong(f"add.s32 %r1, {'9' * 65};\nret;", 1, 14, "number of more than 64 digits", "shorten the number"),
    Wrong(f".reg .b32 %r<{'9' * 5000}>;\nret;", 1, 14, "number of more than 64 digits"),
    Wrong("add.s32 %r1, %r2\r\nret;", 2, 1, "expected ',' or ';', found 'ret'"),
    Wrong("add.s32 %r1, %r2 \n/* c */ ret;", 2, 9, "expected ',' or ';', found 'ret'"),
    Wrong("add.s32 %r1, 0f3F8;\nret;", 1, 14, "expected an operand, found '0f3F8'"),
    Wrong("ld.u32 %r1, [%r2;\nret;", 1, 17, "expected ']', found ';'"),
    Wrong("ld.u32 %r1, [];\nret;", 1, 14, "expected an operand, found ']'"),
    Wrong("call (a, f, (b);\nret;", 1, 16, "expected ',' or ')', found ';'"),
    Wrong("mov.u32 %r1, 1 ? 2;\nret;", 1, 19, "expected ':', found ';'"),
    Wrong("@ , add.s32 %r1, %r2, 4;\nret;", 1, 3, "expected a predicate register, found ','", "@!%p1"),
    Wrong("@p @q ret;\nret;", 1, 4, "expected a statement, found '@'", "for example"),
    Wrong("12: ret;\nret;", 1, 1, "expected a statement, found '12'"),
    Wrong("a:: ret;\nret;", 1, 2, "expected an operand, found '::'"),
    Wrong("é ret;\nret;", 1, 1, "expected a statement, found 'é'"),
    Wrong('mov.u32 %r1, "abc;\nret;', 1, 14, "string is never closed", "on the same line"),
    Wrong("ret;\nret; /* a", 2, 6, "comment is never closed", "'*/'"),
    Wrong("mov.u32 \0%r1, 4;\nret;", 1, 9, "control character '\\x00'", "remove it"),
    Wrong("mov.u32 %r1, \x1b4;\nret;", 1, 14, "control character '\\x1b'", "remove it"),
    Wrong(".regg .b32 a;\nret;", 1, 1, "unknown directive '.regg'", "did you mean '.reg'?"),
    Wrong(".reg %r1;\nret;", 1, 6, "expected a type, found '%r1'", "such as .b32"),
    Wrong(".reg .b32 .b64 a;\nret;", 1, 11, "'.b64' after '.b32': only one type is allowed", "remove one"),
    Wrong(".reg .b32 a, ;\nret;", 1, 14, "expected a register's name, found ';'"),
    Wrong(".reg .b32 a\nret;", 2, 1, "expected ',' or ';', found 'ret'", "end the declaration with ';'"),
    Wrong(".reg .b32 %r<x>;\nret;", 1, 14, "expected a number of names, found 'x'"),
    Wrong(".visible .b32 a;\nret;", 1, 15, "expected a state space, .entry or .func, found 'a'"),
    Wrong(".global .u32 a[4;\nret;", 1, 17, "expected ']', found ';'"),
    Wrong(".global .u32 a = ;\nret;", 1, 18, "expected an operand, found ';'"),
    Wrong(".global .align x .u32 a;\nret;", 1, 16, "expected a number of bytes, found 'x'"),
    Wrong(".version 8\nret;", 1, 10, "expected a version, found '8'", "'.version 8.0'"),
    Wrong(".target ;\nret;", 1, 9, "expected a target, found ';'", "sm_90a"),
    Wrong(".loc 1 2;\nret;", 1, 9, "expected a column, found ';'"),
    Wrong(".loc 1 2 3, inlined_at 1 2 3\nret;", 1, 13, "expected 'function_name', found 'inlined_at'"),
    Wrong(".file 1 a.cu\nret;", 1, 9, "expected a string, found 'a.cu'"),
    Wrong(".pragma nounroll;\nret;", 1, 9, "expected a string, found 'nounroll'"),
    Wrong(".alias a b;\nret;", 1, 10, "expected ',', found 'b'"),
    Wrong(".callprototype f;\nret;", 1, 16, "expected '_', found 'f'", "write '_'"),
    Wrong(".section { }\nret;", 1, 10, "expected a section's name, found '{'"),
    Wrong(".b8 1\nret;", 1, 1, "unknown directive '.b8'"),
    Wrong(
        ".entry k(\n\t.param .u64 a\n\t.param .u32 b\n)\n{ ret; }\nret;", 3, 2, "expected ',' or ')', found '.param'"
    ),
    Wrong(".entry k(.u64 a) { ret; }\nret;", 1, 15, "expected '.param' or '.reg' in a parameter", ".param .u64 name"),
    Wrong(".entry k(x) { ret; }\nret;", 1, 10, "expected a parameter, found 'x'", ".param .u64 name"),
    Wrong(".func .noreturn f { ret; }\nret;", 1, 7, "expected a function's name", "after the name"),
    Wrong(".entry k .maxntidd 3 { ret; }\nret;", 1, 10, "unknown directive '.maxntidd'", "did you mean '.maxntid'?"),
    Wrong(".entry k() ret;\nret;", 1, 12, "expected '{', ';' or a directive after the function header"),
    Wrong("ret;\n}\nret;", 2, 1, "'}' without a '{'", "remove it"),
    Wrong("{ ret;\nret;", 1, 1, "'{' is never closed", "add a '}'"),
    Wrong(".section .a { add.s32 a, b, c;\n.b8 1 }\nret;", 1, 15, "not a line of a section", "missing '}'"),
    Wrong(".section .a { { } .b8 1 }\nret;", 1, 15, "expected a line of a section"),
    Wrong("mov.u32 a, " + "(" * 80 + "1" + ")" * 80 + ";\nret;", 1, 76, "nests deeper than 64 levels", "split it"),
    Wrong("mov.u32 a, 1" + "+1" * 80 + ";\nret;", 1, 142, "nests deeper than 64 levels", "split it"),
    Wrong("{" * 200 + "ret;" + "}" * 200 + "\nret;", 1, 101, "blocks nest deeper than 100 levels"),
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.text[:40])
@pytest.mark.parametrize("fast", [True, False])
def test_a_wrong_statement_is_one_error_at_its_place_and_the_rest_is_read(*, wrong: Wrong, fast: bool) -> None:
    tree, errors = _parse(Source(wrong.text), fast=fast)
    assert emit(tree) == wrong.text
    (error,) = errors
    assert (error.line, error.column) == (wrong.line, wrong.column)
    assert wrong.message in error.message
    assert wrong.help is None or wrong.help in str(error.help)
    rest = wrong.text.count("ret;") - (1 if wrong.message.startswith("'{' is never") else 0)
    assert rest >= 1
    last = next(node for node in reversed(tree.body) if not isinstance(node, Invalid))
    assert last == Instruction(("ret",))


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.text[:40])
def test_parsing_strictly_raises_that_error(wrong: Wrong) -> None:
    with pytest.raises(PtxSyntaxError) as caught:
        parse(wrong.text, "k.ptx")
    assert (caught.value.line, caught.value.column) == (wrong.line, wrong.column)
    assert f"k.ptx:{wrong.line}:{wrong.column}" in str(caught.value)
    assert len(caught.value.errors) == 1
    assert isinstance(caught.value, PyptxError)


def test_an_error_shows_the_line_with_a_caret_and_what_to_do() -> None:
    with pytest.raises(PtxSyntaxError) as caught:
        parse("\tmov.u32\t%r1 %r2;\r\n", "k.ptx")
    assert str(caught.value) == (
        "expected ',' or ';', found '%r2'\n"
        "k.ptx:1:14\n"
        "1 | \tmov.u32\t%r1 %r2;\n"
        "    \t       \t    ^^^\n"
        "help: end the instruction with ';'"
    )


def test_every_wrong_statement_of_a_text_is_told_in_order() -> None:
    text = "add.s32 a b;\nret;\n.regg c;\nL:\n@ ret;\nret;\n"
    with pytest.raises(PtxSyntaxError) as caught:
        parse(text)
    assert [error.line for error in caught.value.errors] == [1, 3, 5]
    assert caught.value.errors[0] is caught.value
    tree, _ = parse_recovering(text)
    kinds = [type(node) for node in tree.body]
    assert kinds == [Invalid, Instruction, Invalid, Label, Invalid, Instruction]


def test_a_brace_that_is_missing_spoils_one_function_only() -> None:
    text = ".entry a { ret;\n.visible .entry b { ret; }\n.entry c { ret; }"
    tree, (error,) = parse_recovering(text)
    assert (error.line, error.column) == (1, 10)
    assert [node.name for node in tree.body if isinstance(node, Function)] == ["b", "c"]
    assert emit(tree) == text


def test_a_section_that_is_never_closed_ends_where_the_next_begins() -> None:
    text = ".section .a { .b8 1\n.section .b { .b8 2 }\nret;"
    tree, (error,) = parse_recovering(text)
    assert (error.line, error.column) == (1, 13)
    assert [node.name for node in tree.body if isinstance(node, Section)] == [".b"]
    assert emit(tree) == text


def test_the_lines_of_a_section_recover_one_by_one() -> None:
    tree, errors = parse_recovering(".section .a {\n.b8 1\n.b8 ,\n.b9 3\n.b8 4\n}")
    (section,) = tree.body
    assert isinstance(section, Section)
    assert [type(line) for line in section.body] == [SectionData, Invalid, Invalid, SectionData]
    assert [error.line for error in errors] == [3, 4]


def test_a_wrong_header_leaves_its_body_readable() -> None:
    tree, (_,) = parse_recovering(".visible .entrry k(.param .u64 a)\n{\n\tadd.s32 %r1, %r2, 4;\n\tret;\n}\n")
    invalid, block = tree.body
    assert isinstance(invalid, Invalid)
    assert isinstance(block, Block)
    assert len(block.body) == 2


def test_a_thousand_errors_are_enough() -> None:
    text = "add a b;\n" * 3000
    tree, errors = parse_recovering(text)
    assert len(errors) == 1001
    assert "too many errors (1000)" in errors[-1].message
    assert emit(tree) == text


def test_parts_are_refused_unless_they_are_exactly_one() -> None:
    for text in ("ret; ret;", "L:", "", "ret"):
        with pytest.raises(PtxSyntaxError):
            parse_instruction(text)
    for text in ("%r1, %r2", "%r1;", "", "%r1 %r2", "[%r1"):
        with pytest.raises(PtxSyntaxError):
            parse_operand(text)
    with pytest.raises(PtxSyntaxError):
        parse_statements("ret; ret")
    assert parse_instruction(" @p ret; // x\n") == parse_statements("@p ret;")[0]


def test_an_error_travels_between_processes() -> None:
    with pytest.raises(PtxSyntaxError) as caught:
        parse("add a b;", "k.ptx")
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own bytes
    assert str(again) == str(caught.value)
    assert again.span == caught.value.span == Span(6, 7)


def test_a_long_line_is_shown_through_a_window() -> None:
    with pytest.raises(PtxSyntaxError) as caught:
        parse("mov.b32 a, {" + "1, " * 10_000 + "?};")
    shown = str(caught.value)
    assert len(shown) < 700
    _, _, line, carets, *_ = shown.split("\n")
    assert line[carets.index("^")] == "?"
    assert caught.value.column == 12 + 30_000 + 1


def test_what_a_terminal_cannot_show_is_replaced() -> None:
    with pytest.raises(PtxSyntaxError) as caught:
        parse("mov.u32 \udcff\x00;")
    str(caught.value).encode()


@pytest.mark.parametrize("character", ["\x1b", "\x9b", "\u202e", "\u2066", "\udce9"])
def test_a_message_that_quotes_the_module_shows_no_more_of_it_to_a_terminal(character: str) -> None:
    text = f'.version 9.0\n.target sm_90\n.pragma "a{character}b";\n'
    (refused,) = check_text(text)
    assert character in refused.message
    printed = shown(refused, Source(text))
    assert printed.count("a\N{REPLACEMENT CHARACTER}b") == 2
    assert character not in printed


# Functions that return a hostile PTX text of about `size` characters.
HOSTILE: dict[str, Callable[[int], str]] = {
    "open braces": lambda size: "{" * size,
    "nested braces": lambda size: "{" * (size // 2) + "}" * (size // 2),
    "closing braces": lambda size: "}" * size,
    "brackets": lambda size: "[" * size,
    "vectors": lambda size: "mov.b32 a, " + "{" * size,
    "parentheses": lambda size: "mov.b32 a, " + "(" * size,
    "addresses": lambda size: "mov.b32 a, " + "[" * size,
    "minuses": lambda size: "-" * size,
    "minus signs": lambda size: "mov.b32 a, " + "-" * size + "1;",
    "sums": lambda size: "mov.b32 a, 1" + "+1" * (size // 2) + ";",
    "conditions": lambda size: "mov.b32 a, " + "1?" * (size // 2),
    "indices": lambda size: "mov.b32 a, b" + "[1]" * (size // 3) + ";",
    "open comments": lambda size: "/*" * (size // 2),
    "stars": lambda size: "/*" + "*" * size,
    "slashes and blanks": lambda size: "mov.b32 a, " + "/ " * (size // 2),
    "quotes": lambda size: '"' * (size // 2 * 2 + 1),
    "at signs": lambda size: "@" * size,
    "dots": lambda size: "." * size,
    "percents": lambda size: "%" * size,
    "a name": lambda size: "a" * size,
    "a number": lambda size: "mov.b32 a, " + "9" * size + ";",
    "numbers": lambda size: f".reg .b32 %r<{'9' * 5000}>;\n" * (size // 5000),
    "lines without a semicolon": lambda size: "a\n" * (size // 2),
    "an endless operand list": lambda size: "mov.b32 " + "a," * (size // 2),
    "labels without a break": lambda size: "a:" * (size // 2),
    "semicolons": lambda size: ";" * size,
    "headers": lambda size: ".func f(" * (size // 8),
    "functions in functions": lambda size: ".entry a {" * (size // 10),
    "sections in sections": lambda size: ".section .a {" * (size // 13),
    "an endless parameter list": lambda size: ".entry f(\n" + ".param .b32 a,\n" * (size // 15),
    "listings": lambda size: "Fatbin ptx code:\n" * (size // 17),
    "line markers": lambda size: "\n#" * (size // 2),
    "blank lines": lambda size: "\n" * size + "(",
    "zeros": lambda size: "\0" * size,
    "an unclosed string": lambda size: '.pragma "' + "a" * size,
    "strings": lambda size: '.pragma "a"' + ', "a"' * (size // 5),
    "random bytes": lambda size: random.Random(1).randbytes(size).decode("latin-1"),
    "random marks": lambda size: "".join(random.Random(2).choices('ab.,;{}()[]+-/*"\n\t %@:0123', k=size)),
    "random words": lambda size: " ".join(random.Random(3).choices(WORDS, k=size // 3)),
}
WORDS = ["{", "}", ";", "ret", ".entry", ".reg", "a", ",", "(", ")", "\n", "[", "]"]


def seconds(text: str) -> float:
    """Return the CPU seconds of parsing a text, and of emitting, walking and spelling its tree."""
    started = time.process_time()
    tree, _ = parse_recovering(text)
    assert emit(tree) == text
    assert sum(1 for _ in walk(tree)) == sum(1 for _ in positions(tree))
    assert isinstance(spell(tree), str)
    return time.process_time() - started


@pytest.mark.no_cover
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_never_crashes_and_twice_as_much_takes_twice_the_time(name: str) -> None:
    size = 25_000
    while (before := seconds(HOSTILE[name](size))) < ENOUGH_TO_MEASURE and size < 1 << 20:
        size *= 2
    text, twice = HOSTILE[name](size), HOSTILE[name](2 * size)
    for _ in range(16):  # compare only adjacent measurements: the machine may be slow for a while
        long, after = seconds(twice), seconds(text)
        if long <= LINEAR * min(before, after) + ENOUGH_TO_MEASURE / 2:
            break
        before = after
    else:
        pytest.fail(f"{size} characters took {before} s and {after} s, twice as many {long} s between them")
    assert long < 2  # seconds; a text of one megabyte takes half a second at worst


ENOUGH_TO_MEASURE = 0.02  # minimum seconds of a measured parse: shorter times depend on CPU caches
LINEAR = 2.6  # maximum ratio of parse times for a doubled text; quadratic time would give 4


def test_a_tree_as_deep_as_the_parser_allows_compares_copies_and_prints() -> None:
    text = "{" * (DEEPEST_BLOCK - 1) + "ret;" + "}" * (DEEPEST_BLOCK - 1)
    tree = parse(text)
    assert tree == parse(spell(tree))
    assert hash(tree) == hash(parse(text))
    assert "Instruction" in repr(tree)
