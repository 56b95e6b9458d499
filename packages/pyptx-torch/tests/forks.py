"""Python processes that import torch and the simulator once, and run each program in a fork."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SERVER = """
import json, os, sys, traceback
import torch
import pyptx_sim, pyptx_torch

# Load what the programs use; it is not loaded by the imports above.
pyptx_sim.run(".version 8.0\\n.target sm_90\\n.address_size 64\\n.visible .entry k()\\n{\\nret;\\n}", grid=1, block=32)
x, model = torch.ones(32), torch.nn.ReLU()
for strict in (True, False):
    torch.export.export(model, (x,), strict=strict)
torch.compile(model, backend="aot_eager")(x)

for line in sys.stdin:
    folder, source = json.loads(line)
    if os.fork() == 0:
        break
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
else:
    os._exit(0)  # without the interpreter's cleanup, which takes seconds
os.chdir(folder)
for stream in (1, 2):
    os.dup2(os.open(f"stream{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
code = 1
try:
    exec(compile(source, "<string>", "exec"))
    code = 0
except BaseException:
    traceback.print_exc()
sys.stdout.flush()
os._exit(code)
"""


class Forks:
    """A process that runs each program in a fork of its own, in a given folder; each `Forks` has its own hash seed."""

    def __init__(self, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-B", "-c", SERVER],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, folder: Path, source: str) -> str:
        """Run a program; return its output."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(folder), source]) + "\n")
        self.process.stdin.flush()
        code = self.process.stdout.readline()
        assert code == "0\n", (folder / "stream2").read_text(encoding="utf-8")
        return (folder / "stream1").read_text(encoding="utf-8").strip()

    def close(self) -> None:
        self.process.communicate()
