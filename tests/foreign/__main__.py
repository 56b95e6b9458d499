"""Compile kernels of other compilers' languages, run them on the simulator, and report the outcomes.

    python -m tests.foreign                    all compilers; writes docs/foreign-kernels.md
    python -m tests.foreign cuda triton-3.6    compilers of these languages, or of these names, and no page
    … --only attention --only sort             of these, only kernels with one of the words in their path
    … --jobs 1                                 number of processes that run kernels (default: 2)
    … --environments FOLDER                    folder of installed compilers (default: .nox/corpus-environments)
    … --cache FOLDER                           folder of PTX and outcomes (default: .nox/foreign)

Compilers are installed on the first run: 9 GB, which the corpus shares. An interrupted run continues: outcomes of
kernels are reused until the simulator changes. Exits with 1 if a compiler cannot be installed, if a kernel is wrong,
does not compile or has a finding that `accepted_findings.py` does not list, or if a listed one is no longer found.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from .accepted_findings import stale, unlisted
from .languages import COMPILERS, LANGUAGES, ROOT, compiled
from .report import PAGE, page, summary
from .running import Outcome, judge

if TYPE_CHECKING:
    from collections.abc import Sequence


def say(line: str) -> None:
    """Print a line and flush: a run takes minutes."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def run_all(folders: Sequence[Path], cache: Path, jobs: int) -> dict[str, Outcome]:
    """Run the kernels in these folders, and print each outcome; a kernel's name is its path below `cache`."""
    names = [folder.relative_to(cache).as_posix() for folder in folders]
    outcomes: dict[str, Outcome] = {}
    with ProcessPoolExecutor(jobs) as pool:
        for name, outcome in zip(names, pool.map(judge, folders), strict=True):
            outcomes[name] = outcome
            say_outcome(name, outcome)
    return outcomes


def say_outcome(name: str, outcome: Outcome) -> None:
    """Print the outcome of a kernel."""
    strange = unlisted(name, outcome)
    listed = "absent" if outcome.refused else "known"
    verdict = "FAULT" if strange else "clean" if outcome.clean else listed
    say(f"{verdict} {name} {outcome.seconds:.1f} s")
    for fault in strange:
        say(f"      {fault.kind} ({fault.schedules} schedules): {fault.message[:500]}")


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help=", ".join(LANGUAGES))
    parser.add_argument("--only", action="append", default=[], metavar="WORD")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--environments", type=Path, default=ROOT / ".nox" / "corpus-environments", metavar="FOLDER")
    parser.add_argument("--cache", type=Path, default=ROOT / ".nox" / "foreign", metavar="FOLDER")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the kernels of the command line; return the exit status."""
    options = _arguments(argv)
    asked = set(options.languages)
    chosen = [each for each in COMPILERS if not asked or asked & {each.language, each.name}]
    folders = [folder for each in chosen for folder in compiled(each, options.environments, options.cache)]
    wanted = [folder for folder in folders if not options.only or any(word in str(folder) for word in options.only)]
    outcomes = run_all(wanted, options.cache, options.jobs)
    strange = [name for name, outcome in outcomes.items() if unlisted(name, outcome)]
    old = [] if options.only else stale(outcomes)
    for row in old:
        say(f"accepted, but not found: {', '.join(row.kernels)}: {', '.join(sorted(row.rules))}")
    for each in chosen:
        say(summary(each, outcomes))
    say(f"{len(outcomes)} modules, {len(strange)} at fault")
    if not asked and not options.only:
        PAGE.write_text(page(outcomes), encoding="utf-8")
    return 1 if strange or old or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
