"""Completion in shells: the script that `pyptx completion` prints, read by a real shell."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from pyptx_ir import completion
from pyptx_ir.commands import built_in, main
from pyptx_ir.origins import install_command

if TYPE_CHECKING:
    from pathlib import Path

ASK = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_shtab_pyptx pyptx "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Return the file of the script for bash."""
    file = tmp_path / "script"
    assert main(["completion", "bash", "--output", str(file)]) == 0
    return file


def completed(script: Path, *words: str) -> list[str]:
    """Return what bash proposes for the last word."""
    ask = ["bash", "--norc", "-c", ASK, "bash", str(script), "pyptx", *words]
    done = subprocess.run(ask, cwd=script.parent, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_commands_options_choices_and_files(script: Path) -> None:
    (script.parent / "kernel.ptx").touch()
    assert {row.name for row in built_in()} <= set(completed(script, ""))
    assert completed(script, "che") == ["check"]
    assert completed(script, "check", "--tar") == ["--target"]
    assert completed(script, "check", "--format", "sa") == ["sarif"]
    assert "kernel.ptx" in completed(script, "fmt", "ker")
    assert set(completed(script, "completion", "")) >= set(completion.SHELLS)


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_each_shell_gets_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    printed = capsys.readouterr().out
    assert all(row.name in printed for row in built_in())


def test_without_shtab_it_tells_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion, "find_spec", lambda _: None)
    assert main(["completion", "bash"]) == 2
    assert install_command("rich") in capsys.readouterr().err


def test_every_command_has_a_parser_of_its_name() -> None:
    for row in built_in():
        assert row.parser is not None
        assert row.parser().prog == f"pyptx {row.name}"
