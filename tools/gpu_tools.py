"""Run NVIDIA's tools on kernels of this project, on a machine that has them.

python tools/gpu_tools.py --profile | --debug | --sanitize

--profile: ncu shows the Python lines of a traced kernel. --debug: cuda-gdb stops at such a line. --sanitize: compare
memcheck and racecheck of compute-sanitizer with the simulator on injected faults; the table goes to $OUT/sanitizer.md.
Exits with 1 if a tool's result is wrong. A row of the table is wrong if a repaired kernel has a finding, or an access
past an array in global memory has no memcheck finding.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
RUN = 100  # timeout in seconds of one run of ncu, cuda-gdb or compute-sanitizer
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:errors?|hazards?)")
AT_ONCE = 4  # number of concurrent runs of compute-sanitizer
CHECKS = ("memcheck", "racecheck")
TRACED = (sys.executable, "-m", "tests.gpu.traced")


def told(*command: str) -> str:
    """Run a command in the repository's root; print and return its output, with a note if it timed out."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=RUN)
        said = done.stdout + done.stderr
    except subprocess.TimeoutExpired as late:
        said = f"{command[0]} still ran after {late.timeout} s"
    print("$", *command, f"\n{said}", flush=True)
    return said


def of_tests(name: str) -> Any:  # noqa: ANN401 - a module
    """Return the module `name` of tests/gpu, as `Any`."""
    return import_module(f"tests.gpu.{name}")


# --- lines ------------------------------------------------------------------------------------------


def profile() -> int:
    """Profile the traced kernel; its marked line must be in ncu's source listing."""
    traced = of_tests("traced")
    with tempfile.TemporaryDirectory() as folder:
        report = f"{folder}/traced.ncu-rep"
        counted = ("--section", "SourceCounters", "--import-source", "yes", "--kernel-name", "traced")
        told("ncu", "--clock-control", "none", *counted, "--launch-count", "1", "--export", report, *TRACED)
        listing = told("ncu", "--import", report, "--page", "source", "--csv", "--print-source", "cuda,sass")
    return verdict(shown(listing, traced.MARK), f"ncu shows {traced.SOURCE.name}:{traced.marked()}")


def shown(listing: str, line: str) -> bool:
    """Return whether ncu's listing contains the source line `line`, and SASS instructions."""
    return line in listing and bool(re.search(r"\b(FMUL|EXIT)\b", listing))


def debug() -> int:
    """Run the traced kernel in cuda-gdb, which must stop at the marked line."""
    traced = of_tests("traced")
    place = f"{traced.SOURCE.name}:{traced.marked()}"
    steps = ("set breakpoint pending on", f"break {place}", "run", "info cuda kernels", "backtrace", "kill")
    commands = [word for step in steps for word in ("-ex", step)]
    said = told("cuda-gdb", "-q", "-batch", *commands, "--args", *TRACED)
    return verdict(stopped(said, place), f"cuda-gdb stops at {place}")


def stopped(said: str, place: str) -> bool:
    """Return whether cuda-gdb's output shows a stop in a kernel at source line `line`."""
    hit = re.search(r"(?:Breakpoint|CUDA thread hit).* \d+, .*", said)
    return hit is not None and place in said[hit.start() :] and "traced" in said[hit.start() :]


def verdict(good: bool, what: str) -> int:  # noqa: FBT001 - it is the answer to a question
    """Print the expectation `what` and whether it is met; return 0 if it is met, else 1."""
    print(f"{'yes' if good else 'NO'}: {what}")
    return int(not good)


# --- faults -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """A kernel with an injected fault: the rules that the simulator reports, and the findings per sanitizer check.

    A number of findings is None if the check did not finish.
    """

    title: str
    which: str
    rules: tuple[str, ...]
    counts: tuple[int | None, ...]

    @property
    def wrong(self) -> bool:
        """Whether compute-sanitizer has a finding in the repaired kernel, or misses a required finding."""
        memory, races = self.counts
        if self.which == "mended":
            return bool(memory) or bool(races)
        return "array" in self.title and not memory

    def told(self) -> str:
        """Return the fault's row of the table in sanitizer.md."""
        counts = " | ".join("did not finish" if count is None else str(count) for count in self.counts)
        return f"| {self.title} | {self.which} | {', '.join(self.rules) or 'nothing'} | {counts} |"


def count(said: str) -> int | None:
    """Return the number of findings in a compute-sanitizer check's summary; None without a summary."""
    found = SUMMARY.search(said)
    return int(found[1]) if found else None


def counted(run: tuple[int, str]) -> tuple[int | None, ...]:
    """Return the number of findings of each sanitizer check; `run` is a kernel's number, and `faulty` or `mended`."""
    command = (sys.executable, "-m", "tests.gpu.injected", str(run[0]), run[1])
    return tuple(count(told("compute-sanitizer", "--tool", check, *command)) for check in CHECKS)


def sanitize() -> int:
    """Run the injected faults, and the same kernels repaired, with each check; update the table after each kernel."""
    injected = of_tests("injected")
    path = Path(os.environ["OUT"]) / "sanitizer.md"
    head = "| kernel | | the simulator | memcheck | racecheck |\n|---|---|---|---|---|\n"
    rows: list[Row] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = [(number, which) for number in range(len(injected.CASES)) for which in ("faulty", "mended")]
        for (number, which), counts in zip(runs, pool.map(counted, runs), strict=True):
            title = injected.CASES[number]
            rows.append(Row(title, which, injected.simulated(title, which), counts))
            path.write_text(head + "".join(f"{row.told()}\n" for row in rows), encoding="utf-8")
    wrong = [row for row in rows if row.wrong]
    print(path.read_text(encoding="utf-8"))
    return verdict(not wrong, f"the sanitizer agrees on {len(rows) - len(wrong)} of {len(rows)} kernels")


def main() -> int:
    """Run the mode of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen = parser.add_mutually_exclusive_group(required=True)
    for name, run in (("--profile", profile), ("--debug", debug), ("--sanitize", sanitize)):
        chosen.add_argument(name, dest="run", action="store_const", const=run)
    options = parser.parse_args()
    return int(options.run())


if __name__ == "__main__":
    sys.exit(main())
