"""The demonstration: four lines of results first, PTX by an option, and commands that work at the end."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pyptx_ir.commands import main

DEMO = Path(__file__).parents[1] / "tools" / "demo.py"
RESULTS = """\
error      \\d\\.\\de-0[78] relative to the largest value, against float64
time       \\d+\\.\\d{3} s for 4 x 512 on the simulator, \\d+\\.\\d{3} s with every check
registers  \\d+ per thread, 0 bytes spilled, 32 bytes of shared memory
findings   0
"""


def demo(folder: Path, *words: str) -> tuple[str, str, list[str]]:
    """Return the results, the PTX and the commands that the demonstration prints."""
    command = [sys.executable, str(DEMO), "4", "512", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    before, _, commands = done.stdout.partition("\nnext:\n")
    lines = before.splitlines(keepends=True)
    return "".join(lines[:4]), "".join(lines[4:]), commands.splitlines()


@pytest.mark.ptxas
def test_four_lines_of_results_come_first_and_three_commands_that_work_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    results, ptx, commands = demo(tmp_path)
    assert re.fullmatch(RESULTS, results)
    assert ptx == ""
    assert len(commands) == 3
    for command in commands:
        python, *words = shlex.split(command)
        assert (python, words[:2]) == (sys.executable, ["-m", "pyptx"])
        assert main(words[2:]) == 0, capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scale.py", "timeline.json"]


@pytest.mark.ptxas
def test_an_option_adds_the_ptx(tmp_path: Path) -> None:
    results, ptx, commands = demo(tmp_path, "--ptx")
    assert re.fullmatch(RESULTS, results)
    assert ptx.startswith("\n.version ")
    assert ".entry rms_norm(" in ptx
    assert len(commands) == 3
