"""Each command of the documentation's terminal sessions prints what its page shows."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest

from .pages import ROOT, name
from .sessions import INSTALLS, SESSIONS, changed, commands, masked, run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.ptxas
@pytest.mark.parametrize("page", SESSIONS, ids=name)
@pytest.mark.long
def test_the_commands_of_a_page_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    for block, printed in run(page, tmp_path).outputs:
        assert masked(block.text) == masked(printed), f"{page.name}:{block.line}: stale: run `python -m tests.docs`"


@pytest.mark.parametrize("page", SESSIONS, ids=name)
def test_installations_are_those_of_the_readme(page: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    extras = tomllib.loads((ROOT / "packages" / "pyptx" / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    for command in commands(page.read_text(encoding="utf-8")):
        if command.startswith(INSTALLS):
            assert re.sub(r"\[.*\]", "[sim]", command) in readme
            assert set(re.findall(r"\w+", command.partition("[")[2].partition("]")[0])) <= set(extras)


@pytest.mark.parametrize("page", SESSIONS, ids=name)
def test_a_session_is_short(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(commands(text)) <= 10
    assert len(text.split()) <= 900


def test_a_diff_changes_lines_that_occur_once() -> None:
    assert changed("a\nb\nc\n", " a\n-b\n+d\n") == "a\nd\nc\n"
    with pytest.raises(AssertionError):
        changed("b\nb\n", "-b\n")
