"""Compile kernels of other compilers' languages, run them on the simulator, and write down what came of it.

    python -m tests.foreign                    all languages; writes docs/foreign-kernels.md
    python -m tests.foreign triton cuda        these languages, and no page
    … --only attention --only sort             of these, kernels whose name holds one of the words
    … --jobs 1                                 so many processes that run kernels (default: 2)
    … --environments FOLDER                    where compilers are, or are put (default: .nox/corpus-environments)
    … --cache FOLDER                           where what they wrote is kept (default: .cache/foreign)

Compilers are installed on the first run: 6 GB, which the corpus shares. Exits with 1 if a kernel is wrong, or accused
of something that `judgements.py` does not list, or if something listed there is no longer found.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from .judgements import stale, unlisted
from .languages import LANGUAGES, ROOT, compiled
from .report import PAGE, page
from .running import Outcome, judge

if TYPE_CHECKING:
    from collections.abc import Sequence


def say(line: str) -> None:
    """Print a line at once: a run takes minutes."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def run_all(folders: Sequence[Path], cache: Path, jobs: int) -> dict[str, Outcome]:
    """Judge kernels by the folders that they lie in, and print each; names are paths below `cache`."""
    names = [folder.relative_to(cache).as_posix() for folder in folders]
    outcomes: dict[str, Outcome] = {}
    with ProcessPoolExecutor(jobs) as pool:
        for name, outcome in zip(names, pool.map(judge, folders), strict=True):
            outcomes[name] = outcome
            strange = unlisted(name, outcome)
            verdict = "FAULT" if strange else "clean" if outcome.clean else "known"
            say(f"{verdict} {name} {outcome.seconds:.1f} s")
            for fault in strange:
                say(f"      {fault.kind} ({fault.schedules} schedules): {fault.message[:500]}")
    return outcomes


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help=", ".join(each.name for each in LANGUAGES))
    parser.add_argument("--only", action="append", default=[], metavar="WORD")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--environments", type=Path, default=ROOT / ".nox" / "corpus-environments", metavar="FOLDER")
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache" / "foreign", metavar="FOLDER")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out the command line; return the exit status."""
    options = _arguments(argv)
    chosen = [each for each in LANGUAGES if not options.languages or each.name in options.languages]
    folders = [folder for each in chosen for folder in compiled(each, options.environments, options.cache)]
    wanted = [folder for folder in folders if not options.only or any(word in str(folder) for word in options.only)]
    outcomes = run_all(wanted, options.cache, options.jobs)
    strange = [name for name, outcome in outcomes.items() if unlisted(name, outcome)]
    old = [] if options.only else stale(outcomes)
    for row in old:
        say(f"listed, and not found: {', '.join(row.kernels)}: {', '.join(sorted(row.rules))}")
    clean = sum(outcome.clean for outcome in outcomes.values())
    known = len(outcomes) - clean - len(strange)
    say(f"{len(outcomes)} modules: {clean} clean, {known} known, {len(strange)} at fault")
    if len(chosen) == len(LANGUAGES) and not options.only:
        PAGE.write_text(page(outcomes), encoding="utf-8")
    return 1 if strange or old or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
