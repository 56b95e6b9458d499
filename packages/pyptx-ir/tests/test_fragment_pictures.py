"""Fragments of instructions, from their opcodes; drawings of fragments."""

from __future__ import annotations

from random import Random
from xml.etree import ElementTree as ET

import pytest

from pyptx_ir.fragments import Fragment, Stride, fragment_of
from pyptx_ir.fragments.instructions import fragments_in
from pyptx_ir.isa.forms import some_forms
from pyptx_ir.plugins.manager import manager
from pyptx_ir.syntax import parse
from pyptx_ir.syntax.nodes import Instruction
from pyptx_ir.syntax.operands import Vector
from pyptx_ir.syntax.walk import walk

SVG = "{http://www.w3.org/2000/svg}"
HEAD = ".version 8.8\n.target sm_90a\n.address_size 64\n.entry k(){\n"
WITHOUT_LAYOUT = ("m8n16.x1.s8.s4", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group")


def instruction(text: str) -> Instruction:
    (found,) = (node for node in walk(parse(f"{HEAD}{text}\n}}")) if isinstance(node, Instruction))
    return found


def matrix_forms() -> list[str]:
    rows = [row for row in manager().instructions() if row.syntax.split(".")[0] in {"mma", "wmma", "ldmatrix"}]
    return [text for row in rows for text in some_forms(row, Random(1), 3)]


def test_fragments_have_the_registers_of_the_operands_of_every_matrix_form() -> None:
    forms = matrix_forms()
    assert len(forms) > 200
    for text in forms:
        node = instruction(text)
        found = fragments_in(node)
        counts = [len(each.elements) for each in node.operands if isinstance(each, Vector)]
        if not found:
            assert "s8.s4" in text, text
        elif node.opcode[0] == "ldmatrix":
            (each,) = found.values()
            assert counts[0] % each.registers == 0, text
        else:
            named = [found[name].registers for name in found if name != "e"]
            assert counts[: len(named)] in (named, [each for each in named if each > 1]), text


def test_operands_are_named_with_their_layouts() -> None:
    node = instruction(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
        "{%f0,%f1,%f2,%f3};"
    )
    assert fragments_in(node) == {
        operand: fragment_of("mma", "m16n8k16", operand, element)
        for operand, element in (("d", "f32"), ("a", "bf16"), ("b", "bf16"), ("c", "f32"))
    }
    assert fragments_in(instruction("add.u32 %r1, %r2, %r3;")) == {}
    assert fragments_in(instruction("mma.sync.nonsense %r1;")) == {}


@pytest.mark.parametrize(
    "fragment",
    [
        fragment_of("mma", "m16n8k16", "a", "bf16"),
        fragment_of("mma", "m8n8k4", "a", "f16", "row"),
        fragment_of("mma.sp", "m16n8k32", "e", "f16"),
        fragment_of("wmma", "m16n16k16", "a", "f16"),
    ],
    ids=lambda each: each.title,
)
def test_a_drawing_has_a_cell_for_every_register_of_every_lane(fragment: Fragment) -> None:
    root = ET.fromstring(fragment.to_svg())  # noqa: S314 - our own text
    texts = [(each.text or "").removesuffix("+") for each in root.iter(f"{SVG}text")]
    shown = {text for text in texts if text.startswith("T")}
    places = [
        fragment.places(row, column, product)[0]
        for product in range(fragment.products)
        for row in range(fragment.rows)
        for column in range(fragment.columns)
    ]
    assert shown == {f"T{place.lane}.r{place.register}" for place in places}
    assert texts[0] == str(fragment).splitlines()[0]


def test_a_large_matrix_is_cut_off_and_its_steps_are_shown() -> None:
    root = ET.fromstring(fragment_of("mma", "m16n8k256", "a", "b1").to_svg())  # noqa: S314 - our own text
    assert float(root.get("width", 0)) < 850
    columns, rows = (tuple(Stride(0, 1 << bit) for bit in range(8)), tuple(Stride(1 << bit) for bit in range(6)))
    root = ET.fromstring(Fragment("wide", 64, 256, 32, columns[:7], (*columns[7:], *rows)).to_svg())  # noqa: S314 - our own text
    texts = [each.text or "" for each in root.iter(f"{SVG}text")]
    assert texts[1].startswith("lane bits:    +1 column, +2 columns")
    assert texts[3].startswith("shown: rows 0-31 of 64, columns 0-")
    assert float(root.get("width", 0)) < 850
