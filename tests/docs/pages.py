"""The pages of the documentation, and the blocks in them that are not run."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/README.md")])
# What the code of pages draws, under the names that it writes them to.
PICTURES = ROOT / "docs" / "pictures"

# By page and first line of the block, each with its reason.
NOT_RUN: dict[tuple[str, str], str] = {}


def name(page: Path) -> str:
    """Return a page's path from the root."""
    return page.relative_to(ROOT).as_posix()


def not_run(page: Path) -> frozenset[str]:
    """Return the first lines of the blocks of a page that are not run."""
    return frozenset(first for where, first in NOT_RUN if where == name(page))
