"""Error messages for invalid wgmma and stmatrix instructions."""

from __future__ import annotations

import pytest

from pyptx_ir.isa.check import verdict_on
from pyptx_ir.isa.forms import register_type
from pyptx_ir.syntax import parse_instruction

BF16 = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16"
SPARSE = "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.u8.satfinite"
D = "{%f32_1, %f32_2, %f32_3, %f32_4}"


def said(text: str, target: str = "sm_90a") -> str:
    verdict = verdict_on(parse_instruction(text), register_type, target, (9, 5))
    return "" if verdict is None else f"{verdict.code}: {verdict.message}; {verdict.help}"


@pytest.mark.parametrize(
    "text",
    [
        f"{BF16} {D}, %u64_1, %b64_2, %pred_1, 1, -1, 0, 1;",
        f"{BF16} {D}, %u64_1, %b64_2, !%pred_1, 1, -1, 0, 1;",
        f"{BF16} {D}, {{%b32_1, %b32_2, %b32_3, %b32_4}}, %b64_2, 1, 1, -1, 0;",
        f"{SPARSE} {D.replace('f', 's')}, %u64_1, %u64_2, {{%b32_9}}, 0, 0;",
        "wgmma.wait_group.sync.aligned 12;",
        "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [smem], {%u32_1};",
    ],
)
def test_the_forms_of_the_manual_pass(text: str) -> None:
    assert said(text) == ""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"{BF16} {D}, %u64_1, %b64_2, %pred_1, 1, 0, 0, 1;", "immediate-range: operand 6 * must be -1 or 1"),
        (f"{BF16} {D}, %u64_1, %b64_2, %pred_1, 1, 1, 0, 2;", "immediate-range: operand 8 * must be 0 or 1"),
        (f"{BF16} {D}, %u64_1, %b64_2, 2, 1, 1, 0, 1;", "immediate-range: operand 4 * must be 0 to 1"),
        (f"{BF16} {D}, %u32_1, %b64_2, %pred_1, 1, 1, 0, 1;", "operand-type: operand 2"),
        (f"{BF16} {{%f32_1, %f32_2}}, %u64_1, %b64_2, %pred_1, 1, 1, 0, 1;", "vector-length: * a vector of 4"),
        (f"{BF16} {{_, %f32_1, %f32_2, %f32_3}}, %u64_1, %b64_2, 1, 1, 1, 0, 1;", "operand 1 * each a .f32"),
        (f"{BF16.replace('n8', 'n12')} {D}, %u64_1, %b64_2, %pred_1, 1, 1, 0, 1;", "no modifier .m64n12k16"),
        (f"{BF16.replace('.aligned', '')} {D}, %u64_1, %b64_2, %pred_1, 1, 1, 0, 1;", "lacks a modifier: .aligned"),
        ("stmatrix.sync.aligned.m8n8.x4.shared.b16 [smem], {%b32_1, %b32_2};", "a vector of 4"),
        ("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [smem], {%b32_1};", "needs sm_100f or sm_110f or sm_120f"),
    ],
)
def test_others_are_refused_with_what_there_should_be(text: str, wanted: str) -> None:
    message = said(text)
    assert message
    for part in wanted.split(" * "):
        assert part in message


def test_they_need_the_target_with_the_suffix() -> None:
    text = f"{BF16} {D}, %u64_1, %b64_2, %pred_1, 1, 1, 0, 1;"
    assert "needs sm_90a; the target is sm_90; pass arch='sm_90a'" in said(text, "sm_90")
