"""`docs/check-codes.md` explains every code of `pyptx check`, each with an example that has it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.isa.modules import check_text
from pyptx_ir.isa.modules.codes import CODES

from .pages import ROOT

if TYPE_CHECKING:
    from pyptx_ir.isa.check_rows import CheckCode

PAGE = (ROOT / "docs" / "check-codes.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"(?ms)^### `([\w-]+)`\n(.*?)(?=^##|\Z)", PAGE))
AROUND = """\
.version 9.0
.target sm_90a
.visible .entry k(.param .u64 p)
{{
.reg .pred %p<4>;
.reg .b32 %r<8>;
.reg .b64 %rd<8>;
.reg .f32 %f<8>;
{}
ret;
}}
"""


def test_every_code_has_its_section_and_no_other_has() -> None:
    assert list(SECTIONS) == [code.name for code in CODES]


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_a_section_names_the_severity_and_its_example_has_the_code_alone(code: CheckCode) -> None:
    section = SECTIONS[code.name]
    assert section.strip().startswith(f"{code.severity.capitalize()}.")
    (example,) = re.findall(r"(?s)```ptx\n(.*?)```", section)
    text = example if example.startswith((".version", ".target")) else AROUND.format(example)
    found = check_text(text)
    assert {one.code for one in found} == {code.name}, [one.message for one in found]
    assert found[0].severity == code.severity
