"""Write the output of the documentation's code and commands into its blocks, and its pictures; then read the diff.

python -m tests.docs [--check] [PAGE ...]

`--check` writes nothing, and fails if the code of a page prints another output.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from .markdown import Outcome, run, updated
from .pages import PAGES, PICTURES, activates, not_run
from .sessions import SESSIONS, masked
from .sessions import run as run_session


def write(page: Path) -> None:
    """Update one page, in two passes: output may contain line numbers of the page, which the first pass changes."""
    for _ in range(2):
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            page.write_text(updated(text, run(page, not_run(page))), encoding="utf-8")
            for picture in Path().glob("*.svg"):
                shutil.copy(picture, PICTURES)
    if page in SESSIONS:
        with tempfile.TemporaryDirectory() as folder:
            found = run_session(page, Path(folder))
        stale = tuple((block, printed) for block, printed in found.outputs if masked(block.text) != masked(printed))
        page.write_text(updated(page.read_text(encoding="utf-8"), Outcome(len(stale), stale)), encoding="utf-8")


def check(page: Path) -> None:
    """Run the code of a page; exit with a message if its output is stale."""
    for block, printed in run(page, not_run(page)).stale():
        sys.exit(f"{page.name}:{block.line}: stale: run `python -m tests.docs`; the code prints:\n{printed}")


if __name__ == "__main__":
    os.environ["PYPTX_CPU"] = "quiet"
    words = [word for word in sys.argv[1:] if word != "--check"]
    pages = [Path(word).resolve() for word in words] or sorted(PAGES, key=activates)
    for each in pages:
        (check if "--check" in sys.argv else write)(each)
