"""Run the programs of seeds on the simulator and compare their results with the reference implementation's.

A wrong result, an error, a warning and an exception are failures. For one seed, prints the program and its PTX. For
several, prints the failures and shrinks the first ones.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from multiprocessing import Pool

from .generator import program, with_undefined_read
from .printing import ptx
from .running import Failure, fails_alike, failure, schedules
from .shrinking import shrunk

SHRUNK = 5  # number of failing programs of a long run that are reduced to shorter ones


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m tests.fuzz.threads", description=__doc__)
    made.add_argument("seed", type=int, help="the first seed")
    made.add_argument("--count", type=int, default=1, help="number of seeds (1: print the program)")
    made.add_argument("--schedules", type=int, default=8, help="schedules of each program (8)")
    made.add_argument("--undefined", action="store_true", help="programs with a shuffle from an absent lane")
    made.add_argument("-j", type=int, default=1, help="processes (1)")
    return made


def tried(seed: int, *, count: int, undefined: bool) -> Failure | None:
    """Return the failure of a seed's program under the schedules, or None."""
    made = (with_undefined_read if undefined else program)(seed)
    return failure(made, schedules(seed, count))


def numbered(seed: int, *, count: int, undefined: bool) -> tuple[int, Failure | None]:
    return seed, tried(seed, count=count, undefined=undefined)


def show(seed: int, found: Failure | None, *, undefined: bool, smaller: bool) -> None:
    """Print a program and its failure; with `smaller`, shrink the program first."""
    made = (with_undefined_read if undefined else program)(seed)
    if found and smaller:
        made = shrunk(made, lambda one: fails_alike(one, found))
        found = failure(made, [found.schedule])
    print(f"{made!r}\n\n{ptx(made)}\ngrid {made.ctas}, block {made.threads}, inputs {made.inputs()}")
    print(found or "", flush=True)


def main() -> int:
    given = parser().parse_args()
    try_one = partial(numbered, count=given.schedules, undefined=given.undefined)
    if given.count == 1:
        found = tried(given.seed, count=given.schedules, undefined=given.undefined)
        show(given.seed, found, undefined=given.undefined, smaller=False)
        if found:
            show(given.seed, found, undefined=given.undefined, smaller=True)
        else:
            print("the results of all schedules equal the reference implementation's")
        return int(found is not None)
    started, failures = time.monotonic(), list[tuple[int, Failure]]()
    with Pool(given.j) as pool:
        for seed, found in pool.imap_unordered(try_one, range(given.seed, given.seed + given.count), chunksize=10):
            if found:
                failures.append((seed, found))
                print(f"seed {seed}: {found}", flush=True)
    for seed, found in failures[:SHRUNK]:
        show(seed, found, undefined=given.undefined, smaller=True)
    seconds = time.monotonic() - started
    print(f"{given.count} programs, {given.schedules} schedules each, {len(failures)} failures, {seconds:.0f} s")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
