"""Run the parts of the launch benchmark in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from benchmarks.launch.subjects import ROOT


def child(switch: str, repeat: int, device: str, more: dict[str, str], seconds: int = 60) -> list[dict[str, Any]]:
    """Run a part in its own process and return its measurements."""
    command = [sys.executable, "-m", "benchmarks.launch", "--part", switch, "--device", device, "--repeat", str(repeat)]
    environment = {**os.environ, "PYPTX_CPU": "quiet", **more}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the child process caches bytecode, as a user's Python does
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, timeout=seconds, check=True
    )
    rows: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return rows
