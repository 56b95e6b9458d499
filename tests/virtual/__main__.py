"""Run programs on the virtual GPU: ours with several releases of Triton, injected faults, and published packages.

    python -m tests.virtual                    all releases; the faults and the overhead with the newest; the packages
    python -m tests.virtual 3.4.0 3.9.0        programs with these releases
    python -m tests.virtual faults             injected faults only
    python -m tests.virtual overhead           benchmarks/virtual_launches.py; needs an idle machine
    python -m tests.virtual packages           all packages; writes docs/virtual-packages.md
    python -m tests.virtual liger fla          these packages, and no page
    … --only matmul --only scan                only programs or faults with one of the words in their names
    … --jobs 1                                 number of programs that run at a time (default: 2)
    … --minutes 30                             start no test of a package after this time; a later run continues
    … --environments FOLDER                    folder of installed releases (default: .nox/virtual-environments)

Each program runs under two schedules, and compares its results with torch. Exits with 1 if a release cannot be
installed, a program is wrong, refused or has an error that the suppressions of the release do not accept, fewer than
twelve programs are right with a release, fewer than 95 % of the faults are found at their lines, a launch takes too
long, or a test of a package fails without a reason in `packages/table.py`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .faults.running import report_faults
from .packages import report
from .packages.running import Run as PackageRun
from .packages.running import run as run_package
from .packages.table import PACKAGES, Package
from .running import VERDICTS, installed, run, variables
from .table import LEAST_PROGRAMS, PROGRAMS, RELEASES, ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .running import Outcome
    from .table import Program


OVERHEAD = ROOT / "benchmarks" / "virtual_launches.py"


def say(line: str) -> None:
    """Print a line and flush: a run takes minutes."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _run(release: str, environments: Path, program: Program, target: str) -> Outcome:
    return run(program.path, target, release, environments)


def run_release(release: str, programs: Sequence[Program], environments: Path, jobs: int) -> dict[str, Outcome]:
    """Run programs with a release of Triton, print a line for each, and return the outcomes by program and target."""
    cases = [(each, target) for each in programs if each.runs_with(release) for target in each.targets]
    outcomes: dict[str, Outcome] = {}
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(partial(_run, release, environments), *zip(*cases, strict=True))
        for (program, target), outcome in zip(cases, results, strict=True):
            outcomes[f"{program.name}.{target}"] = outcome
            accepted = f", {outcome.suppressed} suppressed" if outcome.suppressed else ""
            say(f"{outcome.verdict:8} triton-{release} {program.name} {target} {outcome.seconds:.0f} s{accepted}")
            if outcome.message:
                say(f"         {outcome.message[:500]}")
    return outcomes


def summary(release: str, outcomes: dict[str, Outcome]) -> str:
    """Return the table's row of a release: numbers of programs by verdict."""
    verdicts = [each.verdict for each in outcomes.values()]
    return " ".join([f"{release:10}", *(f"{verdicts.count(each):8}" for each in VERDICTS)])


def programs_pass(releases: Sequence[str], programs: Sequence[Program], options: argparse.Namespace) -> bool:
    """Run programs with releases of Triton, and print the table; return whether all are right with all releases."""
    rows: list[str] = []
    passed = True
    for release in releases:
        try:
            installed(release, options.environments)
        except RuntimeError as error:
            rows.append(f"{release:10} cannot be installed")
            say(str(error))
            passed = False
            continue
        outcomes = run_release(release, programs, options.environments, options.jobs)
        rows.append(summary(release, outcomes))
        names = {name.partition(".")[0] for name, each in outcomes.items() if each.verdict == "right"}
        enough = len(names) >= min(LEAST_PROGRAMS, len(programs))
        passed &= enough and all(each.verdict == "right" for each in outcomes.values())
    say(" ".join([f"{'Triton':10}", *(f"{each:>8}" for each in VERDICTS)]))
    for row in rows:
        say(row)
    return passed


def packages_pass(packages: Sequence[Package], options: argparse.Namespace) -> bool:
    """Run the tests of packages, and print a line for each; return whether enough pass and all failures have reasons.

    Runs of all packages write the page.
    """
    cache, runs, absent = options.environments / "outcomes", list[PackageRun](), list[Package]()
    for each in packages:
        try:
            runs.append(run_package(each, options.environments, cache, minutes=options.minutes, jobs=options.jobs))
        except RuntimeError as error:
            say(str(error))
            absent.append(each)
            continue
        say(report.summary(runs[-1]))
        for test in runs[-1].unexplained:
            say(f"FAULT    {test.test}: {test.message} {'; '.join(test.errors)}")
    if len(packages) == len(PACKAGES):
        report.PAGE.write_text(report.page(runs, absent), encoding="utf-8")
    return not absent and all(each.passed for each in runs)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the releases, faults and packages of the command line; return the exit status."""
    words = (*RELEASES, "faults", "overhead", "packages", *(each.name for each in PACKAGES))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chosen", nargs="*", metavar="WORD", help=", ".join(words))
    parser.add_argument("--only", action="append", default=[], metavar="WORD")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--environments", type=Path, default=ROOT / ".nox" / "virtual-environments", metavar="FOLDER")
    options = parser.parse_args(argv)
    if unknown := set(options.chosen) - {*words}:
        parser.error(f"unknown word {', '.join(sorted(unknown))}, expected some of {', '.join(words)}")
    options.environments = options.environments.resolve()
    releases = [each for each in RELEASES if not options.chosen or each in options.chosen]
    programs = [each for each in PROGRAMS if not options.only or any(word in each.name for word in options.only)]
    passed = programs_pass(releases, programs, options) if releases else True
    if not options.chosen or "faults" in options.chosen:
        passed &= report_faults(RELEASES[-1], options.only, options.environments, say)
    if not options.chosen or "overhead" in options.chosen:
        environment = variables(RELEASES[-1], options.environments)
        passed &= not subprocess.run([sys.executable, str(OVERHEAD)], env=environment, cwd=ROOT, check=False).returncode
    everything = not options.chosen or "packages" in options.chosen
    packages = [each for each in PACKAGES if everything or each.name in options.chosen]
    passed &= packages_pass(packages, options)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
