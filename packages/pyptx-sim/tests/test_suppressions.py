"""`pyptx sim --suppressions`: accepted findings do not fail a run; new findings and strict unused entries do."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx_ir.commands import main
from pyptx_ir.suppressions import UNUSED
from pyptx_sim import run
from pyptx_sim.suppressions import Suppressions, apply, run_of

from .ptx_text import module
from .test_source_lines import DEADLOCK, DEBUG, STRAY

if TYPE_CHECKING:
    from pathlib import Path

FILE = "pyptx-suppressions.toml"
KERNEL = "\n" * 11 + "    y = tl.sum(x)\n    store(y)\n"
# A second fault, at line 13 of kernel.py.
TWICE = STRAY.replace("st.global.u32 [%rd1]", "st.global.u32 [%rd1+8192]")
LAUNCH = ["--block", "32", "--arg", "u32[32]=zeros"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with kernel.py, its PTX k.ptx, and suppressions of the PTX's findings."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "k.ptx").write_text(module(STRAY) + DEBUG)
    main(["sim", "k.ptx", *LAUNCH, "--json", "-o", "report.json"])
    assert main(["suppress", "report.json", "--reason", "reviewed"]) == 0
    return tmp_path


def sim(*options: str) -> int:
    """Run k.ptx with the suppressions; return the exit status."""
    return main(["sim", "k.ptx", *LAUNCH, "--suppressions", FILE, *options])


def test_a_suppressed_finding_is_counted_and_not_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert sim() == 0
    assert capsys.readouterr().out.splitlines() == [
        "no findings: 6 instructions of 1 warp in 1 CTA",
        f"1 suppressed by {FILE}",
    ]
    assert 'file = "kernel.py"\nline = 12\ncode = "y = tl.sum(x)"' in (folder / FILE).read_text()


def test_a_new_finding_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "k.ptx").write_text(module(TWICE) + DEBUG)
    capsys.readouterr()
    assert sim() == 1
    shown = capsys.readouterr().out
    assert "kernel.py:13" in shown
    assert "kernel.py:12" not in shown
    assert f"1 error: 6 instructions of 1 warp in 1 CTA\n1 suppressed by {FILE}\n" in shown


def test_an_entry_without_a_finding_is_a_warning_or_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "k.ptx").write_text(module(STRAY.replace("+4096", "")) + DEBUG)
    capsys.readouterr()
    assert sim() == 0
    assert (
        f"{FILE}:3: warning[{UNUSED}]: no finding matches the suppression of out-of-bounds" in capsys.readouterr().out
    )
    assert sim("--strict-suppressions") == 1
    assert f"error[{UNUSED}]" in capsys.readouterr().out
    assert sim("--strict-suppressions", "--checks", "shared-race") == 0


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("style", ["json", "github", "sarif", "junit"])
def test_reports_mark_suppressed_findings(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert sim("--format", style) == 0
    shown = capsys.readouterr().out
    if style == "github":
        assert shown == ""
    elif style == "json":
        assert json.loads(shown)["counts"] == {"error": 0, "warning": 0, "note": 0, "suppressed": 1}
    elif style == "sarif":
        assert json.loads(shown)["runs"][0]["results"][0]["suppressions"][0]["justification"] == "reviewed"
    else:
        assert 'failures="0"' in shown


def test_findings_before_an_error_are_suppressed_and_nothing_counts_as_unused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "k.ptx").write_text(module(STRAY + "\ntrap;") + DEBUG)
    capsys.readouterr()
    assert sim() == 1
    shown = capsys.readouterr()
    assert shown.out == f"1 suppressed by {FILE}\n"
    assert "executed trap" in shown.err
    (folder / "k.ptx").write_text(module("trap;") + DEBUG)
    assert sim("--strict-suppressions") == 1
    assert UNUSED not in capsys.readouterr().out


def test_an_invalid_file_is_an_error_before_the_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / FILE).write_text((folder / FILE).read_text().replace("reviewed", ""))
    capsys.readouterr()
    assert sim() == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"pyptx sim: {FILE}:3: the suppression of out-of-bounds has no reason\nhelp: ")


def test_ptx_without_source_lines_is_suppressed_by_its_own_lines(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "k.ptx").write_text(module("ld.global.u32 %r1, [%rd0+4096];"))
    assert sim() == 1
    capsys.readouterr()
    main(["sim", "k.ptx", *LAUNCH, "--json"])
    monkeypatch.setattr("sys.stdin", io.StringIO(capsys.readouterr().out))
    assert main(["suppress", "--reason", "reviewed"]) == 0
    (folder / "k.ptx").write_text("\n\n" + module("ld.global.u32 %r1, [%rd0+4096];"))
    assert sim() == 0


def test_findings_of_a_run_are_separated_from_python(folder: Path) -> None:
    findings = run(module(TWICE) + DEBUG, grid=1, block=32, args=[np.zeros(32, np.uint32)]).findings
    accepted = Suppressions.load(folder / FILE)
    found = apply(accepted, findings, run=run_of("k", ["kernel.py"]))
    assert [each.origin[-1].line for each in found.kept] == [13]
    assert [each.origin[-1].line for each in found.suppressed] == [12]
    assert accepted.unused() == ()
    assert apply(None, findings).kept == findings


def test_a_deadlock_is_suppressed_by_the_line_of_its_first_wait(folder: Path) -> None:
    findings = run(module(DEADLOCK) + DEBUG, grid=1, block=32, args=[np.zeros(32, np.uint32)]).findings
    entry = '[[suppression]]\nrule = "deadlock"\nfile = "kernel.py"\nline = 20\nreason = "known"\n'
    (folder / FILE).write_text(entry)
    assert apply(Suppressions.load(folder / FILE), findings).kept == ()
