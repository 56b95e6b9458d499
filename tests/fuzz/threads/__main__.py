"""Print the program of a seed, its PTX and its reference, and run it; or run a range of seeds."""

from __future__ import annotations

import argparse
import sys
import time

from .generator import program, with_planted_read
from .printing import ptx
from .reference import Undefined, outcome
from .running import failure, fails_alike, schedules
from .shrinking import shrunk


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.threads", description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--schedules", type=int, default=8)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--planted", action="store_true")
    given = parser.parse_args()
    if not given.count:
        made = (with_planted_read if given.planted else program)(given.seed)
        print(ptx(made))
        print(f"grid {made.ctas}, block {made.threads}")
        found = failure(made, schedules(given.seed, given.schedules))
        print(found or "as the reference")
        if found and given.shrink:
            smaller = shrunk(made, lambda one: fails_alike(one, found))
            print(f"shrunk to {smaller!r}\n{ptx(smaller)}grid {smaller.ctas}, block {smaller.threads}")
            print(failure(smaller, [found.schedule]))
        return 0
    start, bad = time.process_time(), 0
    for seed in range(given.seed, given.seed + given.count):
        made = (with_planted_read if given.planted else program)(seed)
        try:
            expected = outcome(made)
        except Undefined as error:
            print(seed, "UNDEFINED", error, flush=True)
            continue
        if not expected.defined and not given.planted:
            print(seed, "NONE", flush=True)
        found = failure(made, schedules(seed, given.schedules), expected)
        if found:
            bad += 1
            print(seed, made.ctas, made.threads, str(found)[:300].replace("\n", " "), flush=True)
    print(f"{given.count} programs, {bad} failures, {(time.process_time() - start) / given.count * 1000:.0f} ms each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
