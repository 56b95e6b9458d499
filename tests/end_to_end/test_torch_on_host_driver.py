"""Kernels launched by torch's launcher compute correct results, cold and warm: on the host driver, by the simulator."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools import gpu_rehearsal

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.torch, pytest.mark.ptxas]


@pytest.mark.long
def test_outputs_many_scalars_and_threads_come_out_right_in_cold_and_warm_calls(tmp_path: Path) -> None:
    environment = gpu_rehearsal.environment(gpu_rehearsal.host_driver(), tmp_path, gpu_rehearsal.tool("ptxas"))
    environment["PYTHONPATH"] = os.pathsep.join([environment["PYTHONPATH"], os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "tests.end_to_end.torch_on_host_driver"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "failed: []\n", done.stderr[-3000:]
