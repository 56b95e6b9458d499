"""Messages of `check_instruction`: each names the fault and the remedy."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pyptx_ir.isa.check import check_instruction
from pyptx_ir.isa.errors import InstructionError
from pyptx_ir.isa.forms import register_type
from pyptx_ir.isa.special_registers import special_registers
from pyptx_ir.syntax import parse_instruction


def check(text: str, target: str = "sm_90a", version: tuple[int, int] = (8, 5)) -> InstructionError | None:
    try:
        check_instruction(parse_instruction(text), register_type, target, version)
    except InstructionError as error:
        return error
    return None


@pytest.mark.parametrize(
    "text",
    [
        "add.u32 %u32_1, %s32_2, -5;",
        "mov.b32 %f32_1, 0f3F800000;",
        "mov.u64 %u64_1, smem;",
        "mov.u32 %u32_1, %tid.x;",
        "mov.b64 %b64_1, {%b32_1, %b32_2};",
        "mov.b64 {%b32_1, _}, %b64_1;",
        "ld.global.v4.f32 {%f32_1, %f32_2, %f32_3, %f32_4}, [%u64_1+16];",
        "ld.global.nc.L1::no_allocate.L2::128B.v2.f32 {%f32_1, %f32_2}, [%u64_1];",
        "ld.shared.u8 %u32_1, [smem];",
        "ld.global.b32 %b32_1, [%u64_1+4].unified;",
        "ld.b32 %b32_1, [%u64_1].unified;",
        "st.global.b32 [%u64_1], 0;",
        "setp.lt.and.s32 %pred_1|%pred_2, %s32_1, 7, !%pred_3;",
        "cvt.rn.bf16x2.f32 %b32_1, %f32_1, %f32_2;",
        "cvt.u64.u32 %u64_1, %tid.x;",
        "fma.rn.ftz.f32 %f32_1, %f32_2, %f32_3, 1.0;",
        "add.f32.rn.ftz %f32_1, %f32_2, %f32_3;",
        "mul.wide.u32 %u64_1, %u32_1, 4;",
        "shfl.sync.bfly.b32 %f32_1|%pred_1, %f32_2, 16, 31, -1;",
        "bar.sync 0;",
        "bar.red.popc.u32 %u32_1, 0, 64, !%pred_1;",
        "atom.global.add.f32 _, [%u64_1], %f32_1;",
        "red.release.gpu.global.add.u32 [%u64_1], 1;",
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f32_1, %f32_2, %f32_3, %f32_4}, "
            "{%b32_1, %b32_2, %b32_3, %b32_4}, {%b32_5, %b32_6}, {%f32_1, %f32_2, %f32_3, %f32_4};"
        ),
        "cp.async.cg.shared.global [%u32_1], [%u64_1], 16;",
        "wgmma.fence.sync.aligned;",
        "cp.async.bulk.commit_group;",
        "frobnicate.u32 %u32_1;",
        "call (%u32_1), f, (%u32_2);",
        "add.u32 %unknown, %r1, %other;",
        "ld.global.u32 %u32_1, values[2];",
        "mov.u64 %u64_1, values[2];",
        "mov.pred %pred_1, %is_explicit_cluster;",
        "@!%pred_1 bra $L__BB0_2;",
        "lop3.b32 %b32_1, %b32_2, %b32_3, %b32_4, 0xF8 & 0xFF;",
    ],
)
def test_legal_instructions_pass_and_so_do_those_that_the_table_does_not_know(text: str) -> None:
    assert check(text) is None


@pytest.mark.parametrize(
    ("text", "said", "help"),
    [
        ("add.u33 %u32_1, %u32_2, 1;", "add has no modifier .u33", "u16 u32 u64 s16 s32 s64"),
        ("mul.u32 %u32_1, %u32_2, 1;", "lacks a modifier: .hi or .lo", "mul.mode.type"),
        ("add.sat.u64 %u64_1, %u64_2, 1;", "cannot be combined with the other modifiers", "add.type"),
        ("add.f32 %f32_1, %u32_2, 1.0;", "operand 2 of add.f32, `%u32_2`, is a .u32 register", "add{.rnd}"),
        ("mov.f32 %f32_1, 0;", "is an integer literal; it must be a .b32 or .f32 register or a floating-point", "mov"),
        ("mov.u32 %f32_1, 0;", "operand 1 of mov.u32, `%f32_1`, is a .f32 register", "mov"),
        ("add.u32 %u32_1, %u32_2;", "has 2 operands; it takes 3: d, a, b", "add.type d, a, b"),
        ("add.u32 1, %u32_1, %u32_2;", "operand 1 of add.u32, `1`", ""),
        ("add.u32 %u32_1, %tid.x, 1;", "is a special register", ""),
        ("add.u64 %u64_1, %u64_2, smem;", "`smem`, is a symbol", ""),
        ("add.u64 %u64_1, [%u64_2], 1;", "is an address", ""),
        ("ld.global.u32 %u32_1, %u64_1;", "must be an address in brackets", ""),
        ("ld.global.u32 %u32_1, [%f64_1];", "an address in an integer or untyped register", ""),
        ("ld.global.v4.f32 {%f32_1, %f32_2}, [%u64_1];", "is a vector of 2; it must be a vector of 4", ""),
        ("ld.global.u64 %u32_1, [%u64_1];", "(or wider)", ""),
        ("st.const.u32 [%u64_1], 1;", "const", ""),
        ("ld.global.L2::cache_hint.u32 %u32_1, [%u64_1];", "has 2 operands; it takes 3", ""),
        ("setp.lt.u32 %u32_1, %u32_2, 3;", "must be a .pred register", ""),
        ("shl.b64 %b64_1, %b64_2, %b64_3;", "must be a 32-bit integer register or literal", ""),
        ("mul.wide.u32 %u32_1, %u32_2, 3;", ".b64 or .u64 or .s64 register", ""),
        ("atom.global.add.s64 %s64_1, [%u64_1], 1;", "", ""),
    ],
)
def test_a_wrong_instruction_is_refused_with_what_is_wrong_and_the_form_it_should_have(
    text: str, said: str, help: str
) -> None:
    error = check(text)
    assert error is not None
    assert said in error.message
    assert error.help is not None
    assert help in error.help


@pytest.mark.parametrize(
    ("text", "target", "version", "said"),
    [
        pytest.param(
            "setmaxnreg.inc.sync.aligned.u32 232;",
            "sm_80",
            (8, 5),
            "setmaxnreg.inc.sync.aligned.u32 needs sm_90a or sm_100a",
            marks=pytest.mark.hopper,
        ),
        ("ex2.approx.f16 %f16_1, %f16_2;", "sm_75", (6, 5), "needs PTX 7.0; this module is version 6.5"),
        ("cp.async.wait_all;", "sm_75", (8, 5), "cp.async.wait_all needs sm_80 or later; the target is sm_75"),
        ("ld.b32 %b32_1, [%u64_1].unified;", "sm_90", (7, 8), ".unified of ld.b32 needs PTX 8.0"),
        ("ld.b32 %b32_1, [%u64_1].unified;", "sm_89", (8, 5), ".unified of ld.b32 needs sm_90 or later"),
        ("st.b32 [%u64_1].unified, %b32_1;", "sm_90", (8, 5), "it must be an address without .unified"),
        (
            "ld.shared::cluster.u32 %u32_1, [smem];",
            "sm_80",
            (8, 5),
            ".shared::cluster of ld.shared::cluster.u32 needs sm_90",
        ),
        ("shfl.bfly.b32 %b32_1, %b32_2, 1, 31;", "sm_90", (8, 5), "was removed in sm_70; the target is sm_90"),
        ("add.rn.f32x2 %b64_1, %b64_2, %b64_3;", "sm_90a", (8, 8), "needs sm_100 or later; the target is sm_90a"),
    ],
)
def test_what_the_target_or_the_version_lacks_is_said_with_what_it_takes(
    text: str, target: str, version: tuple[int, int], said: str
) -> None:
    error = check(text, target, version)
    assert error is not None
    assert said in error.message
    assert error.help


def test_the_error_knows_which_operand_is_at_fault() -> None:
    error = check("add.f32 %f32_1, %f32_2, %u32_3;")
    assert error is not None
    assert error.operand == 2


def test_an_instruction_newer_than_the_table_passes() -> None:
    assert check("add.u8x4 %b32_1, %b32_2, %b32_3;", "sm_120f", (9, 0)) is not None
    assert check("add.u128 %b32_1, %b32_2, %b32_3;", "sm_120f", (9, 9)) is None


def test_registers_declared_without_percent_are_registers() -> None:
    types = {"low": "f16", "sum": "u32"}
    instruction = parse_instruction("add.u32 sum, sum, low;")
    with pytest.raises(InstructionError, match=r"`low`, is a \.f16 register"):
        check_instruction(instruction, types.get, "sm_90a", (8, 5))
    check_instruction(parse_instruction("add.u32 sum, sum, 1;"), types.get, "sm_90a", (8, 5))


def test_special_registers_have_types() -> None:
    registers = special_registers()
    assert registers["%tid.x"] == "u32"
    assert registers["%clock64"] == "u64"
    assert registers["%cluster_ctaid.z"] == "u32"
    assert len(registers) > 90


def test_what_a_package_that_is_not_here_has_is_unknown_and_not_wrong() -> None:
    script = """
from pyptx_ir.isa.check import verdict_on
from pyptx_ir.syntax import parse_instruction
for text in ("barrier.cluster.arrive;", "fence.proxy.async.global;", "fence.proxy.fabric::generic.alias.acquire.sys;",
             "mapa.u32 %r1, %r2, 0;", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32 d, a, b, c;",
             "fence.proxy.nonesuch;", "barrier.nonesuch 0;", "mma.sync.aligned.m16n8k8.kind::nonesuch d, a, b, c;"):
    verdict = verdict_on(parse_instruction(text), lambda name: "u32", "sm_100a", (9, 5))
    home = verdict.help.removeprefix("install ").partition(",")[0]
    print(verdict.severity, home.replace(" ", "_"))
"""
    environment = {**os.environ, "PYPTX_DISABLE_PLUGIN_AUTOLOAD": "1", "PYPTX_PLUGINS": ""}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    said = [tuple(line.split()) for line in done.stdout.splitlines()]
    assert said[:5] == [
        ("warning", "pyptx-arch-hopper"),
        ("warning", "pyptx-arch-hopper"),
        ("warning", "pyptx-arch-blackwell"),
        ("warning", "pyptx-arch-hopper"),
        ("warning", "pyptx-arch-blackwell"),
    ]
    assert [severity for severity, _ in said[5:]] == ["error", "error", "error"]


@pytest.mark.parametrize(
    ("text", "target", "version", "said"),
    [
        ("mbarrier.arrive.b64 %u64_1, [%u64_2], 4;", "sm_80", (8, 0), "needs sm_90 or later"),
        ("mbarrier.arrive.b64 _, [%u64_2];", "sm_80", (7, 0), "needs PTX 7.1"),
    ],
)
def test_operands_that_only_another_target_or_version_takes_are_said_to_need_it(
    text: str, target: str, version: tuple[int, int], said: str
) -> None:
    error = check(text, target, version)
    assert error is not None
    assert said in str(error)
