"""The tests in `on_device` pass, each file in a process of its own with an active virtual GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools.shares import full

pytestmark = [pytest.mark.torch, pytest.mark.scaled]  # samples of operators: a share by default

FOLDER = Path(__file__).parent / "on_device"
FILES = full([FOLDER / "test_op_samples.py"], default=sorted(FOLDER.glob("test_*.py")))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_the_tests_of_a_file_pass_on_the_virtual_gpu(file: Path, pytestconfig: pytest.Config) -> None:
    options = ("-c", str(pytestconfig.inipath), "--rootdir", str(pytestconfig.rootpath), "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", *options, str(file)]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"PYPTX_TEST_ON_DEVICE": "1"}
    )
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-5_000:]
    assert " passed" in run.stdout
