"""Speed of PTX checks, parsing included: the targets are 5 MB/s in a warm process, and 1 MB/s for a first run.

    python benchmarks/bench_check.py [--repeat N] [FILE ...]

Reads corpus/ by default. The result is each module's best CPU time of N runs, summed by producer. Further columns are
the first run, which also loads the table and checks every instruction form for the first time, and parsing alone.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from timing import times

from pyptx_ir.isa.modules import check_text
from pyptx_ir.syntax import decode, parse_recovering

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
PROMISED, PROMISED_FIRST = 5.0, 1.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a PTX text: bytes, seconds to parse it, seconds of its first check and of its fastest check."""

    size: int = 0
    parsing: float = 0.0
    first: float = 0.0
    best: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        """Return the sum of two `Cost`s, field by field."""
        return Cost(
            self.size + other.size, self.parsing + other.parsing, self.first + other.first, self.best + other.best
        )

    def rate(self, seconds: float) -> float:
        """Return the MB of text per second."""
        return self.size / max(seconds, 1e-9) / 1e6


def measure(path: Path, repeat: int) -> Cost:
    """Measure parsing and checking one PTX module; return its `Cost`."""
    data = path.read_bytes()
    text = decode(data)
    check, parse = partial(check_text, text, str(path)), partial(parse_recovering, text)
    checks, parses = times(check, parse, repeat=max(2, repeat))
    return Cost(len(data), min(parses), checks[0], min(checks))


def main() -> int:
    """Print a line of speeds for each PTX producer, and one for all together; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    groups: dict[str, list[Cost]] = defaultdict(list)
    for path in options.files or sorted(CORPUS.glob("*/*.ptx")):
        groups[path.parent.name].append(measure(path, options.repeat))
    print(f"{'':14} {'modules':>7} {'MB':>6} {'parse MB/s':>10} {'first MB/s':>10} {'check MB/s':>10}")
    every = [cost for costs in groups.values() for cost in costs]
    for name, costs in [*groups.items(), ("all", every)]:
        total = sum(costs, Cost())
        rates = f"{total.rate(total.parsing):10.1f} {total.rate(total.first):10.2f} {total.rate(total.best):10.2f}"
        print(f"{name:14} {len(costs):7} {total.size / 1e6:6.2f} {rates}")
    total = sum(every, Cost())
    return int(total.rate(total.best) < PROMISED or total.rate(total.first) < PROMISED_FIRST)


if __name__ == "__main__":
    sys.exit(main())
