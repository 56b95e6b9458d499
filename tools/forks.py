"""A process that imports modules once, and runs the scripts of tests in forks: imports take longer than the scripts."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Follows the imports of `Forks`. The fork leaves out the interpreter's cleanup, which takes seconds with torch.
_SERVER: Final = """
import json, os, sys, traceback

for line in sys.stdin:
    folder, environment = json.loads(line)
    if os.fork() == 0:
        break
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
else:
    os._exit(0)
os.chdir(folder)
for stream in (1, 2):
    os.dup2(os.open(f"stream{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
os.environ.update(environment)
sys.argv = [__file__ := f"{folder}/case.py"]
sys.path[0] = folder
code = 1
try:
    with open(__file__, encoding="utf-8") as file:
        source = file.read()
    exec(compile(source, __file__, "exec"))
    code = 0
except BaseException:
    traceback.print_exc()
sys.stdout.flush()
os._exit(code)
"""


class Forks:
    """A process that runs scripts, each in a fork; each `Forks` has a hash seed of its own."""

    def __init__(self, imports: str, environment: Mapping[str, str], *options: str) -> None:
        """Start Python with `options` and the variables `environment`, and run the program `imports`."""
        command = [sys.executable, *options, "-c", imports + _SERVER]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)

    def run(self, folder: Path, script: str, environment: Mapping[str, str] | None = None) -> str:
        """Run a script in a folder, from which it may import, with additional variables; return its standard output."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # noqa: S101 - it is a pipe
        assert stdout is not None  # noqa: S101 - it is a pipe
        (folder / "case.py").write_text(script, encoding="utf-8")
        stdin.write(json.dumps([str(folder), dict(environment or {})]) + "\n")
        stdin.flush()
        if stdout.readline() != "0\n":
            raise AssertionError((folder / "stream2").read_text(encoding="utf-8"))
        return (folder / "stream1").read_text(encoding="utf-8")

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
