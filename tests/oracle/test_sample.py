"""A sample of the oracle's cases runs with the tests; `nox -s oracle` runs all cases."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest

from pyptx_ir.isa.target_rows import TARGETS
from pyptx_ir.isa.targets import default_version
from pyptx_ir.toolchain.finder import find_tool
from pyptx_ir.toolchain.runner import run

from .plan import chapters, plan
from .ptxas import Assembler
from .report import Report, laxer, stricter

pytestmark = [pytest.mark.no_cover, pytest.mark.ptxas]


@pytest.mark.long
def test_table_and_ptxas_agree_but_for_the_reviewed_list() -> None:
    report = Report()
    known = chapters()
    share = set(sorted(known)[::20])  # every 20th row of the instruction table
    for assembler, cases in plan(find_tool("ptxas"), share, random.Random(1), valid=6, broken=1):
        report.ask(assembler, known, cases)
    assert sum(cell.accepted for cell in report.cells.values()) > 1200
    assert sum(cell.refused for cell in report.cells.values()) > 1000
    assert [str(difference) for difference in report.differences()] == []


def test_every_listed_difference_has_a_reason() -> None:
    assert all(len(reason) > 15 for reason in (*stricter().values(), *laxer().values()))


def test_ptxas_takes_every_target_with_its_default_version() -> None:
    ptxas = find_tool("ptxas")
    refused = {}
    for target in TARGETS:
        if target.number < 75 or target.until or target.since > ptxas.newest_ptx:
            continue
        verdict = Assembler(ptxas, target.name, default_version(target)).alone("exit;")
        if verdict:
            refused[target.name] = verdict
    assert not refused


def test_ptxas_knows_no_target_before_its_version() -> None:
    # sm_88 exists since PTX 9.0 in the manual, since PTX 7.4 in ptxas 13.0.
    for target in TARGETS:
        if target.number < 75 or target.until or target.since > (9, 0) or target.name == "sm_88":
            continue
        major, minor = target.since
        before = (major, minor - 1) if minor else {9: (8, 8), 8: (7, 8), 7: (6, 5)}[major]
        assert _refused_for_target(target.name, before), f"ptxas takes {target.name} in PTX {before}"
        assert not _refused_for_target(target.name, target.since)


def _refused_for_target(target: str, version: tuple[int, int]) -> bool:
    text = f".version {version[0]}.{version[1]}\n.target {target}\n.address_size 64\n.visible .entry k() {{ ret; }}\n"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "m.ptx").write_text(text, encoding="utf-8")
        arguments = [f"-arch={target.replace('sm_', 'compute_')}", "m.ptx", "-o", "m.out"]
        return run(find_tool("ptxas"), arguments, Path(folder)).status != 0
