"""Progress of a long file is shown on a terminal if `tqdm` is installed, and nowhere else."""

from __future__ import annotations

import os
import pty
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
COMMAND = "import sys; from pyptx_transpile.command import run; sys.exit(run(sys.argv[1:]))"
# Stand-in for `tqdm`: it prints its description and counts when it is closed.
LIBRARY = """\
class tqdm:
    def __init__(self, *, desc, **_options):
        self.desc, self.n, self.total = desc, 0, None

    def __enter__(self):
        return self

    def update(self, count):
        self.n += count

    def __exit__(self, *_error):
        import sys

        sys.stderr.write(f"<{self.desc}: {self.n} of {self.total}>")
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


def seen(folder: Path, lines: int, *, library: bool, terminal: bool) -> str:
    """Return what the command writes to standard error."""
    (folder / "long.ptx").write_text(source(2, lines))
    if library:
        (folder / "tqdm.py").write_text(LIBRARY)
    else:  # makes `import tqdm` fail, even if it is installed
        (folder / "sitecustomize.py").write_text("import sys\nsys.modules['tqdm'] = None\n")
    ours, theirs = pty.openpty() if terminal else os.pipe()
    command = [sys.executable, "-c", COMMAND, "long.ptx", "--no-verify", "-o", "long.py"]
    paths = os.pathsep.join([str(folder), *sys.path])
    subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, stderr=theirs, check=True)
    os.write(theirs, b".")  # write one byte, because os.read would block on an empty pipe
    found = os.read(ours, 1 << 16)
    os.close(ours)
    os.close(theirs)
    return found.decode()


def test_a_long_file_has_a_bar_on_a_terminal(tmp_path: Path) -> None:
    assert seen(tmp_path, 13_000, library=True, terminal=True).startswith("<long.ptx: ")


@pytest.mark.parametrize(
    ("lines", "library", "terminal"), [(100, True, True), (13_000, False, True), (13_000, True, False)]
)
def test_nothing_is_shown_otherwise(tmp_path: Path, lines: int, library: bool, terminal: bool) -> None:  # noqa: FBT001 - parameters
    assert seen(tmp_path, lines, library=library, terminal=terminal) == "."
