"""`--regenerate-golden` writes the golden files of this folder anew, to be reviewed as a diff."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--regenerate-golden`."""
    parser.addoption("--regenerate-golden", action="store_true", help="write golden files instead of comparing")
