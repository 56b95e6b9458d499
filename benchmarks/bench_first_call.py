"""Cost of a kernel's first call, compared with ptxas alone, and its cost in the next process.

    python benchmarks/bench_first_call.py [--repeat N]

Runs rms_norm (examples/hopper, 2048x8192) up to the machine code that a launch needs, in fresh processes: one with an
empty cubin cache, then one that finds the cubin there. Prints medians of N pairs, in milliseconds, and the best sum of
trace and image, which is compared with the limits:

    imports     of pyptx, and of all that the call imports when it is first made
    trace       the kernel's text, checked instruction by instruction; with finding plugins and the instruction table
    image       the cubin: from ptxas without its own time, or out of the cache
    ptxas       its own time, by the clock; the others are CPU time, which a busy machine changes less

The limits apply to trace and image together, without imports: 50 ms for the first process, 20 ms for the second.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Specialization
    from pyptx_ir.toolchain.finder import Tool
    from pyptx_ir.toolchain.runner import Outcome

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "hopper"
LIMITS = {"first": 50.0, "second": 20.0}
COLUMNS = ("imports", "trace", "image", "ptxas")
ROWS, WIDTH = 2048, 8192


def child(modules: list[str]) -> None:
    """Import `modules`, then make the call; print the milliseconds per part of the call, and the imported modules."""
    __import__("numpy")  # numpy's import is not timed: the benchmarked example imports it, not pyptx

    times = dict.fromkeys(COLUMNS, 0.0)
    start = time.process_time()
    sys.path.insert(0, str(EXAMPLES))
    from rms_norm import rms_norm

    from pyptx_ir.plugins.rows import Argument

    for name in modules:
        __import__(name)
    times["imports"] = time.process_time() - start
    loaded = set(sys.modules)
    arguments = [Argument((ROWS, WIDTH), "f32", (WIDTH, 1)), Argument((WIDTH,), "f32", (1,))]
    start = time.process_time()
    special = rms_norm.specialize(arguments, {})
    times["trace"] = time.process_time() - start
    times["image"], times["ptxas"] = image(special)
    milliseconds = {name: 1000 * seconds for name, seconds in times.items()}
    print(json.dumps({"times": milliseconds, "modules": sorted({*modules, *(set(sys.modules) - loaded)})}))


def image(special: Specialization) -> tuple[float, float]:
    """Return the seconds that pyptx takes to obtain the machine code, without ptxas, and the wall time of ptxas."""
    from unittest import mock

    spent = 0.0

    def timed(tool: Tool, arguments: Sequence[str], folder: Path) -> Outcome:
        nonlocal spent
        start = time.perf_counter()
        outcome = runner.run(tool, arguments, folder)
        spent += time.perf_counter() - start
        return outcome

    start = time.process_time()
    from pyptx_dsl.kernels.images import image_of
    from pyptx_ir.toolchain import assembler, runner

    with mock.patch.object(assembler, "run", timed):
        assert image_of(special).startswith(b"\x7fELF")
    return time.process_time() - start, spent


def run(folder: str, modules: list[str]) -> dict[str, Any]:
    """Run this script as a process whose cubin cache is `folder`; return its output."""
    environment = {**os.environ, "PYPTX_CACHE_DIR": folder}
    command = [sys.executable, __file__, "--child", json.dumps(modules)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def pairs(repeat: int) -> dict[str, list[dict[str, float]]]:
    """Run pairs of processes, without and with the cubin in the cache; all import the call's modules beforehand."""
    with tempfile.TemporaryDirectory() as folder:
        modules = [name for name in run(folder, [])["modules"] if importable(name)]
    found: dict[str, list[dict[str, float]]] = {"first": [], "second": []}
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            for times in found.values():  # the first process fills the cubin cache, the second reads it
                times.append(run(folder, modules)["times"])
    return found


def importable(name: str) -> bool:
    """Return whether an entry of `sys.modules` is a module with a spec, which can be imported again."""
    from importlib.util import find_spec

    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def main() -> int:
    """Measure processes without and with a cached cubin; print times and limits; return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        child(json.loads(arguments.child))
        return 0
    missed = 0
    print(f"{'process':8}" + "".join(f"{name:>9}" for name in COLUMNS) + f"{'ours':>9}{'best':>9}{'limit':>9}")
    for which, times in pairs(arguments.repeat).items():
        medians = {name: statistics.median(each[name] for each in times) for name in COLUMNS}
        shares = [each["trace"] + each["image"] for each in times]
        missed += min(shares) > LIMITS[which]
        figures = [*medians.values(), statistics.median(shares), min(shares), LIMITS[which]]
        print(f"{which:8}" + "".join(f"{figure:9.1f}" for figure in figures))
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
