"""The pages of the documentation, and the code blocks that the tests do not run."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/README.md")])
# Folder of the pictures that the code of the docs' pages draws.
PICTURES = ROOT / "docs" / "pictures"

# Code blocks of the docs that are not run, by page and first line, each with the reason.
NOT_RUN: dict[tuple[str, str], str] = {}

INCLUDED = re.compile(r'(?m)^--8<-- "([\w/.-]+)"$')


def text_of(page: Path) -> str:
    """Return the text of a page, with the included files in place of include directives."""
    return INCLUDED.sub(lambda found: (ROOT / found[1]).read_text(encoding="utf-8"), page.read_text(encoding="utf-8"))


def name(page: Path) -> str:
    """Return the path of a page relative to the repository's root."""
    return page.relative_to(ROOT).as_posix()


def activates(page: Path) -> bool:
    """Return whether the code of a page activates the virtual GPU, which lasts until its process exits."""
    return "pyptx_virtual.activate(" in page.read_text(encoding="utf-8")


def not_run(page: Path) -> frozenset[str]:
    """Return the first line of each code block of a page that the tests do not run."""
    return frozenset(first for where, first in NOT_RUN if where == name(page))
