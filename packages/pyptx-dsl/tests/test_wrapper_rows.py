"""Wrappers made from instruction table rows emit every form in the instruction table."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.forms.row_forms import types_in
from pyptx_dsl.instructions.forms.wrapper import (
    Binary,
    BinaryOrTernary,
    Quaternary,
    Ternary,
    Unary,
    Wrapper,
    keywords_of,
)
from pyptx_dsl.types import b32, bf16, e4m3x4, f16, f16x2, f32, from_name, s8x4, s16x2, s32, u8, u8x4, u32, u64, ue8m0x4
from pyptx_ir.isa.check import patterns_of
from pyptx_ir.isa.forms import forms
from pyptx_ir.syntax import parse_statements
from pyptx_ir.syntax.nodes import Instruction

if TYPE_CHECKING:
    from pyptx_ir.isa.patterns import Pattern

WRAPPERS = [value for name in ptx.__all__ if isinstance(value := getattr(ptx, name), Wrapper)]
SOURCES: dict[type, tuple[int, int]] = {
    Unary: (1, 1),
    Binary: (2, 2),
    BinaryOrTernary: (2, 3),
    Ternary: (3, 3),
    Quaternary: (4, 4),
}


def opcodes(pattern: Pattern) -> set[tuple[str, ...]]:
    """Return the opcodes of an instruction table row: every type, and other modifiers alone and in pairs."""
    found = set[tuple[str, ...]]()
    for text in forms(pattern.row):
        (node,) = parse_statements(text)
        assert isinstance(node, Instruction)
        found.add(node.opcode)
    return found


@pytest.mark.parametrize("wrapper", WRAPPERS, ids=repr)
def test_a_wrapper_writes_every_form_of_every_row_of_its_instruction(wrapper: Wrapper) -> None:
    for pattern in patterns_of(wrapper.opcode):
        for opcode in opcodes(pattern):
            keywords = keywords_of(wrapper, opcode[1:])
            assert keywords is not None
            types = tuple(map(from_name, types_in(opcode[1:])))
            assert wrapper.words(types, **keywords) == opcode


@pytest.mark.parametrize("wrapper", [each for each in WRAPPERS if type(each) in SOURCES], ids=repr)
def test_a_wrapper_takes_as_many_sources_as_its_rows(wrapper: Wrapper) -> None:
    counts = {len(pattern.places) - 1 for pattern in patterns_of(wrapper.opcode)}
    assert (min(counts), max(counts)) == SOURCES[type(wrapper)]


@pytest.mark.parametrize("wrapper", WRAPPERS, ids=repr)
def test_a_wrapper_documents_every_row_of_its_instruction(wrapper: Wrapper) -> None:
    documentation = inspect.getdoc(wrapper)
    assert documentation is not None
    assert documentation.startswith(wrapper.summary)
    assert "Emits one instruction" in documentation
    for pattern in patterns_of(wrapper.opcode):
        assert pattern.row.syntax in documentation
        assert pattern.row.manual in documentation
    assert inspect.getdoc(type(wrapper)) != documentation


def test_the_words_that_a_call_leaves_out_are_the_usual_ones() -> None:
    spelt = {
        ptx.fma.words(f32): "fma.rn.f32",
        ptx.mul.words(s32): "mul.lo.s32",
        ptx.mad.words(s32, sat=True): "mad.hi.sat.s32",
        ptx.rcp.words(f32): "rcp.rn.f32",
        ptx.rcp.words(from_name("f64"), approx=True): "rcp.approx.ftz.f64",
        ptx.sin.words(f32): "sin.approx.f32",
        ptx.ex2.words(bf16): "ex2.approx.ftz.bf16",
        ptx.szext.words(u32): "szext.clamp.u32",
        ptx.add.words(f32): "add.f32",
    }
    assert [".".join(words) for words in spelt] == list(spelt.values())


def test_packed_integers_and_several_types_are_written_like_any_other() -> None:
    spelt = {
        ptx.add.words(u8x4): "add.u8x4",
        ptx.sub.words(s8x4, sat=True): "sub.sat.s8x4",
        ptx.add.words(s16x2, sat=True): "add.sat.s16x2",
        ptx.add.words((f32, f16), rounding="rz", sat=True): "add.rz.sat.f32.f16",
        ptx.add.words((e4m3x4, ue8m0x4), satfinite=True): "add.satfinite.e4m3x4.ue8m0x4",
        ptx.min.words(f32, abs=True, nan=True): "min.NaN.abs.f32",
        ptx.min.words(f32, xorsign_abs=True): "min.xorsign.abs.f32",
        ptx.and_.words(u8x4): "and.b32",
        ptx.lop3.words(f16x2, combine="or"): "lop3.or.b32",
        ptx.popc.words(u64): "popc.b64",
    }
    assert [".".join(words) for words in spelt] == list(spelt.values())


@pytest.mark.parametrize(
    ("wrapper", "types", "modifiers", "message"),
    [
        (ptx.add, u8, {}, "has no form for u8"),
        (ptx.and_, u8, {}, "has no form for u8.*supported: b16, b32, b64, pred"),
        (ptx.add, (f32, u32), {}, r"no form for f32\.u32.*supported: f32\.f16, f32\.bf16, e4m3x4"),
        (ptx.add, u32, {"rounding": "rn"}, "no modifier 'rounding'"),
        (ptx.add, f16, {"rounding": "rz"}, "invalid rounding='rz'.*use rn"),
        (ptx.fma, f16, {"relu": True, "sat": True}, "does not support the combination relu and sat"),
        (ptx.shr, f32, {}, "no form for f32"),
        (ptx.fma, f32, {"ftz": "ftz"}, "invalid ftz='ftz'.*True"),
        (ptx.fma, f32, {"rounding": True}, "invalid rounding=True.*rn, rz"),
        (ptx.lop3, b32, {"combine": "xor"}, "one of and, or"),
    ],
)
def test_what_no_row_has_is_refused(
    wrapper: Wrapper, types: object, modifiers: dict[str, str | bool], message: str
) -> None:
    with pytest.raises(OperandError, match=f"(?s){message}"):
        wrapper.words(types, **modifiers)  # type: ignore[arg-type]  # values that a user may pass
