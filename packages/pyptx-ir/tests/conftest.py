"""What tests of this folder share.

`--regenerate-golden` writes the golden files of this folder anew, to be reviewed as a diff.
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
    """Let the programs that a test starts see interrupts, also where a shell began the tests in its background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
