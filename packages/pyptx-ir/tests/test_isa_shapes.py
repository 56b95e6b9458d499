"""Operand shapes, which rows of the instruction table are matched against."""

from __future__ import annotations

import pytest

from pyptx_ir.isa.forms import register_type
from pyptx_ir.isa.shapes import literal_kind, shape_of
from pyptx_ir.syntax import parse_operand


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("%u32_1", ("register", "u32")),
        ("%r1", ("register", "")),
        ("%tid.x", ("special", "u32", "u16")),
        ("symbol", ("symbol", "")),
        ("5", ("literal", "int")),
        ("0f3F800000", ("literal", "single")),
        ("1.5", ("literal", "double")),
        ("(3 + 4) * -2", ("literal", "int")),
        ("1 ? 2 : 3", ("literal", "int")),
        ("symbol + 4", ("symbol", "")),
        ("values[2]", ("element", "")),
        ("[%u64_1+4]", ("address", "u64")),
        ("[symbol]", ("address", "")),
        (
            "[%u64_1, {%u32_1, %u32_2}]",
            ("bracket", ("register", "u64"), ("vector", ("register", "u32"), ("register", "u32"))),
        ),
        ("{%u32_1, _}", ("vector", ("register", "u32"), ("sink",))),
        ("%pred_1|%pred_2", ("pair", ("register", "pred"), ("register", "pred"))),
        ("!%pred_1", ("negated", ("register", "pred"))),
        ("_", ("sink",)),
        ("(%u32_1, %u32_2)", ("list", ("register", "u32"), ("register", "u32"))),
    ],
)
def test_an_operand_is_reduced_to_its_shape(text: str, shape: object) -> None:
    assert shape_of(parse_operand(text), register_type) == shape


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("12", "int"),
        ("-0x7eU", "int"),
        ("0b1", "int"),
        ("WARP_SZ", "int"),
        ("0F00000000", "single"),
        ("0d3FF0000000000000", "double"),
        ("-1e9", "double"),
        ("1.", "double"),
    ],
)
def test_literals_are_told_apart_by_their_spelling(text: str, kind: str) -> None:
    assert literal_kind(text) == kind


def test_a_component_of_a_vector_register_is_a_register() -> None:
    types = {"v": ""}
    assert shape_of(parse_operand("v.x"), types.get) == ("register", "")
