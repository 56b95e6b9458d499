"""Measure the example kernels on the GPU, with their baselines and a device copy, and write a table and a plot.

    python -m benchmarks.kernels [names...] [--out DIR] [--seconds S] [--no-plot] | --dry-run | --list

Names are subjects (`ampere_gemm`), cases, or prefixes of cases; none means all. Results of earlier runs in DIR for
other subjects stay in the table. A dry run needs no GPU and times nothing: it checks every case with small inputs on
the CPU. Exits with 1 if a result is wrong, a kernel fails, or there is no GPU for the measurement.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.kernels import report
from benchmarks.kernels.dry_run import rehearse_all
from benchmarks.kernels.gpu import Cuda
from benchmarks.kernels.results import save
from benchmarks.kernels.runner import examine_all, subjects, where

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.kernels.case import Case


def main() -> int:
    """Measure the cases that the command line selects, and write the table and the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="subjects or cases")
    parser.add_argument("--out", type=Path, default=Path("kernel_results"), help="folder for tables and plots")
    parser.add_argument("--seconds", type=float, default=600.0, help="time limit of the run; later cases are left out")
    parser.add_argument("--no-plot", action="store_true", help="write no PNG")
    parser.add_argument("--list", action="store_true", help="print the names of the cases and stop")
    parser.add_argument("--dry-run", action="store_true", help="check small inputs on the CPU, without times, and stop")
    options = parser.parse_args()
    chosen = subjects(options.names)
    if options.names and not chosen:
        parser.error(f"no subject or case is called {' or '.join(options.names)}: --list names them")
    if options.list:
        listed = [f"{subject}: {case.name}" for subject, cases in chosen.items() for case in cases]
        sys.stdout.writelines(f"{line}\n" for line in listed)
        return 0
    if options.dry_run:
        return dry_run(chosen)
    if not options.no_plot and find_spec("matplotlib") is None:
        parser.error("the plot needs matplotlib: pip install matplotlib, or leave it out: --no-plot")
    device, failed = Cuda(), False
    for run in examine_all(chosen, device, where(device), options.seconds):
        save(run, options.out)  # the run is saved after each subject, so that a hang or crash keeps earlier results
        newest = run.results[-1]
        print(f"{newest.case}: {newest.failure or newest.left_out or 'measured'}", flush=True)
        failed |= bool(newest.failure)
    print(report.write(options.out, with_plot=not options.no_plot))
    return int(failed)


def dry_run(chosen: Mapping[str, Sequence[Case]]) -> int:
    """Check the selected cases on the CPU and print the outcome of each case."""
    os.environ.setdefault("PYPTX_CPU", "quiet")  # no warning that kernels run on the simulator: a dry run always does
    failed = False
    for result, line in rehearse_all(chosen):
        print(line, flush=True)
        failed |= bool(result.failure)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
