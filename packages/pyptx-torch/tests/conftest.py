"""Kernels on the CPU are simulated, which is what these tests are about: no warning says so."""

from __future__ import annotations

import os

import pytest

# Where inductor's cache is empty it compiles a program for each vector unit that the CPU has, to see whether they work;
# that takes three times as long as all that these tests ask of it, and what is around a kernel here needs no vectors.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "0")


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_CPU", "quiet")
