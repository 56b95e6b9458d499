"""A process that imports the modules of pyptx once, and runs each script in a fork.

Imports query no plugin: each fork discovers plugins itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SERVER = """
import importlib, json, os, pkgutil, sys
import numpy

for name in ("pyptx", "pyptx_ir", "pyptx_dsl", "pyptx_sim", "pyptx_arch_hopper", "pyptx_arch_blackwell"):
    root = importlib.import_module(name)
    for part in pkgutil.walk_packages(root.__path__, f"{name}."):
        if not part.name.endswith("__main__"):
            importlib.import_module(part.name)
assert sys.modules["pyptx_ir.plugins.manager"].manager.cache_info().misses == 0

for line in sys.stdin:
    folder, environment = json.loads(line)
    if os.fork() == 0:
        break
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
else:
    sys.exit()
for stream in (1, 2):
    os.dup2(os.open(f"{folder}/stream{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
os.environ.update(environment)
sys.argv = [__file__ := f"{folder}/case.py"]
sys.path[:1] = [folder, folder]
with open(__file__, encoding="utf-8") as file:
    source = file.read()
exec(compile(source, __file__, "exec"))
"""


class Forks:
    """A process that runs scripts, each in a fork, with the environment that the process started with and more."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, folder: Path, script: str, environment: Mapping[str, str]) -> str:
        """Run a script, which may import from a folder; return its standard output."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        (folder / "case.py").write_text(script, encoding="utf-8")
        self.process.stdin.write(json.dumps([str(folder), environment]) + "\n")
        self.process.stdin.flush()
        code = self.process.stdout.readline()
        assert code == "0\n", (folder / "stream2").read_text(encoding="utf-8")
        return (folder / "stream1").read_text(encoding="utf-8")

    def close(self) -> None:
        """End the process."""
        self.process.communicate()
