"""Every form in Hopper's instruction table has a `ptx` function, and the function emits this form.

Forms come from the table itself: each modifier and each type of every row, and every two modifiers together; by default
a few forms per row, all forms with `PYPTX_KERNELS=all`.
"""

from __future__ import annotations

from random import Random

import pytest
from tools.shares import FULL

from pyptx_arch_hopper.table.chapters import ROWS
from pyptx_dsl.instructions.forms.inversion import call_of
from pyptx_ir.isa.forms import forms, register_type, some_forms
from pyptx_ir.syntax import parse_instruction

pytestmark = pytest.mark.scaled

OLDER = {"membar"}  # membar: an older name of the fence and fence.proxy instructions
OPCODES = sorted({row.opcode for row in ROWS} - OLDER)


@pytest.mark.parametrize("opcode", OPCODES)
def test_every_form_of_hopper_is_a_call(opcode: str) -> None:
    chance = Random(opcode)
    rows = [row for row in ROWS if row.opcode == opcode]
    texts = [text for row in rows for text in (forms(row) if FULL else some_forms(row, chance, 4))]
    assert len(texts) >= len(rows)
    assert [text for text in texts if call_of(parse_instruction(text), register_type) is None] == []
