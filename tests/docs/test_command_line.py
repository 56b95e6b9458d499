"""The page of the command line lists all commands, each once."""

from __future__ import annotations

import re

from pyptx_ir.plugins.manager import manager

from .pages import PAGES


def test_the_page_of_the_command_line_lists_all_commands() -> None:
    (page,) = (each for each in PAGES if each.name == "command-line.md")
    listed = re.findall(r"^\| `pyptx (\w+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(row.name for row in manager().commands())
