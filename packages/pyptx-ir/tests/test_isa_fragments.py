"""Matrix fragments: number and order of registers, and errors for wrong registers."""

from __future__ import annotations

import pytest

from pyptx_ir.isa.check import verdict_on
from pyptx_ir.isa.forms import register_type
from pyptx_ir.isa.kinds.fragments import registers_of
from pyptx_ir.isa.matrix_rows import BITS
from pyptx_ir.isa.table.mma import PRODUCTS
from pyptx_ir.syntax import parse_instruction

# mma operands: shape, extents and type, and the number of registers in the manual's figures.
FIGURES = [
    ("m8n8k4", "mk*4", "f16", 2),
    ("m8n8k4", "mn*4", "f32", 8),
    ("m8n8k4", "mk", "f64", 1),
    ("m8n8k4", "mn", "f64", 2),
    ("m8n8k128", "kn", "b1", 1),
    ("m16n8k4", "kn", "tf32", 1),
    ("m16n8k8", "mk", "tf32", 4),
    ("m16n8k8", "mk/2", "tf32", 2),
    ("m16n8k16", "mk", "f64", 8),
    ("m16n8k16", "mk", "bf16", 4),
    ("m16n8k16", "kn", "f16", 2),
    ("m16n8k16", "mn", "f16", 2),
    ("m16n8k32", "mk", "e2m1", 4),
    ("m16n8k32", "mk", "u4", 2),
    ("m16n8k64", "mk", "b4", 4),
    ("m16n8k128", "mk/2", "s4", 4),
    ("m32n8k16", "kn", "bf16", 2),
    ("m8n32k16", "kn", "s8", 4),
]
# Shape, extents and type of wgmma operands, and the number of registers in the manual's figures.
WARPGROUP = [
    ("m64n8k16", "mk", "f16", 4),
    ("m64n256k16", "mn", "f32", 128),
    ("m64n24k32", "mn", "f16", 6),
    ("m64n8k16", "mk/2", "tf32", 4),
]


@pytest.mark.parametrize(("shape", "extent", "type_name", "count"), FIGURES)
def test_a_thread_has_its_even_share_of_a_matrix(shape: str, extent: str, type_name: str, count: int) -> None:
    assert registers_of(shape, extent, BITS[type_name]) == count


@pytest.mark.parametrize(("shape", "extent", "type_name", "count"), WARPGROUP)
def test_four_warps_share_the_matrices_of_a_warpgroup(shape: str, extent: str, type_name: str, count: int) -> None:
    assert registers_of(shape, extent, BITS[type_name], warps=4) == count


@pytest.mark.parametrize(("shape", "extent"), [("m16n8", "mn"), ("m16n8k16", "m"), ("m16n8k16", "mnk")])
def test_what_is_no_shape_or_extent_is_an_error(shape: str, extent: str) -> None:
    with pytest.raises(ValueError, match=shape):
        registers_of(shape, extent, 16)


def test_every_product_deals_out_at_least_one_register() -> None:
    for product in PRODUCTS:
        for shape in product.shapes:
            for types in product.types():
                assert min(product.registers(shape, types)) >= 1


def said(text: str, target: str = "sm_90a", version: tuple[int, int] = (8, 5)) -> str:
    verdict = verdict_on(parse_instruction(text), register_type, target, version)
    return "" if verdict is None else f"{verdict.code}: {verdict.message}; {verdict.help}"


F32 = "{%f32_1, %f32_2, %f32_3, %f32_4}"
F16 = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
S8 = "mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32"
S32 = "{%s32_1, %s32_2, %s32_3, %s32_4}"
SPARSE = "mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"


@pytest.mark.parametrize(
    "text",
    [
        f"{F16} {F32}, {{%b32_1, %b32_2}}, {{%b32_3}}, {F32};",
        f"{F16} {F32}, {{%f16x2_1, %b32_2}}, {{%f16x2_3}}, {F32};",
        f"{F16} {{_, %f32_1, %b32_2, _}}, {{%b32_1, %b32_2}}, {{%b32_3}}, {F32};",
        f"{F16} {F32}, {{%b32_1, %b32_2}}, {{%b32_3}}, {{0f00000000, %f32_1, %f32_2, 0f00000000}};",
        f"{S8} {{%u32_1, %s32_2, %b32_3, _}}, {{%u32_1, %b32_2}}, {{%s32_3}}, {{0, 0, %u32_4, -1}};",
        f"{SPARSE} {F32}, {{%u32_1, %u32_2, %u32_3, %u32_4}}, {{%b32_1, %b32_2, %b32_3, %b32_4}}, {F32}, %b32_9, 1;",
        "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%b32_1, _}, [%u32_1];",
        "wmma.load.a.sync.aligned.m16n16k16.row.s8 {%b32_1, %b32_2}, [%u64_1], 32;",
        "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%s32_1, %s32_2}, {%b32_1}, {%b32_2}, {0, 0};",
    ],
)
def test_the_registers_that_the_manual_names_pass(text: str) -> None:
    assert said(text) == ""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"{F16} {F32}, {{%b32_1}}, {{%b32_3}}, {F32};", "vector-length: operand 2 of * a vector of 2"),
        (f"{F16} {F32}, {{%b32_1, %u32_2}}, {{%b32_3}}, {F32};", "operand-type: * each a .b32 or .f16x2 register"),
        (f"{F16} {F32}, {{%b32_1, _}}, {{%b32_3}}, {F32};", "operand-type: operand 2"),
        (f"{F16} {F32}, {{%b32_1, %b32_2}}, %b32_3, {F32};", "operand-kind: operand 3 * a vector of 1"),
        (f"{F16} {F32}, {{%b32_1, %b32_2}}, {{%b32_3}}, {{0, 0, 0, 0}};", "operand-type: operand 4"),
        (f"{F16} {{0f00000000, 0f00000000, %f32_1, %f32_2}}, {{%b32_1, %b32_2}}, {{%b32_3}}, {F32};", "operand 1"),
        (f"{S8} {S32}, {{%f32_1, %f32_2}}, {{%b32_3}}, {S32};", "each a .b32 or .u32 or .s32 register"),
        (f"{SPARSE} {F32}, {F32}, {{%f32_1, %u32_2, %b32_3, %b32_4}}, {F32}, %b32_9, 1;", "all of the same type"),
        (f"{SPARSE} {F32}, {F32}, {F32}, {F32}, 7, 1;", "operand 5 * a register of type .b32"),
        (f"{SPARSE} {F32}, {F32}, {F32}, {F32}, %b32_9, 2;", "immediate-range: operand 6 * must be 0 to 1"),
        (f"{F16.replace('row.col', 'col.row')} {F32}, {{%b32_1, %b32_2}}, {{%b32_3}}, {F32};", "order of modifiers"),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%b32_1, %b32_2}, [%u32_1];", "a vector of 4"),
        ("ldmatrix.sync.aligned.m16n16.x1.shared.b8 {%b32_1, %b32_2}, [%u32_1];", "lacks a modifier: .trans"),
        ("wmma.load.a.sync.row.m16n16k16.s8 {%b32_1, %b32_2}, [%u64_1];", "lacks a modifier: .aligned"),
        ("wmma.load.a.sync.row.m8n32k16.f16 {%b32_1}, [%u64_1];", "was removed in PTX 6.3; use the form * .aligned"),
    ],
)
def test_other_registers_are_refused_with_what_there_should_be(text: str, wanted: str) -> None:
    message = said(text)
    for part in wanted.split(" * "):
        assert part in message


def test_forms_that_were_removed_are_legal_in_their_time() -> None:
    eight = "{%f32_1, %f32_2, %f32_3, %f32_4, %f32_5, %f32_6, %f32_7, %f32_8}"
    halves = eight.replace("f32", "b32")
    for modifiers, last in ((".sync", (6, 2)), (".sync.aligned", (6, 4)), (".sync", (6, 2))):
        text = f"wmma.mma{modifiers}.row.col.m16n16k16.f32.f32.satfinite {eight}, {halves}, {halves}, {eight};"
        assert said(text, "sm_70", last) == ""
        assert said(text, "sm_70", (last[0], last[1] + 1)).startswith("removed: ")
