"""Progress of a long file is shown on a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pyptx_transpile import transpile

if TYPE_CHECKING:
    from pathlib import Path

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
FUNCTION = "\n.visible .entry k{}()\n{{\n\t.reg .b32 %r<9>;\n{}\tret;\n}}\n"
LINE = "\tadd.s32 %r1, %r2, 3;\n"
COMMAND = """
import sys
from pyptx_ir.terminal import progress_line
from pyptx_transpile.command import run

progress_line.DELAY = 0.0
progress_line._PERIOD = 0.01
sys.exit(run(sys.argv[1:]))
"""


def source(functions: int, lines: int) -> str:
    return HEAD + "".join(FUNCTION.format(at, LINE * lines) for at in range(functions))


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("functions", [1, 5])
def test_steps_grow_to_their_number(functions: int, verify: bool) -> None:  # noqa: FBT001 - a parameter
    told: list[tuple[int, int]] = []
    transpile(source(functions, 20), verify=verify, on_progress=lambda done, total: told.append((done, total)))
    assert len(told) == (3 * functions if verify else 2 * functions + 1)
    assert sorted(told) == told
    assert len({total for _, total in told}) == 1
    assert told[-1][0] == told[-1][1] > 0


def seen(folder: Path, *, terminal: bool) -> str:
    """Return the standard error of a command that transpiles a file of 20 functions."""
    (folder / "long.ptx").write_text(source(20, 1_000))
    ours, theirs = pty.openpty() if terminal else os.pipe()
    command = [sys.executable, "-c", COMMAND, "long.ptx", "-o", "long.py"]
    with subprocess.Popen(command, cwd=folder, env={**os.environ, "TERM": "dumb"}, stderr=theirs) as process:
        os.close(theirs)
        found = b"".join(iter(lambda: read(ours), b""))
    os.close(ours)
    assert process.returncode == 0
    return found.decode()


def read(file: int) -> bytes:
    try:
        return os.read(file, 1 << 16)
    except OSError:  # Linux reports the end of a terminal's output as an error
        return b""


def test_a_long_file_has_a_line_with_its_steps_on_a_terminal(tmp_path: Path) -> None:
    assert re.search(r"\rtranspiling: \d+ of \d+ steps, 0:0\d (left|elapsed)", seen(tmp_path, terminal=True))


def test_nothing_is_written_to_a_pipe(tmp_path: Path) -> None:
    assert seen(tmp_path, terminal=False) == ""
