"""Terminal sessions of the documentation, and how they are run.

The lines of a `console` block that begin with `$ ` are commands; the other lines are their output. The commands of a
page run in one folder, which is empty at first. A `python` block replaces the only Python file of this folder. A `diff`
block changes this file for the next `console` block.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .markdown import Outcome, blocks
from .pages import ROOT

if TYPE_CHECKING:
    from .markdown import Block

SESSIONS: Final = (ROOT / "docs" / "softmax.md",)
INSTALLS: Final = "pip install "
# The plugins that the extra `sim` installs: without torch, jax and the architectures.
PLUGINS: Final = {
    "PYPTX_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYPTX_PLUGINS": "pyptx_bundles.plugin,pyptx_diff.plugin,pyptx_dsl.plugin,pyptx_transpile.plugin,pyptx_sim.plugin",
}


def commands(text: str) -> list[str]:
    """Return the commands of a page, or of one block."""
    return re.findall(r"(?m)^\$ (.*)$", text)


def masked(text: str) -> str:
    """Return output without differences of machines: versions, paths and columns of `doctor`; registers, by ptxas."""
    text = re.sub(r"(?m)^ok .*$", lambda line: re.sub(r"[\d.]+|\(.*\)| +", "…", line[0]), text)
    return re.sub(r"(?<= sm_80) +\d+", "…", text)


def run(page: Path, folder: Path) -> Outcome:
    """Run the sessions of a page in an empty folder; return each `console` block with the actual session."""
    found: list[tuple[Block, str]] = []
    restored = ""
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "console":
            found.append((block, _session(block, folder)))
            if restored:
                _file(folder).write_text(restored, encoding="utf-8")
                restored = ""
        elif block.language == "python":
            _file(folder).write_text(block.text, encoding="utf-8")
        elif block.language == "diff":
            restored = _file(folder).read_text(encoding="utf-8")
            _file(folder).write_text(changed(restored, block.text), encoding="utf-8")
    return Outcome(len(found), tuple(found))


def changed(text: str, diff: str) -> str:
    """Return a text with the change of a `diff` block, whose lines before the change occur once."""
    lines = diff.splitlines(keepends=True)
    before, after = ("".join(line[1:] for line in lines if line[0] in signs) for signs in (" -", " +"))
    assert text.count(before) == 1, diff
    return text.replace(before, after)


def _file(folder: Path) -> Path:
    (path,) = folder.glob("*.py")
    return path


def _session(block: Block, folder: Path) -> str:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, **PLUGINS, "PATH": path}
    shown = ""
    for command in commands(block.text):
        shown += f"$ {command}\n"
        if not command.startswith(INSTALLS):
            done = subprocess.run(  # noqa: S602 - a command of the documentation
                command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, (command, done.stderr)
            shown += done.stdout + done.stderr
    return shown
