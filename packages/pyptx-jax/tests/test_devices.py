"""Kernel calls on two devices that XLA makes of one CPU, in a subprocess."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.jax

PROGRAM = Path(__file__).with_name("two_devices.py")
CHECKS = re.findall(r"^def (\w+)\(\) -> None:", PROGRAM.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def output() -> str:
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "PYPTX_CPU": "quiet"}
    done = subprocess.run([sys.executable, str(PROGRAM)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("check", CHECKS)
def test_on_two_devices(check: str, output: str) -> None:
    assert f"passed {check}\n" in output, output
