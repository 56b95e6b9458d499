"""Kernels on the CPU are simulated, which is what these tests are about: no warning says so."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_CPU", "quiet")
