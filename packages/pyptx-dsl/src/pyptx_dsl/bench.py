"""`pyptx bench`: the time of a kernel of a Python file on a GPU."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError
from statistics import median, quantiles
from typing import TYPE_CHECKING, Final

from pyptx_dsl.kernels.loading import found_in_file
from pyptx_dsl.kernels.runtimes import benchmark
from pyptx_ir.command_line import SUCCESS, CommandParser
from pyptx_ir.sources import run_with_sizes, with_sizes
from pyptx_ir.terminal import table
from pyptx_ir.terminal.progress import show_progress

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pyptx_ir.plugins.timings import Timings
    from pyptx_ir.sources.sizes import Sizes

LEAST_RUNS: Final = 20
"""Minimum number of timed launches: fewer have no meaningful quartiles."""


def bench(argv: Sequence[str]) -> int:
    """Measure a kernel on the first GPU and print its time; return 0, or 2 if there is no GPU or no such kernel."""

    def ran(options: argparse.Namespace, sizes: Sizes) -> int:
        found = found_in_file(with_sizes(options.kernel, sizes))
        keywords, arrays = found.keywords(), found.arrays()
        with show_progress("measuring"), found.file.running(found.name):
            timings = benchmark(found.kernel, arrays, keywords, options.runs)
        report = _report(found.kernel.name, keywords, timings)
        sys.stdout.write(f"{json.dumps(report, indent=2)}\n" if options.json else _text(found.kernel.name, timings))
        return SUCCESS

    return run_with_sizes(bench_parser(), ran, argv)


def bench_parser() -> CommandParser:
    """Return the parser of the options of `pyptx bench`."""
    parser = CommandParser(
        "bench",
        "Measure the time of a kernel of a Python file on the first GPU (CUDA_VISIBLE_DEVICES selects another one), on "
        "random arrays, after warm-up, with an empty L2 cache. Needs pyptx-torch.",
    )
    parser.add_argument("kernel", metavar="FILE.py:KERNEL", help="kernel, with its sizes as options: --B 16")
    parser.add_argument(
        "--runs", type=_runs, default=100, metavar="N", help=f"timed launches, at least {LEAST_RUNS} (default: 100)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with the time of each launch")
    return parser


def _runs(text: str) -> int:
    """Parse the argument of `--runs`. Raise ArgumentTypeError if it is invalid."""
    if not text.isdecimal() or int(text) < LEAST_RUNS:
        raise ArgumentTypeError(f"expected a number of at least {LEAST_RUNS}, got {text!r}")
    return int(text)


def _report(name: str, keywords: dict[str, object], timings: Timings) -> dict[str, object]:
    """Return the JSON object of a measurement; times are in seconds."""
    return {
        "kernel": name,
        "arguments": {key: each if isinstance(each, int | float) else str(each) for key, each in keywords.items()},
        "median": median(timings.seconds),
        "quartiles": _quartiles(timings),
        "seconds": list(timings.seconds),
        "bytes": timings.bytes,
        "bytes_per_second": timings.bytes / median(timings.seconds),
        "flushed_bytes": timings.flushed,
        "device": timings.device,
        "target": timings.target,
        "versions": dict(timings.versions),
    }


def _quartiles(timings: Timings) -> list[float]:
    """Return the first and the third quartile of the times, in seconds."""
    first, _, third = quantiles(timings.seconds, n=4, method="inclusive")
    return [first, third]


def _text(name: str, timings: Timings) -> str:
    middle, times = median(timings.seconds), timings.seconds
    first, third = _quartiles(timings)
    versions = ", ".join(f"{package} {version}" for package, version in timings.versions.items())
    spread = f"{_us(first)} to {_us(third)} us (middle half), {_us(min(times))} to {_us(max(times))} us (all)"
    rows = [
        ("kernel", name),
        ("time", f"{_us(middle)} us, median of {len(times)} launches"),
        ("spread", spread),
        ("arrays", f"{timings.bytes:,} bytes, each input and output counted once"),
        ("bandwidth", f"{timings.bytes / middle / 1e9:,.1f} GB/s of these bytes"),
        ("L2 cache", f"{timings.flushed:,} other bytes are written before each launch"),
        ("device", f"{timings.device} ({timings.target})"),
        ("versions", versions),
    ]
    return table(rows)


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f}"
