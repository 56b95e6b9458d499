"""Every tcgen05 form in the instruction table has a `ptx` function, and the function emits this form.

Forms come from the table itself: each modifier and each type of every row, and every two modifiers together; by default
a few forms per row, all forms with `PYPTX_KERNELS=all`.
"""

from __future__ import annotations

import re
from random import Random

import pytest
from tools.shares import FULL

from pyptx_arch_blackwell.table.chapters import ROWS
from pyptx_dsl.instructions.forms.inversion import call_of
from pyptx_ir.isa.forms import forms, register_type, some_forms
from pyptx_ir.syntax import parse_instruction

pytestmark = pytest.mark.scaled

# Patterns of instruction forms without a ptx function, and the reason.
ONLY_INST = {
    r"tcgen05\.ld(\.red)?\.spcompress": "loads with compression require sm_107a",
    r"tcgen05\.mma\.\S+\.block32\.decompress": "the modifier has no effect, and requires sm_107f",
}
INSTRUCTIONS = sorted({row.manual for row in ROWS if row.opcode == "tcgen05"})


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_every_form_of_tcgen05_is_a_call(instruction: str) -> None:
    chance = Random(instruction)
    rows = [row for row in ROWS if row.opcode == "tcgen05" and row.manual == instruction]
    texts = [text for row in rows for text in (forms(row) if FULL else some_forms(row, chance, 3))]
    assert len(texts) >= len(rows)
    lost = [text for text in texts if call_of(parse_instruction(text), register_type) is None]
    assert [text for text in lost if not any(re.match(pattern, text) for pattern in ONLY_INST)] == []


def test_what_has_no_function_is_in_the_table() -> None:
    texts = [text for row in ROWS for text in some_forms(row, Random(1), 8)]
    assert [pattern for pattern in ONLY_INST if not any(re.match(pattern, text) for text in texts)] == []
