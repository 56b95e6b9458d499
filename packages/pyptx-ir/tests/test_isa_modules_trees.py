"""Checks of syntax trees: parsed and built ones, several modules in a text, and unreadable text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyptx_ir.isa.modules import check_module, check_text
from pyptx_ir.isa.modules.codes import CODES
from pyptx_ir.isa.modules.rules import RULES
from pyptx_ir.isa.target_rows import TargetError
from pyptx_ir.syntax import emit, parse, walk
from pyptx_ir.syntax.nodes import Block, Function, Instruction, Module, Section, Statement
from pyptx_ir.syntax.operands import Address, Immediate, Register

from .modules_broken import BROKEN, HEAD, Broken, entry

# Faults of the source text only: formatted again, the tree gives `[%rd1+-4]` and `.align 8 .u64`, which are valid.
SPELLING = {
    "a minus sign in an address",
    "a minus before parentheses in brackets",
    "two minus signs in brackets",
    "a minus and a plus in brackets",
    ".align after a parameter's type",
    ".align after the type of a return value",
    ".align after a variable's type",
    ".ptr in a variable declaration",
}
PARSED = [broken for broken in BROKEN if broken.code != "syntax" and broken.name not in SPELLING]


def bare(node: Statement) -> Statement:
    """Return a tree without preserved source text, as if built without a parser."""
    match node:
        case Block(body=body):
            return replace(node, body=tuple(map(bare, body)))
        case Function(body=Block() as block):
            return replace(node, raw=None, body=replace(block, body=tuple(map(bare, block.body))))
        case Section(body=body):
            return node
        case _:
            return replace(node, raw=None)


@pytest.mark.parametrize("broken", PARSED, ids=lambda broken: broken.name.replace(" ", "-"))
def test_a_tree_is_checked_like_its_text_whether_it_was_parsed_or_written(broken: Broken) -> None:
    tree = parse(broken.text)
    found = check_module(tree)
    assert found == check_text(broken.text)
    written = Module(tuple(map(bare, tree.body)), tree.tail)
    again = check_module(written)
    assert [one.code for one in again] == [one.code for one in found]
    text = emit(written)
    assert [text[one.span.start : one.span.end] for one in again] == [
        broken.text[one.span.start : one.span.end] for one in found
    ]


def test_one_node_in_two_places_is_found_in_both() -> None:
    node = Instruction(("mov", "b32"), (Register("%q"), Register("%r")))
    tree = parse(f"{HEAD}.func f() {{\n\tret;\n}}\n.func g() {{\n\tret;\n}}\n")
    body = tuple(
        replace(part, body=replace(part.body, body=(node, *part.body.body)))
        if isinstance(part, Function) and part.body
        else part
        for part in tree.body
    )
    assert [(one.line, one.message) for one in check_module(Module(body))] == [
        (5, "'%q' is not declared"),
        (5, "'%r' is not declared"),
        (9, "'%q' is not declared"),
        (9, "'%r' is not declared"),
    ]


def test_an_operand_shared_by_statements_is_judged_in_each_by_its_place_and_spelling() -> None:
    wrong = Address(Register("%rd1"), Immediate("-4"))  # `[%rd1-4]` is rejected, `[%rd1+-4]` is valid
    address = (Register("%f1"), wrong), (wrong, Register("%f1"))
    body = "ld.global.f32 %f1, [%rd1-4];\n\tst.global.f32 [%rd1-4], %f1;\n\tld.global.f32 %f1, [%rd1+-4];"
    text = entry(body)
    tree = parse(text)
    instructions = [node for node in walk(tree) if isinstance(node, Instruction)]
    assert [node.operands for node in instructions[:3]] == [*address, address[0]]
    lines = text.splitlines()
    assert [(one.line, one.code, text[one.span.start : one.span.end]) for one in check_module(tree)] == [
        (lines.index("\tst.global.f32 [%rd1-4], %f1;") + offset, "operand-kind", "[%rd1-4]") for offset in (0, 1)
    ]

    def edited(node: Statement) -> Statement:
        """Drop the source text of the first statement; keep the operand object that the statements share."""
        match node:
            case Block(body=body):
                return replace(node, body=tuple(map(edited, body)))
            case Function(body=Block() as block):
                return replace(node, body=edited(block))
            case Instruction() if node is instructions[0]:
                return replace(node, raw=None)
            case _:
                return node

    again = Module(tuple(map(edited, tree.body)), tree.tail)
    assert check_module(again) == check_text(emit(again))
    assert [one.line for one in check_module(again)] == [lines.index("\tst.global.f32 [%rd1-4], %f1;") + 1]


def test_an_undeclared_name_is_reported_once_in_a_function() -> None:
    found = check_text(entry("mov.b32 %q, 1;\n\t{ add.s32 %q, %q, 1; }\n\tmov.b32 %r1, %q;"))
    assert [(one.code, one.line) for one in found] == [("undefined-register", 10)]


def test_names_in_text_that_can_not_be_read_are_taken_for_declared() -> None:
    found = check_text(entry(".reg .b32 %a<4> %b;\n\tadd.s32 %a1, %b, 1;"))
    assert [one.code for one in found] == ["syntax"]


def test_what_stands_behind_a_wrong_statement_is_checked() -> None:
    found = check_text(entry("add.s32 %r1, , 1;\n\tmov.b32 %q, 1;"))
    assert [(one.code, one.line) for one in found] == [("syntax", 10), ("undefined-register", 11)]


def test_each_module_of_a_listing_is_checked_by_itself() -> None:
    heading = "Fatbin ptx code:\n================\narch = sm_90\n\n"
    module = entry("mov.b32 %q, 1;")
    found = check_text(heading + module + heading.replace("Fatbin", "\nFatbin") + module)
    lines = module.count("\n")
    assert [(one.code, one.line) for one in found] == [
        ("undefined-register", 4 + 10),
        ("undefined-register", 4 + lines + 5 + 10),
    ]


def test_an_empty_text_lacks_everything() -> None:
    assert [(one.code, one.line, one.column) for one in check_text("")] == [
        ("missing-version", 1, 1),
        ("missing-target", 1, 1),
    ]


def test_a_target_that_nobody_knows_is_an_error_of_the_call() -> None:
    with pytest.raises(TargetError, match="sm_91"):
        check_module(parse(HEAD), "sm_91")


def test_a_retired_module_is_judged_for_the_target_that_was_asked_for() -> None:
    text = ".version 3.2\n.target sm_20\n.entry k() { .reg .b32 %r; redux.sync.add.s32 %r, %r, -1; exit; }\n"
    assert [one.code for one in check_text(text)] == ["retired-target"]
    assert {one.code for one in check_text(text, target="sm_75")} == {"target-version", "version"}


def test_rules_report_codes_of_the_catalogue_and_every_code_has_a_rule() -> None:
    reported = frozenset[str]().union(*(rule.codes for rule in RULES))
    of_the_whole = {
        *("syntax", "missing-version", "missing-target", "unknown-version", "newer-version", "unknown-target"),
        *("retired-target", "target-version"),
    }
    assert reported | of_the_whole == {code.name for code in CODES}


def test_what_is_right_in_a_module_of_32_bits_is_not_taken_for_right_in_one_of_64() -> None:
    text = """.version 8.0\n.target sm_90\n.address_size {}
.visible .entry k() {{
    .reg .b32 %r<3>;
    ld.global.b32 %r1, [%r2];
    ret;
}}
"""
    for _ in range(2):
        assert [each.code for each in check_text(text.format(32))] == []
        assert check_text(text.format(64)), "a 32-bit address is valid in a 64-bit module"
