"""The tests in `on_device` pass, in processes with an active virtual GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools.shares import full

pytestmark = [pytest.mark.torch, pytest.mark.scaled]  # samples of operators: a share by default

FOLDER = Path(__file__).parent / "on_device"
# These files need processes of their own: torch's tests of operators, and torch.compile, keep much state.
APART = [[FOLDER / "test_op_samples.py"], [FOLDER / "test_compile.py"]]
TOGETHER = [file for file in sorted(FOLDER.glob("test_*.py")) if [file] not in APART]
RUNS = full(APART[:1], default=[*APART, TOGETHER])


@pytest.mark.parametrize("files", RUNS, ids=[files[0].stem for files in RUNS])
@pytest.mark.long
def test_the_tests_of_files_pass_on_the_virtual_gpu(files: list[Path], pytestconfig: pytest.Config) -> None:
    options = ("-c", str(pytestconfig.inipath), "--rootdir", str(pytestconfig.rootpath), "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", *options, *map(str, files)]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"PYPTX_TEST_ON_DEVICE": "1"}
    )
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-5_000:]
    assert " passed" in run.stdout
