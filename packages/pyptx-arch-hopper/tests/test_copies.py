"""Error messages for invalid bulk and tensor copy instructions."""

from __future__ import annotations

import pytest

from pyptx_ir.isa.check import verdict_on
from pyptx_ir.isa.forms import register_type
from pyptx_ir.syntax import parse_instruction

BULK = "mbarrier::complete_tx::bytes"
MISTAKES = (
    # An mbarrier cannot track a bulk copy to global memory.
    (f"cp.async.bulk.global.shared::cta.{BULK} [%u64_1], [%u32_1], 16, [%u32_2];", "modifier", None, ""),
    ("cp.async.bulk.global.shared::cta.bulk_group [%u64_1], [%u32_1], 24;", "immediate-range", 2, "steps of 16"),
    (
        f"cp.async.bulk.tensor.3d.shared::cluster.global.{BULK} [%u32_1], [%u64_1, {{%s32_1, %s32_2}}], [%u32_2];",
        "vector-length",
        1,
        "a vector of 3 coordinates",
    ),
    (
        f"cp.async.bulk.tensor.1d.shared::cluster.global.{BULK} [%u32_1], [%u32_3, {{%s32_1}}], [%u32_2];",
        "operand-type",
        1,
        "a tensor map: its address in a 64-bit register",
    ),
    (
        f"cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.{BULK} [a], [%u64_1, {{1, 2, 3, 4, 5}}], [b];",
        "target",
        None,
        "needs sm_100f or sm_110f",
    ),
    ("tensormap.replace.tile.box_dim.b1024.b32 [%u64_1], 5, %u32_1;", "immediate-range", 1, "0 to 4"),
    ("tensormap.replace.tile.elemtype.b1024.b32 [%u64_1], 13;", "immediate-range", 1, "0 to 12"),
)


@pytest.mark.parametrize(("text", "code", "operand", "said"), MISTAKES, ids=[text for text, *_ in MISTAKES])
def test_a_mistake_in_a_copy_is_named_with_its_operand(text: str, code: str, operand: int | None, said: str) -> None:
    verdict = verdict_on(parse_instruction(text), register_type, "sm_90a", (9, 5))
    assert verdict is not None
    assert (verdict.code, verdict.operand) == (code, operand)
    assert said in verdict.message


def test_a_constant_may_suit_a_later_form_of_the_same_spelling() -> None:
    text = "tensormap.replace.tile.elemtype.b1024.b32 [%u64_1], 13;"
    assert verdict_on(parse_instruction(text), register_type, "sm_100a", (9, 5)) is None
