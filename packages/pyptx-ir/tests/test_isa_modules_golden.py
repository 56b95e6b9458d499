"""Texts of diagnostics, compared with one file each in `golden/check/`.

    pytest packages/pyptx-ir/tests/test_isa_modules_golden.py --regenerate-golden

rewrites them; review the diff.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pyptx_ir.isa.modules import check_text, shown
from pyptx_ir.syntax import Source

from .modules_broken import BROKEN

GOLDEN = Path(__file__).parent / "golden" / "check"

# Names of the rows of `modules_broken` whose diagnostics have a golden file.
SHOWN = (
    "no semicolon",
    "an unknown directive",
    "an unknown target",
    "target sm_90a in PTX 7.8",
    "both maxntid and reqntid",
    "maxclusterrank in version 7.0",
    "a register number beyond the declared range",
    "an unknown special register",
    "a register used before its declaration",
    "a register of a closed inner block",
    "a branch to an undeclared label",
    "a branch into a block",
    "a call before the declaration",
    "a register in an already declared range",
    "a definition with other parameters than the declaration",
    "too few arguments",
    "a 32-bit argument for 64 bits",
    "4356 bytes of parameters in PTX 7.0",
    "st.param to parameter n",
    "an 8-byte load of 4 bytes",
    "64 KiB of shared memory",
    "a 32-bit register as a guard",
    "an instruction after bra",
    "a special register of later targets",
    "an unknown modifier",
    "a rounding modifier on an integer add",
    "no rounding mode",
    "add with two operands instead of three",
    "an address instead of a register",
    "a float register in an integer add",
    "two registers for ld.v4",
    "a bit field position of 300",
    "ld.shared of a parameter name",
    "redux.f32 on plain sm_100",
    "szext in PTX 7.0",
    "shfl without sync and membermask",
    "an unknown instruction",
)


def message(name: str) -> str:
    """Return the output of `pyptx check` for a broken module."""
    (broken,) = [row for row in BROKEN if row.name == name]
    source = Source(broken.text, "kernel.ptx")
    return "\n".join([*(shown(one, source) for one in check_text(broken.text)), ""])


@pytest.mark.parametrize("name", SHOWN)
def test_a_message_reads_as_it_did(name: str, request: pytest.FixtureRequest) -> None:
    path = GOLDEN / f"{name.replace(' ', '_')}.txt"
    if request.config.getoption("--regenerate-golden", default=False):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(message(name), encoding="utf-8")
    assert message(name) == path.read_text(encoding="utf-8")


def test_there_is_a_file_for_each_and_no_other() -> None:
    assert len(SHOWN) >= 25
    assert {path.stem for path in GOLDEN.iterdir()} == {name.replace(" ", "_") for name in SHOWN}


@pytest.mark.parametrize("name", SHOWN)
def test_a_message_has_place_code_caret_and_hint(name: str) -> None:
    first, source, caret, help = message(name).splitlines()
    assert first.startswith("kernel.ptx:")
    assert "[" in first
    assert " | " in source
    assert set(caret.strip()) == {"^"}
    assert help.startswith("help: ")
