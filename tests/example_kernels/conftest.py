"""Fixture of the example kernel tests: run CPU arrays on the simulator without a warning."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_warnings_of_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_CPU", "quiet")
