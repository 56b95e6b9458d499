"""Options and fixtures of the tests in this folder.

`--regenerate-golden` rewrites the golden files of this folder; review them as a diff.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--regenerate-golden`."""
    parser.addoption("--regenerate-golden", action="store_true", help="write golden files instead of comparing")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Make subprocesses of a test receive SIGINT, even if a shell started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
