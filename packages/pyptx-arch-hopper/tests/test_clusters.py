"""Error messages for Hopper instructions that are not in the instruction table."""

from __future__ import annotations

import pytest

from pyptx_ir.isa.check import check_instruction
from pyptx_ir.isa.errors import InstructionError
from pyptx_ir.isa.forms import register_type
from pyptx_ir.syntax import parse_instruction


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("elect.sync %u32_1, -1;", "must be a pair"),
        ("elect.sync %u32_1|_, -1;", "a pair d|p with a predicate p"),
        ("setmaxnreg.inc.sync.aligned.u32 100;", "it must be 24 to 256 in steps of 8"),
        ("fence.proxy.tensormap::generic.acquire.gpu [%u64_1], 64;", "it must be 128"),
        ("fence.proxy.tensormap::generic.release.gpu [%u64_1], 128;", "has 2 operands; it takes none"),
        ("fence.proxy.async.local;", "has no modifier .local"),
        ("barrier.cluster.wait.relaxed;", "cannot be combined"),
        ("mapa.u64 %u64_1, %u32_1, 0;", "must be a .b64 or .u64 or .s64 register"),
    ],
)
def test_a_wrong_instruction_is_refused_with_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(InstructionError) as raised:
        check_instruction(parse_instruction(text), register_type, "sm_90a", (8, 3))
    assert said in str(raised.value)
