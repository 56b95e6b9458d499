"""The `pyptx` command answers with a status and says what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.commands import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

GOOD = ".version 8.5\n.target sm_90a\n.address_size 64\n"


def test_check_counts_the_files_and_is_content(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "good.ptx"
    path.write_text(GOOD)
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out == "1 files, 0 errors\n"


def test_check_reports_every_error_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.ptx"
    path.write_text(GOOD + ".func f()\n{\nadd.s32 %r1, , %r2;\nret;\nsub.s32 %r1 %r2;\n}\n")
    assert main(["check", str(path)]) == 1
    shown = capsys.readouterr().out
    assert "bad.ptx:6:" in shown
    assert "bad.ptx:8:" in shown
    assert shown.endswith("1 files, 2 errors\n")


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "none.ptx")]) == 2
    assert "none.ptx" in capsys.readouterr().err


def test_targets_are_listed_with_their_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets"]) == 0
    assert "sm_90a     PTX 8.0\n" in capsys.readouterr().out


def test_plugins_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins"]) == 0
    assert "baseline" in capsys.readouterr().out.splitlines()


def test_an_unknown_command_is_an_error_that_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chekc"]) == 2
    shown = capsys.readouterr().err
    assert "chekc" in shown
    assert "check" in shown


def test_help_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "targets" in capsys.readouterr().out
