"""Time of tracing: it must be linear, with 100,000 instructions in 0.5 s and 8,000 pairs of `setp` in 0.3 s.

Checking every instruction against the table may add at most 30 %: the last column compares with traces in the same run
without checks.

    python benchmarks/bench_trace.py [--repeat N] [--older PYTHON]

Prints the best CPU time of N runs, in seconds, for tracing and emitting together. `--older` (or PYPTX_OLDER_PYTHON) is
the interpreter of another environment with `pyptx==0.1.1`, which is then measured in the same run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING
from unittest import mock

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = {"fma": (10_000, 100_000), "setp": (1_000, 8_000), "pointer": (10_000, 50_000), "straight": (1_000, 16_000)}
LIMITS = {("fma", 100_000): 0.5, ("setp", 8_000): 0.3}
MOST_FOR_CHECKS = 0.30


def fma(count: int) -> Callable[[], str]:
    """Return a function that traces `count` calls of `ptx.inst.fma`, in a loop."""
    from pyptx import kernel, ptx, reg
    from pyptx.types import f32

    @kernel
    def body() -> None:
        a = reg.array(f32, 64)
        for i in range(count):
            ptx.inst.fma.rn.f32(a[i % 64], a[(i + 1) % 64], a[(i + 2) % 64], a[i % 64])

    return body.ptx


def setp(count: int) -> Callable[[], str]:
    """Return a function that traces `count` pairs of `setp`, each into a new predicate register."""
    from pyptx import kernel, reg
    from pyptx.types import u32

    @kernel
    def body() -> None:
        r = reg.scalar(u32, init=0)
        for i in range(count):
            _ = r < i
            _ = r == i

    return body.ptx


def pointer(count: int) -> Callable[[], str]:
    """Return a function that traces `count` times pointer + product, two instructions each."""
    from pyptx import kernel, reg
    from pyptx.types import u32, u64

    @kernel
    def body() -> None:
        p, r = reg.scalar(u64, init=0), reg.scalar(u32, init=0)
        for _ in range(count):
            p += r * 4

    return body.ptx


def straight(count: int) -> Callable[[], str]:
    """Return a function that traces a long kernel, like a transpiled one: a line of Python for each instruction."""
    from pyptx import kernel, ptx, reg
    from pyptx.types import u32

    source = "def body():\n    r = reg.scalar(u32, init=0)\n" + "    ptx.inst.add.u32(r, r, 1)\n" * count
    names = {"ptx": ptx, "reg": reg, "u32": u32}
    exec(compile(source, "<straight>", "exec"), names)  # noqa: S102 - the source is above
    return kernel(names["body"]).ptx


CASES = {"fma": fma, "setp": setp, "pointer": pointer, "straight": straight}


def seconds(case: str, count: int, repeat: int) -> float:
    """Return the best time of `repeat` traces of new kernels."""
    best = float("inf")
    for _ in range(repeat):
        trace = CASES[case](count)
        started = time.process_time()
        text = trace()
        best = min(best, time.process_time() - started)
        assert text.count("\n") > count
    return best


def _pass(*_: object) -> None:
    """Replace `Checker.check`: accept every instruction."""


def cost_of_checks(case: str, count: int, repeat: int) -> float:
    """Return the time that checks add to a trace, relative to the time without checks; measured alternately."""
    from pyptx_dsl.tracing.checker import Checker

    checked = unchecked = float("inf")
    for _ in range(repeat):
        checked = min(checked, seconds(case, count, 1))
        with mock.patch.object(Checker, "check", new=_pass):
            unchecked = min(unchecked, seconds(case, count, 1))
    return checked / unchecked - 1


def older_seconds(python: str, case: str, count: int) -> float:
    """Return the seconds of one case with the pyptx of another interpreter."""
    done = subprocess.run(
        [python, __file__, "--case", case, "--count", str(count)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main() -> int:
    """Print a line for each case and size; return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--older", metavar="PYTHON", default=os.environ.get("PYPTX_OLDER_PYTHON"))
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(seconds(options.case, options.count, 1))
        return 0
    broken = 0
    for case, sizes in SIZES.items():
        for count in sizes:
            taken, limit = seconds(case, count, options.repeat), LIMITS.get((case, count))
            line = f"{case:10} {count:8,} {taken:8.3f} s {taken / count * 1e6:7.2f} us each"
            line += f"   limit {limit} s" if limit else ""
            if options.older and count <= 8_000:
                line += f"   older {older_seconds(options.older, case, count):8.3f} s"
            if count == max(sizes):
                share = cost_of_checks(case, count, options.repeat)
                line += f"   checks add {share:.0%}"
                broken += share > MOST_FOR_CHECKS
            print(line)
            broken += bool(limit and taken > limit)
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
