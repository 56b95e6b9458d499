"""Numbers and operands: Python evaluates their printed form to the same operands."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyptx_dsl.registers.operands import float_text
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.printing.values import Values, number, quoted, special_register
from pyptx_transpile.reading.names import Registers, Symbols, identifier


def bits_of(value: int, bits: int) -> str:
    return f"0{'f' if bits == 32 else 'd'}{value:0{bits // 4}X}"


@given(st.integers(0, 2**32 - 1))
def test_a_float_that_is_printed_as_a_number_has_the_same_bits(value: int) -> None:
    text = bits_of(value, 32)
    shown = number(text, 32)
    assert shown == quoted(text) or float_text(float(shown), 32) == text


@given(st.integers(0, 2**64 - 1))
def test_so_has_a_double(value: int) -> None:
    text = bits_of(value, 64)
    shown = number(text, 64)
    assert shown == quoted(text) or float_text(float(shown), 64) == text


@pytest.mark.parametrize(
    ("value", "shown"), [(1.0, "1.0"), (0.1, "0.1"), (-0.5, "-0.5"), (3.1415927410125732, "3.1415927"), (1e20, "1e20")]
)
def test_floats_are_printed_with_the_fewest_digits(value: float, shown: str) -> None:
    assert number(bits_of(struct.unpack(">I", struct.pack(">f", value))[0], 32), 32) == shown


@pytest.mark.parametrize("text", ["0f7F800000", "0fFFC00000", "0x1F", "017", "1U", "WARP_SZ", "-0"])
def test_what_python_spells_otherwise_stays_text(text: str) -> None:
    assert number(text, 32) == quoted(text)
    assert number(text, 0) == quoted(text)


@given(st.text())
def test_strings_are_ascii_literals(text: str) -> None:
    literal = quoted(text)
    assert literal.isascii()
    assert eval(literal) == text  # noqa: S307  a literal


@given(st.text(min_size=1), st.sets(st.text(max_size=3), max_size=5))
def test_names_are_identifiers_of_their_own(name: str, taken: set[str]) -> None:
    found = identifier(name, taken)
    assert found.isidentifier()
    assert found.isascii()
    assert found not in taken


@pytest.mark.parametrize(
    ("name", "found"), [("%rd", "rd"), ("$L__BB0_1", "L__BB0_1"), ("reg", "reg_2"), ("for", "for_2")]
)
def test_names_read_as_those_of_ptx(name: str, found: str) -> None:
    assert identifier(name) == found


def test_registers_in_a_row_are_a_slice() -> None:
    registers = Registers(Symbols(()), 0)
    registers.declare("%f", 128)
    registers.declare("%r1", None)
    values = Values(registers)
    row = tuple(tree.Register(f"%f{number}") for number in range(8, 16))
    assert values.expression(tree.Vector(row)) == "f[8:16]"
    assert values.expression(tree.Vector((*row, tree.Register("%r1")))) == "[*f[8:16], r1]"
    assert values.expression(tree.Vector(row[::-1])) == "f[15:7:-1]"
    assert values.expression(tree.Vector((*row[::2], row[0]))) == "[*f[8:16:2], f[8]]"
    assert values.expression(tree.Vector(row[:3])) == "f[8:11]"
    assert values.expression(tree.Vector(row[:2])) == "[f[8], f[9]]"


def test_a_register_of_an_inner_scope_hides_the_outer_one() -> None:
    registers = Registers(Symbols(()), 0)
    registers.enter()
    registers.declare("%p", 4)
    registers.enter()
    assert registers.find("%p1") == "p[1]"
    registers.declare("%p1", None)
    assert registers.find("%p1") == "p1"
    assert registers.find("%p2") == "p[2]"
    registers.leave()
    assert registers.find("%p1") == "p[1]"
    assert registers.find("%q") is None


def test_symbols_are_known_behind_their_declaration() -> None:
    symbols = Symbols(("lut",))
    assert symbols.declare("lut", 3, "lut") == "lut_2"
    before, behind = Registers(symbols, 3), Registers(symbols, 4)
    assert before.find("lut") is None
    assert not symbols.used
    assert behind.find("lut") == "lut_2"
    assert symbols.used == {"lut"}
    assert behind.declare("%lut_2", 4) == "lut_2_2"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("%tid.x", "ptx.special.tid.x()"),
        ("%laneid", "ptx.special.laneid()"),
        ("%envreg3", 'ptx.sreg("%envreg3")'),
        ("%tid.w", None),
        ("%r1", None),
        ("tid", None),
    ],
)
def test_special_registers_are_functions(name: str, shown: str | None) -> None:
    assert special_register(name) == shown
