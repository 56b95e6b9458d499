"""What the tests of example kernels share: arrays on the CPU run on the simulator, without a warning."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_warnings_of_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_CPU", "quiet")
