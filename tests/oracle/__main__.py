"""Compare the instruction table with ptxas.

    python -m tests.oracle                          every chapter, with every ptxas given
    python -m tests.oracle --chapter wgmma …        these chapters
    … --ptxas PATH …                                executables to run (default: the one found)
    … --valid N --broken N                          forms per row, and broken forms per row and class of fault
    … --targets sm_90a …                            only these targets
    … --show N                                      number of differences to print (default: 40)

Exits with 1 if agreement is below 99.5 % in total or below 98 % in an important class, or if ptxas accepts an
instruction that the table rejects without a listed reason.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from pyptx_ir.toolchain.finder import Tool, find_tool, tool_version

from .plan import chapters, plan
from .report import Report, laxer, stricter

AGREEMENT = 0.995
CLASSES = ("target", "version", "operand type", "operand kind", "immediate", "vector length")
AGREEMENT_OF_A_CLASS = 0.98


def main() -> int:
    """Compare the instruction table and ptxas, print confusion matrix and differences, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--chapter", nargs="*", default=[])
    parser.add_argument("--ptxas", nargs="*", type=Path, default=[])
    parser.add_argument("--targets", nargs="*", default=[])
    parser.add_argument("--valid", type=int, default=20)
    parser.add_argument("--broken", type=int, default=4)
    parser.add_argument("--show", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tools = [Tool("ptxas", path, tool_version(path)) for path in options.ptxas] or [find_tool("ptxas")]
    started = time.perf_counter()
    report = Report()
    known = chapters()
    wanted = {name: chapter for name, chapter in known.items() if not options.chapter or chapter in options.chapter}
    for tool in tools:
        steps = plan(tool, set(wanted), random.Random(options.seed), valid=options.valid, broken=options.broken)
        for assembler, cases in steps:
            if not options.targets or assembler.target in options.targets:
                report.ask(assembler, known, cases)
    if not options.chapter:
        unused = [pattern for pattern in (*stricter(), *laxer()) if not report.used[pattern]]
        sys.stdout.write("".join(f"listed difference not found in this run: {pattern}\n" for pattern in unused))
    return _say(report, options.show, time.perf_counter() - started)


def _say(report: Report, show: int, seconds: float) -> int:
    write = sys.stdout.write
    differences = report.differences()
    for difference in differences[:show]:
        write(f"{difference}\n")
    if len(differences) > show:
        write(f"… and {len(differences) - show} more\n")
    write(f"{report.table()}\n{seconds:.0f} s\n")
    weak = [fault for fault in CLASSES if report.agreement(fault) < AGREEMENT_OF_A_CLASS]
    refused = [difference for difference in differences if difference.ptxas is None]
    return int(report.agreement() < AGREEMENT or bool(weak) or bool(refused))


if __name__ == "__main__":
    sys.exit(main())
