"""Compare the time of the example kernels on the simulator with an earlier commit, alternately in one run.

    python benchmarks/compare_commits.py COMMIT [--runs N] [--only WORD …] [--most RATIO]

Two processes simulate the cases of `bench_examples.py` alternately, one with the packages of COMMIT, one with those of
this tree. For each case, without checks and with all, prints the best CPU time of N runs of both in seconds, and the
median ratio of adjacent runs. A case whose ratio is above RATIO (1.05) is measured again with 3 N runs. Prints the
findings of both commits where they differ. Exits with 1 if a ratio is then still above RATIO, or if findings differ.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
CHECKS = ("none", "all")


def serve() -> None:
    """Read names of cases from standard input, simulate each, and print its CPU time in seconds and its findings."""
    examples = import_module("bench_examples")
    cases = {case.name: case for case in examples.CASES}
    print(*cases, sep="\t", flush=True)
    ready = {}
    for line in sys.stdin:
        name, checks = line.rstrip("\n").split("\t")
        case = cases[name]
        if name not in ready:
            module = import_module(f"examples.{case.file.replace('/', '.')}")
            ready = {name: (case.kernel(module), case.arrays(module))}
        kernel, arrays = ready[name]
        start = time.process_time()
        result = kernel.simulate(*arrays, checks=checks, **case.keywords)
        seconds = time.process_time() - start
        print(seconds, *sorted(f"{each.severity} {each.rule}" for each in result.findings), sep="\t", flush=True)


class Tree:
    """A process that simulates benchmark cases with the packages of a checkout."""

    def __init__(self, root: Path) -> None:
        """Start the process in the checkout at `root`, and read the names of its cases."""
        # Processes of both commits import the same installed native extension: they launch nothing on a device.
        sources = [str(path) for path in root.glob("packages/*/src") if path.parent.name != "pyptx-launch"]
        paths = os.pathsep.join([str(root), str(root / "benchmarks"), *sources])
        serving = f"import sys; sys.path.append({str(ROOT / 'benchmarks')!r}); import compare_commits as it; it.serve()"
        settings = os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"} | plugins_of(root)
        command = [sys.executable, "-c", serving]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=root, env=settings, text=True, stdin=pipe, stdout=pipe)
        self.cases = self._line().split("\t")
        self.findings: list[str] = []
        """Severity and rule of each finding of the last simulation."""

    def seconds(self, case: str, checks: str) -> float:
        """Simulate `case`; return its CPU time in seconds."""
        assert self.process.stdin
        self.process.stdin.write(f"{case}\t{checks}\n")
        self.process.stdin.flush()
        seconds, *self.findings = self._line().split("\t")
        return float(seconds)

    def _line(self) -> str:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            sys.exit("a process has exited; its error is above")
        return line.rstrip("\n")


def plugins_of(root: Path) -> dict[str, str]:
    """Return environment variables that load the plugins of a checkout only: another commit may have other packages."""
    paths = (path for path in root.glob("packages/*/pyproject.toml") if path.parent.name != "pyptx-ir")  # always loaded
    tables = (tomllib.loads(path.read_text(encoding="utf-8")) for path in paths)
    names = [name for table in tables for name in table["project"].get("entry-points", {}).get("pyptx", {}).values()]
    return {"PYPTX_DISABLE_PLUGIN_AUTOLOAD": "1", "PYPTX_PLUGINS": ",".join(names)}


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Check out a commit in a temporary folder for the body; yield the folder."""
    git = ("git", "-C", str(ROOT), "worktree")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "before"
        subprocess.run([*git, "add", "--quiet", "--detach", str(root), commit], check=True)
        try:
            yield root
        finally:
            subprocess.run([*git, "remove", "--force", str(root)], check=True)


def measure(before: Tree, now: Tree, case: str, checks: str, runs: int) -> tuple[float, float, float]:
    """Return the best seconds of both commits, and the median ratio of adjacent runs; both first runs are discarded."""
    pairs = [(before.seconds(case, checks), now.seconds(case, checks)) for _ in range(runs + 1)][1:]
    return *(min(each) for each in zip(*pairs, strict=True)), statistics.median(new / old for old, new in pairs)


def main() -> int:
    """Compare the cases that both checkouts have; return 1 if a ratio of times is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--most", type=float, default=1.05)
    options = parser.parse_args()
    slow = different = 0
    with ExitStack() as stack:
        before, now = Tree(stack.enter_context(checked_out(options.commit))), Tree(ROOT)
        for tree in (before, now):
            stack.callback(tree.process.kill)
        print(f"{'kernel':56} {'checks':>6} {'before s':>9} {'now s':>9} {'ratio':>6}")
        for case in now.cases:
            if case not in before.cases or not any(word in case for word in options.only):
                continue
            for checks in CHECKS:
                old, new, ratio = measure(before, now, case, checks, options.runs)
                if ratio > options.most:
                    old, new, ratio = measure(before, now, case, checks, 3 * options.runs)
                slow += ratio > options.most
                mark = "   slower" if ratio > options.most else ""
                print(f"{case:56} {checks:>6} {old:9.4f} {new:9.4f} {ratio:6.3f}{mark}", flush=True)
                if before.findings != now.findings:
                    different += 1
                    print(f"    findings before: {before.findings}\n    findings now: {now.findings}", flush=True)
    return int(slow + different > 0)


if __name__ == "__main__":
    sys.exit(main())
