"""Cost of `import pyptx` in a process: at most 45 ms more than a Python that imports nothing, measured alternately.

    python benchmarks/bench_import.py [--repeat N]

CPU time of whole processes, the least of N runs, with cached bytecode. `import dataclasses` is printed for comparison:
the standard library's part of that time.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile

PROMISED = 45.0
STATEMENTS = ("pass", "import dataclasses", "import pyptx_ir.syntax.nodes", "import pyptx")


def seconds(statement: str, environment: dict[str, str]) -> float:
    """Return the CPU time of a process that runs one statement."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> int:
    """Print the CPU time of a process for each import statement; return 1 if the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        best = dict.fromkeys(STATEMENTS, float("inf"))
        for statement in STATEMENTS * (options.repeat + 1):
            best[statement] = min(best[statement], seconds(statement, environment))
    for statement, least in best.items():
        print(f"{statement:32} {least * 1e3:6.1f} ms {(least - best['pass']) * 1e3:+6.1f}")
    return int((best["import pyptx"] - best["pass"]) * 1e3 > PROMISED)


if __name__ == "__main__":
    sys.exit(main())
