"""Error messages for wrong block-scaled MMAs."""

from __future__ import annotations

import pytest

from pyptx_ir.isa.check import verdict_on
from pyptx_ir.isa.forms import register_type
from pyptx_ir.syntax import parse_instruction

D = "{%f32_1, %f32_2, %f32_3, %f32_4}"
A = "{%b32_1, %b32_2, %b32_3, %b32_4}"
BYTES = (
    "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0 "
    f"{D}, {A}, {{%b32_5, %b32_6}}, {D}"
)
PACKED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32"
PACKED_OPERANDS = f"{D}, {A}, {{%b32_5, %b32_6}}, {D}, %b32_7, {{0, 1}}, %b32_8, {{0, 3}}"


def said(text: str, target: str = "sm_120a", version: tuple[int, int] = (9, 0)) -> str:
    verdict = verdict_on(parse_instruction(text), register_type, target, version)
    return "" if verdict is None else f"{verdict.code}: {verdict.message}; {verdict.help}"


@pytest.mark.parametrize(
    ("selectors", "wanted"),
    [
        ("%b32_7, {0, 0}, %b32_8, {0, 0}", ""),
        ("{%u32_7}, {3, 1}, {%b32_8}, {3, 3}", ""),
        ("%b32_7, {%u16_1, %b16_2}, %b32_8, {%u16_3, 1}", ""),
        ("%b32_7, {4, 0}, %b32_8, {0, 0}", "immediate-range: operand 6 * `4`, is out of range; it must be 0 to 3"),
        ("%b32_7, {0, 2}, %b32_8, {0, 0}", "immediate-range: operand 6 * `2`, is out of range; it must be 0 to 1"),
        ("%b32_7, {0, 0}, %b32_8, {0, -1}", "immediate-range: operand 8"),
        ("%b32_7, {0}, %b32_8, {0, 0}", "vector-length: operand 6"),
        ("%b32_7, {%u32_1, 0}, %b32_8, {0, 0}", "operand-type: operand 6"),
        ("%b32_7, 0, %b32_8, {0, 0}", "operand-kind: operand 6"),
        ("%b64_7, {0, 0}, %b32_8, {0, 0}", "operand-type: operand 5 * alone or in braces"),
        ("1, {0, 0}, %b32_8, {0, 0}", "operand-kind: operand 5"),
    ],
)
def test_scales_are_chosen_by_constants_within_their_limits_or_by_registers(selectors: str, wanted: str) -> None:
    message = said(f"{BYTES}, {selectors};")
    assert bool(message) == bool(wanted)
    for part in wanted.split(" * "):
        assert part in message


def test_four_scales_of_ue8m0_came_later_than_those_of_ue4m3() -> None:
    assert said(f"{PACKED}.ue4m3 {PACKED_OPERANDS};") == ""
    assert "needs PTX 9.1" in said(f"{PACKED}.ue8m0 {PACKED_OPERANDS};")
    assert said(f"{PACKED}.ue8m0 {PACKED_OPERANDS};", "sm_121f", (9, 1)) == ""


def test_elements_of_four_and_six_bits_need_their_kind_and_its_family() -> None:
    operands = f"{D}, {A}, {{%b32_5, %b32_6}}, {D};"
    assert "lacks a modifier: .kind::f8f6f4" in said(f"mma.sync.aligned.m16n8k32.row.col.f32.e2m1.e3m2.f32 {operands}")
    kind = f"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32 {operands}"
    assert said(kind) == ""
    assert "needs sm_120f" in said(kind, "sm_100a")
