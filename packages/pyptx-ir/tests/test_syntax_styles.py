"""Formatting styles: inferred from PTX texts, applied to trees, and compared with a text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.commands import main
from pyptx_ir.syntax import emit, evolve, parse, parse_instruction, parse_recovering, walk
from pyptx_ir.syntax import nodes as n
from pyptx_ir.syntax.style import KNOWN, FormattingError, Style, deviations, formatted, infer_style, stripped

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
.version 8.0
.target sm_90
.address_size 64

	// .globl	bump
.visible .entry bump(
	.param .u64 bump_param_0,
	.param .u32 bump_param_1
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<9>;

	mov.u32 	%r1, %tid.x;
	// begin inline asm
	{ add.s32 %r2,%r1,4; add.s32 %r3,%r2,4;}
	// end inline asm
	setp.gt.u32 	%p1, %r1, 63;
	@%p1 bra 	$L_done;
	// begin inline asm
	{ add.s32 %r4,%r3,5; add.s32 %r5,%r4,6;}
	// end inline asm
	add.s32 	%r6, %r5, %r4;
	@%p1 bra 	$L_done;
	@%p1 bra 	$L_done;
$L_done:
	ret;
}
	// .globl	other
.visible .entry other(
	.param .u64 other_param_0
)
{
	.reg .b32 	%r<9>;

	{ // callseq 0, 0
	call.uni helper, ();
	} // callseq 0
	{ // callseq 1, 0
	call.uni helper, ();
	} // callseq 1
	ret;
}
"""
CROWDED = ".version 8.0 .target sm_90 .func f(.reg .b32 x){.reg .b32 y;add.s32 y,x,1;/* one */L:ret;}"


def test_a_style_is_what_is_most_frequent() -> None:
    style = infer_style(parse(TEXT))
    assert style.gaps["Instruction"] == {"opcode %": " \t", "opcode w": " \t"}
    assert style.gaps["RegisterDeclaration"] == {". %": " \t"}
    assert style.gaps["call"] == {"opcode w": " "}
    assert style.trivia["{ *"] == " // callseq {call}, 0\n\t"
    assert style.trivia["} *"] == " // callseq {called}\n\t"
    assert style.asm == ("// begin inline asm\n\t{ add.s32 %a,%a,0; add.s32 %a,%a,0;}\n\t// end inline asm",)


def test_what_deviates_is_named_and_nothing_else_is_left() -> None:
    tree = parse(TEXT.replace("mov.u32 	%r1", "mov.u32   %r1"))
    style = infer_style(tree)
    assert [one.raw for one in deviations(tree, style) if one.raw] == ["mov.u32   %r1, %tid.x;"]
    rest = stripped(tree, style)
    assert [node.raw for node in walk(rest) if node.raw] == ["mov.u32   %r1, %tid.x;"]
    assert rest == tree


def test_a_tree_without_spellings_is_written_in_any_style() -> None:
    tree = parse(TEXT)
    style = infer_style(tree)
    new = evolve(parse_instruction("xor.b32 %r7, %r6, -1;"), leading_trivia=None, raw=None)
    function = tree.body[-1]
    assert isinstance(function, n.Function)
    assert function.body is not None
    longer = replace(function, body=replace(function.body, body=(new, *function.body.body)))
    after = emit(replace(tree, body=(*tree.body[:-1], longer)), style)
    assert after == TEXT.replace("other_param_0\n)\n{", "other_param_0\n)\n{\n	xor.b32 	%r7, %r6, -1;")


def test_a_lead_that_is_open_is_the_usual_one_without_a_style() -> None:
    block = n.Block((n.Instruction(("ret",)),))
    module = n.Module((n.Version(8, 0, leading_trivia=""), n.Function("entry", "k", (), body=block)))
    assert emit(module) == ".version 8.0\n\t.entry k()\n\t{\n\tret;\n}\n"
    assert emit(module, Style()) == emit(module)
    section = n.Section(".debug_str", (n.Label("x"),))
    assert emit(section) == emit(section, Style()) == "\n\t.section .debug_str\n\t{\n\tx:\n\t}"


def test_invalid_text_stays_what_it_is() -> None:
    tree, _ = parse_recovering(TEXT.replace("ret;", "ret %%;"))
    style = infer_style(tree)
    assert emit(stripped(tree, style), style) == emit(tree)


@pytest.mark.parametrize("style", KNOWN)
def test_formatting_keeps_tokens_and_comments(style: str) -> None:
    done = formatted(CROWDED, KNOWN[style])
    assert parse(done) == parse(CROWDED)
    assert "/* one */" in done
    assert done.count("\n") >= 8


def test_canonical_layout_indents_by_depth() -> None:
    assert formatted(".version 8.0 .target sm_90 .func f(){{ret;}L:ret;}", KNOWN["canonical"]) == (
        ".version 8.0\n.target sm_90\n\n.func f()\n{\n\t{\n\t\tret;\n\t}\nL:\n\tret;\n}\n"
    )


def test_a_style_joins_no_tokens_and_one_that_adds_some_is_refused() -> None:
    assert parse(formatted(CROWDED, Style(trivia={"*": ""}))) == parse(CROWDED)
    with pytest.raises(FormattingError, match="more than whitespace"):
        formatted(CROWDED, Style(trivia={"*": "\nret;"}))


LLVM = """\
.version 8.0
.target sm_90
.file	1 "k.py"
	// .globl	bump                    // -- Begin function bump
.visible .entry bump()                  // @bump
{
	.reg .b32 	%r<9>;
	.loc	1 7 0                           // k.py:7:0
// %bb.0:
	mov.u32 	%r1, %tid.x;
	{ // callseq 4, 0
	call.uni f, ();
	} // callseq 4
	{ // callseq 5, 0
	call.uni f, ();
	} // callseq 5
	@%p1 bra 	$L__BB0_1;
// %bb.7:
	@%p1 bra 	$L__BB0_1;
// %bb.8:
	// begin inline asm
	.loc	1 0 3                           // k.py:0:3
	mov.u32 %r1, %laneid;
	// end inline asm
	and.b32  	%r2, %r1, 1;
$L__BB0_1:
	ret;
}
"""


def deviating(text: str) -> list[tuple[str | None, str | None]]:
    tree = parse(text)
    style = infer_style(tree)
    assert emit(stripped(tree, style), style) == text
    return [(one.leading_trivia, one.raw) for one in deviations(tree, style)]


def test_comments_that_repeat_what_is_around_are_rules_where_they_are_seen_once() -> None:
    style = infer_style(parse(LLVM))
    assert style.trivia["Loc *"] == "{margin}// {location}\n// %bb.{block}:\n\t"
    assert style.trivia["* Function"] == "\n\t// .globl\t{function}{margin}// -- Begin function {function}\n"


def test_what_compilers_count_goes_on_from_what_a_comment_says() -> None:
    assert deviating(LLVM) == [(" // callseq 4, 0\n\t", None), ("\n// %bb.7:\n\t", None)]
    again = LLVM.replace("%bb.8:", "%bb.9:").replace("callseq 5, 0", "callseq 6, 0").replace("callseq 5", "callseq 6")
    assert len(deviating(again)) == 4


def test_what_a_known_compiler_does_is_a_rule_where_it_is_seen_once() -> None:
    assert infer_style(parse(LLVM)).gaps["and"] == {"opcode %": "  \t"}
    other = LLVM.replace("and.b32  \t", "and.b32   \t")
    assert "and" not in infer_style(parse(other)).gaps
    assert deviating(other)[-1][1] == "and.b32   \t%r2, %r1, 1;"


def test_a_template_says_where_its_statements_come_from_and_what_their_author_called() -> None:
    assert infer_style(parse(LLVM)).asm == (
        "// begin inline asm\n\t.loc\t1 0 3 // {location}\n\tmov.u32 %a, %laneid;\n\t// end inline asm",
    )


def test_asm_of_the_same_instructions_is_told_apart_by_the_names_in_it() -> None:
    one = "	// begin inline asm\n	{ .reg.b32 x; mov.b32 x,%r1;  mov.b32 %r2,x; }\n	// end inline asm\n"
    other = (
        "	// begin inline asm\n	{ .reg.b32 y;\n\tmov.b32 y, %r1;\n\tmov.b32 %r3, y; }\n	// end inline asm\n"
    )
    text = LLVM.replace("\tand.b32", f"{one}{one}{other}\tand.b32")
    assert len(deviating(text)) == 2
    assert infer_style(parse(text)).asm[-1] == other.strip().replace("%r1", "%a").replace("%r3", "%a")


ABBREVIATIONS = """\
	.section	.debug_abbrev
	{
.b8 1                                   // Abbreviation Code
.b8 17                                  // DW_TAG_compile_unit
.b8 1                                   // DW_CHILDREN_yes
.b8 37                                  // DW_AT_producer
.b8 8                                   // DW_FORM_string
.b8 0                                   // EOM(1)
.b8 0                                   // EOM(2)
.b8 2                                   // Abbreviation Code
.b8 46                                  // DW_TAG_subprogram
.b8 0                                   // DW_CHILDREN_no
.b8 135                                 // DW_AT_MIPS_linkage_name
.b8 64
.b8 8                                   // DW_FORM_string
.b8 0                                   // EOM(1)
.b8 0                                   // EOM(2)
.b8 0                                   // EOM(3)
	}
"""
UNIT = """\
	.section	.debug_info
	{
.b32 22                                 // Length of Unit
.b8 2                                   // DWARF version number
.b8 0
.b32 .debug_abbrev                      // Offset Into Abbrev. Section
.b8 8                                   // Address Size (in bytes)
.b8 1                                   // Abbrev [1] 0xb:0x9 DW_TAG_compile_unit
.b8 99                                  // DW_AT_producer
.b8 99
.b8 0
.b8 2                                   // Abbrev [2] 0xf:0x4 DW_TAG_subprogram
.b8 107                                 // DW_AT_MIPS_linkage_name
.b8 107
.b8 0
.b8 0                                   // End Of Children Mark
	}
"""


def test_the_lines_of_debug_sections_are_explained() -> None:
    tree = parse(ABBREVIATIONS + UNIT)
    style = infer_style(tree)
    assert style.trivia["*"] == "{margin}// {remark}\n"
    assert not list(deviations(tree, style))


@pytest.mark.parametrize("line", range(2, 32))
def test_debug_sections_that_say_something_else_lose_nothing(line: int) -> None:
    lines = (ABBREVIATIONS + UNIT).splitlines(keepends=True)
    for other in (".b8 1, 2\n", ".b64 0f3F800000\n", ".b8 -1\n", "here:\n", ""):
        text = "".join([*lines[:line], other, *lines[line + 1 :]])
        tree, _ = parse_recovering(text)
        style = infer_style(tree)
        assert emit(stripped(tree, style), style) == text


# --- pyptx fmt ----------------------------------------------------------------------------------------


def test_fmt_rewrites_files_and_says_what_it_would(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.ptx"
    path.write_bytes(CROWDED.encode())
    assert main(["fmt", "--check", str(path)]) == 1
    assert capsys.readouterr().out == f"{path}\n"
    assert path.read_text() == CROWDED
    assert main(["fmt", str(path)]) == 0
    assert path.read_text() == formatted(CROWDED, KNOWN["canonical"])
    assert main(["fmt", "--check", str(path)]) == 0


def test_fmt_takes_the_style_of_another_file(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    like, path = tmp_path / "like.ptx", tmp_path / "k.ptx"
    like.write_bytes(TEXT.encode())
    path.write_bytes(CROWDED.encode())
    assert main(["fmt", "--style", f"like={like}", "-o", "-", str(path)]) == 0
    assert b"\n\tadd.s32 \ty, x, 1;" in capsysbinary.readouterr().out
    assert path.read_bytes() == CROWDED.encode()


def test_fmt_refuses_what_it_cannot_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.ptx"
    path.write_bytes(b"add.s32 %r1 %r2;")
    assert main(["fmt", str(path)]) == 2
    assert "k.ptx:1:13" in capsys.readouterr().err
    assert path.read_bytes() == b"add.s32 %r1 %r2;"
    assert main(["fmt", "--style", "pretty", str(path)]) == 2
    assert "unknown style 'pretty'" in capsys.readouterr().err
    assert main(["fmt", "-o", "-", str(path), str(path)]) == 2
    assert main(["fmt", str(tmp_path / "none.ptx")]) == 2
    assert main(["fmt"]) == 2
