"""Constant expressions have the values, and the types, that ptxas 13.0 gives them. Manual: "Constant Expressions"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_ir.isa.constant_values import constant_value, evaluated
from pyptx_ir.isa.modules.constants import of_value
from pyptx_ir.syntax import parse
from pyptx_ir.syntax.nodes import Variable

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand

ALL = (1 << 64) - 1
VALUES: dict[str, int | float] = {
    "-8/3": -2,
    "-8 % 3": ((1 << 64) - 8) % 3,
    "-1>>1": -1,
    "-1U>>1": ALL >> 1,
    "1<<64": 1,
    "1<<63": -(1 << 63),
    "9223372036854775807+1": -(1 << 63),
    "0x8000000000000000": 1 << 63,
    "-1U": ALL,
    "~0": ALL,
    "-1 < 1U": 0,
    "-1 < 1": 1,
    "(.s64)-1U < 1": 1,
    "(.u64)-1": ALL,
    "(.s64)0xffffffffffffffff": -1,
    "-WARP_SZ": -32,
    "WARP_SZ/8": 4,
    "017": 15,
    "0b11": 3,
    "!4": 0,
    "1 ? 2 : 3": 2,
    "0 ? 2 : 3": 3,
    "2 && 0 || 4": 1,
    "1.5 + 1.5": 3.0,
    "1.5 < 2.0": 1,
    "-0d3ff0000000000000": -1.0,
}
WITHOUT_VALUE = (
    "1/0",
    "1 % 0",
    "08",
    "18446744073709551616",
    "1.5 & 1.5",
    "~1.0",
    "!1.0",
    "1.0 << 1",
    "g",
    "1.0 / 0.0",
)


def initializer(text: str) -> Operand:
    node = parse(f".version 9.0\n.target sm_90\n.global .b64 g = {text};\n").body[-1]
    assert isinstance(node, Variable)
    value = node.declarators[0].initializer
    assert value is not None
    return value


@pytest.mark.parametrize("text", VALUES)
def test_a_constant_expression_has_the_value_of_ptxas(text: str) -> None:
    operand, wanted = initializer(text), VALUES[text]
    assert evaluated(operand) == wanted
    assert constant_value(operand) == (wanted if isinstance(wanted, int) else None)
    assert of_value(operand, {})[0] == ("integer" if isinstance(wanted, int) else "float")


@pytest.mark.parametrize("text", WITHOUT_VALUE)
def test_an_expression_without_a_value_has_none(text: str) -> None:
    assert evaluated(initializer(text)) is None
