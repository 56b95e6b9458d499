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
    "a target newer than the version",
    "both sizes of a block",
    "a cluster in an early version",
    "a register past the last",
    "an unknown special register",
    "a register used above its declaration",
    "a register of an inner block",
    "a branch to nowhere",
    "a branch into a block",
    "a call above the declaration",
    "a register of a range again",
    "a function declared with other parameters",
    "too few arguments",
    "an argument of another size",
    "parameters too large for the version",
    "a store into an input",
    "a load past a parameter",
    "shared memory of 64 KiB",
    "a guard of 32 bits",
    "code after a branch",
    "a special register of later devices",
    "an unknown modifier",
    "a modifier of another form",
    "no rounding mode",
    "two operands for three",
    "an address for a register",
    "a float register for an integer",
    "a vector of two for four",
    "a bit field from bit 300",
    "a parameter for shared memory",
    "a reduction without the a",
    "an instruction of a later version",
    "a shuffle without its mask",
    "an unknown instruction",
)


def message(name: str) -> str:
    """Return the output of the command for a broken module."""
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
