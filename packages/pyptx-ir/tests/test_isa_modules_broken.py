"""The checker reports each injected fault once, with its code and position, and ptxas confirms it."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest

from pyptx_ir.isa.modules import check_text
from pyptx_ir.isa.modules.codes import CODES, codes
from pyptx_ir.toolchain.finder import find_tool
from pyptx_ir.toolchain.runner import run

from .modules_broken import BROKEN, Broken

every = pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name.replace(" ", "-"))


@every
def test_a_injected_defect_is_the_one_thing_found_at_its_place(broken: Broken) -> None:
    found = check_text(broken.text)
    line, column, width = broken.place
    shown = [(one.code, one.line, one.column, one.span.end - one.span.start) for one in found]
    assert shown == [(broken.code, line, column, width)], [one.message for one in found]
    assert found[0].severity == codes()[broken.code].severity
    assert found[0].help or broken.code == "syntax"
    assert not any(mark in found[0].message + found[0].help for mark in ("{line}", "{operand}", "{name}"))


def ptxas_takes(text: str) -> bool:
    target = next((name for name in ("sm_100f", "sm_100", "sm_90a", "sm_89") if name in text), "sm_80")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "m.ptx").write_text(text, encoding="utf-8")
        arguments = [f"-arch={target}", "-O0", "m.ptx", "-o", "m.o"]
        return run(find_tool("ptxas"), arguments, Path(folder)).status == 0


@pytest.mark.ptxas
@every
def test_ptxas_refuses_what_is_an_error_and_takes_what_is_a_warning(broken: Broken) -> None:
    is_error = codes()[broken.code].severity == "error"
    assert ptxas_takes(broken.text) == (is_error if broken.exception else not is_error)


def test_what_ptxas_says_otherwise_about_is_listed_with_a_reason() -> None:
    assert all(len(broken.exception) > 20 for broken in BROKEN if broken.exception)


def test_the_defects_are_many_and_of_every_kind() -> None:
    counts = Counter(broken.code for broken in BROKEN)
    assert counts.total() >= 90
    assert len({broken.name for broken in BROKEN}) == len(BROKEN)
    elsewhere = {"newer-version", "cta-group", "ignored-setmaxnreg"}  # codes that the arch packages' tests cover
    assert not {code.name for code in CODES} - counts.keys() - elsewhere
