"""Edits: a changed copy of a tree keeps its whitespace and comments, and drops source text that no longer matches."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from pyptx_ir.syntax import emit, evolve, parse, parse_instruction, parse_statements, spell
from pyptx_ir.syntax.drafts import draft, rewritten
from pyptx_ir.syntax.nodes import Block, Function, Instruction, Label, Module, Section, Version
from pyptx_ir.syntax.operands import Immediate, Register

SOURCE = "\n\t// in front\n\tadd.s32 \t%r1, %r2, 4; // behind\n\tret;\n"


def test_a_change_is_spelt_canonically_and_all_else_stays() -> None:
    tree = parse(SOURCE)
    first, second = tree.body
    edited = evolve(first, opcode=("sub", "s32"))
    after = emit(replace(tree, body=(edited, second)))
    assert after == SOURCE.replace("add.s32 \t%r1", "sub.s32 %r1")
    assert first.raw == "add.s32 \t%r1, %r2, 4;"


def test_comments_inside_move_to_the_lead_in_their_order() -> None:
    node = parse_instruction("\n\tadd.s32 // sum\n\t%r1, /* of */ %r2, 4 // both\n\t;")
    assert emit(evolve(node, opcode=("sub", "s32"))) == ("\n\t// sum\n\t/* of */ // both\n\tsub.s32 %r1, %r2, 4;")


def test_a_comment_mark_in_a_string_is_no_comment() -> None:
    (node,) = parse_statements('.pragma "a // b", /* c */ "/* d */";')
    assert emit(evolve(node, values=("x",))) == '/* c */ .pragma "x";'


def test_a_change_of_trivia_keeps_the_spelling() -> None:
    node = parse_instruction("ret ;")
    assert emit(evolve(node, leading_trivia="\n")) == "\nret ;"
    assert emit(evolve(node, leading_trivia="\n", guard=None)) == "\nret;"


def test_a_new_body_keeps_the_header_of_its_function() -> None:
    text = ".entry k ( ) // kernel\n{ ret; }"
    (function,) = parse(text).body
    assert isinstance(function, Function)
    assert function.body is not None
    emptied = evolve(function, body=evolve(function.body, body=()))
    assert emit(emptied) == ".entry k ( ) // kernel\n{ }"
    assert emit(evolve(function, name="f")) == ".entry f() // kernel\n{ ret; }"
    assert emit(evolve(function, body=None)) == ".entry k();"


def test_a_renamed_section_drops_its_head_and_a_changed_line_only_itself() -> None:
    (section,) = parse(".section  .a // x\n{\n.b8  1\n.b8  2\n}").body
    assert isinstance(section, Section)
    assert emit(evolve(section, name=".b")) == ".section .b\n\t{\n.b8  1\n.b8  2\n}"
    first, second = section.body
    changed = evolve(section, body=(first, evolve(second, values=(Immediate("3"),))))
    assert emit(changed) == ".section  .a // x\n{\n.b8  1\n.b8 3\n}"


def test_nodes_built_by_hand_are_text_at_once() -> None:
    block = Block((Label("L", leading_trivia="\n"), Instruction(("bra",), ())), leading_trivia="\n")
    tree = Module((Version(8, 0, leading_trivia=""), Function("entry", "k", (), leading_trivia="\n", body=block)))
    assert emit(tree) == ".version 8.0\n.entry k()\n{\nL:\n\tbra;\n}\n"
    assert parse(emit(tree)) == tree


def test_nodes_and_operands_stay_frozen_though_the_parser_makes_them_fast() -> None:
    node = parse_instruction("\n\tadd.s32 %r1, %r2, 4;")
    with pytest.raises(FrozenInstanceError):
        node.opcode = ("sub",)
    with pytest.raises(FrozenInstanceError):
        del node.leading_trivia
    with pytest.raises(FrozenInstanceError):
        node.operands[0].name = "%r2"
    assert type(node) is Instruction
    assert type(node.operands[0]) is Register
    assert node == Instruction(("add", "s32"), (Register("%r1"), Register("%r2"), Immediate("4")))


def test_a_draft_becomes_its_class_with_nothing_left_over() -> None:
    made = draft(Register)()
    made.name = "%r1"
    made.__class__ = Register
    assert made == Register("%r1")
    assert hash(made) == hash(Register("%r1"))
    assert not hasattr(made, "__dict__")


def test_a_change_that_no_field_takes_is_refused() -> None:
    with pytest.raises(TypeError):
        evolve(parse_instruction("ret;"), opcodes=("exit",))


def test_spelling_ignores_what_is_kept() -> None:
    node = parse_instruction("/* a */ add.s32\t%r1 , %r2,4 ;")
    assert spell(node) == "add.s32 %r1, %r2, 4;"
    assert spell(evolve(node)) == spell(node)


@pytest.mark.parametrize("text", [".loc 1 2 3", "add.s32 %r1, %r2, 3;", "{ ret; }", ";", ".reg .b32 %r<4>;", "L:"])
def test_a_statement_is_rewritten_as_replace_would(text: str) -> None:
    (node,) = parse_statements(f"\n/* lead */ {text}")
    again = rewritten(node, "\n\n", "raw")
    assert (again, type(again), again.leading_trivia, again.raw) == (node, type(node), "\n\n", "raw")
    assert again == replace(node, leading_trivia="\n\n", raw="raw")
    assert rewritten(node, None, None).leading_trivia is None
    with pytest.raises(FrozenInstanceError):
        again.leading_trivia = ""  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]  frozen, as every node
