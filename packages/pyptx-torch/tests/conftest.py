"""Turn off the warning about simulated CPU kernels: these tests run kernels on the simulator."""

from __future__ import annotations

import os

import pytest

# With an empty cache, inductor compiles a test program for each vector unit of the CPU. That takes three times as long
# as all of these tests, whose code around kernels does not need vector units.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "0")


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_CPU", "quiet")
