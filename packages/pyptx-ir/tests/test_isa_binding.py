"""An instruction bound to its row of the instruction table: modifiers by slot, operands by name, written operands."""

from __future__ import annotations

from random import Random

import pytest

from pyptx_ir.isa.binding import bound
from pyptx_ir.isa.forms import register_type, some_forms
from pyptx_ir.isa.scalar_types import takes
from pyptx_ir.plugins.manager import manager
from pyptx_ir.syntax import parse_instruction
from pyptx_ir.syntax.operand_names import names_of

TYPES = {"%r": "b32", "%rd": "b64", "%p": "pred", "%f": "f32", "%h": "b16", "out": ".global"}


def declared(name: str) -> str | None:
    return TYPES.get(name.rstrip("0123456789"))


@pytest.mark.parametrize(
    ("text", "words", "operands", "written"),
    [
        ("add.u32 %r1, %r2, 3;", {"type": "u32"}, "d a b", {"d"}),
        ("mad.lo.s32 %r1, %r2, %r3, %r4;", {"mode": "lo", "type": "s32"}, "d a b c", {"d"}),
        ("st.global.u32 [%rd1], %r2;", {"ss": "global", "type": "u32"}, "a b", {"a"}),
        ("bar.sync 0;", {"sync": "sync"}, "a", set[str]()),
        ("bar.sync 0, 64;", {"sync": "sync"}, "a b", set[str]()),
        ("setp.lt.s32 %p1|%p2, %r1, %r2;", {"cmp": "lt", "type": "s32"}, "p a b", {"p"}),
        ("atom.add.global.u32 %r1, [%rd1], 3;", {"space": "global", "op": "add", "type": "u32"}, "d a b", {"d", "a"}),
    ],
)
def test_a_form_has_its_words_and_operands(text: str, words: dict[str, str], operands: str, written: set[str]) -> None:
    found = bound(parse_instruction(text), declared)
    assert found is not None
    assert found.words == words
    assert list(found.operands) == operands.split()
    assert found.written == written


def test_operands_tell_rows_apart() -> None:
    vector = bound(parse_instruction("ld.global.v2.u32 {%r1, %r2}, [%rd1];"), declared)
    scalar = bound(parse_instruction("ld.global.u32 %r1, [%rd1];"), declared)
    assert vector is not None
    assert scalar is not None
    assert "v2" in vector.words.values()
    assert "v2" not in scalar.words.values()


@pytest.mark.parametrize(
    "text",
    [
        "add.acme.u32 %r1, %r2, 3;",
        "add.u32 %r1, %rd2, 3;",
        "add.u32 %r1, %r2;",
        "frobnicate.u32 %r1;",
        "fence.acme;",
        "st.global.u32 %r1, %r2;",
    ],
)
def test_what_no_row_has_is_not_bound(text: str) -> None:
    assert bound(parse_instruction(text), declared) is None


def test_the_number_of_a_slot_goes_with_its_word() -> None:
    text = "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3];"
    found = bound(parse_instruction(text), declared)
    assert found is not None
    assert found.length("num") == 2


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("mul.wide.u16 %r1, %h1, %h2;", {"d": ("u32",), "a": ("u16",), "b": ("u16",)}),
        ("shl.b64 %rd1, %rd2, 3;", {"d": ("b64",), "a": ("b64",), "b": ("u32",)}),
        ("setp.lt.s32 %p1|%p2, %r1, %r2;", {"p": ("pred", "pred"), "a": ("s32",), "b": ("s32",)}),
        ("ld.global.v2.u32 {%r1, %r2}, [%rd1];", {"d": ("u32", "u32"), "a": None}),
        ("and.pred %p1, %p2, !%p3;", {"d": ("pred",), "a": ("pred",), "b": ("pred",)}),
        ("vadd.u32.u32.u32 %r1, %r2.b0, %r3;", {"d": ("b32",), "a": ("b32",), "b": ("b32",)}),
        ("bra done;", {"target": None}),
    ],
)
def test_an_operand_has_the_types_of_its_registers(text: str, types: dict[str, tuple[str, ...] | None]) -> None:
    found = bound(parse_instruction(text), declared)
    assert found is not None
    assert found.types == types


@pytest.mark.long
def test_every_form_fits_the_types_that_its_operands_have() -> None:
    for row in manager().instructions():
        for text in some_forms(row, Random(5), 3):
            instruction = parse_instruction(text)
            found = bound(instruction, register_type)
            assert found is not None, text
            for name, operand in found.operands.items():
                registers = [register_type(each.partition(".")[0]) for each in names_of(operand)]
                types = found.types[name] or ()
                if len(registers) == len(types):
                    pairs = zip(types, registers, strict=True)
                    assert all(takes(of, held or "", relaxed=True) for of, held in pairs), (text, name, types)


@pytest.mark.parametrize(
    ("text", "spaces"),
    [
        ("ld.u32 %r1, [%rd1];", ()),
        ("ld.param::entry.u32 %r1, [p];", ("param::entry",)),
        ("ld.relaxed.gpu.global.u32 %r1, [%rd1];", ("global",)),
        ("cp.async.ca.shared::cta.global [%r1], [%rd1], 4;", ("shared::cta", "global")),
        ("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%rd1];", ("shared::cluster",)),
    ],
)
def test_the_state_spaces_of_an_opcode_are_slots_or_words_of_the_syntax_line(
    text: str, spaces: tuple[str, ...]
) -> None:
    found = bound(parse_instruction(text), declared)
    assert found is not None
    assert found.spaces == spaces


@pytest.mark.parametrize("order", ["relaxed.gpu", "gpu.relaxed"])
def test_what_a_word_is_does_not_depend_on_where_it_stands(order: str) -> None:
    found = bound(parse_instruction(f"ld.{order}.global.v2.u32 {{%r1, %r2}}, [%rd1];"), declared)
    assert found is not None
    assert (found.words["sem"], found.words["scope"], found.types["d"]) == ("relaxed", "gpu", ("u32", "u32"))
