"""Speed of parsing and emitting PTX, and memory of a tree; targets: 15 MB/s, 200 MB/s, 15 bytes per byte of text.

"Styled" is the emission of a tree that stores only the formatting that its inferred style does not give: 3.6 MB/s.

    python benchmarks/bench_syntax.py [--repeat N] [--older PYTHON] [FILE ...]

Reads corpus/ by default. The result is each module's best CPU time of N runs, summed by producer; the first run fills
the tables of operands and opcodes that all parses of a process share. `--older` (or PYPTX_OLDER_PYTHON) is the
interpreter of another environment with `pyptx==0.1.1`, measured in the same run on the modules that it can read. Its
emitter copies the source that it kept, so only parsing is compared. With it, the target for parsing is 18 times its
speed, since machines differ.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tracemalloc
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from timing import best

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
PROMISED = {"parse": 15.0, "times older": 18.0, "emit": 200.0, "styled": 3.6, "bytes per byte": 15.0}


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a PTX text: its bytes, seconds to parse, to emit and to emit styled, and bytes of its syntax tree."""

    size: int = 0
    parsing: float = 0.0
    emitting: float = 0.0
    styling: float = 0.0
    weight: int = 0

    def __add__(self, other: Cost) -> Cost:
        """Return the sum of two `Cost`s, field by field."""
        return Cost(
            self.size + other.size,
            self.parsing + other.parsing,
            self.emitting + other.emitting,
            self.styling + other.styling,
            self.weight + other.weight,
        )

    def rates(self) -> dict[str, float]:
        """Return MB/s of parsing, of emitting and of styled emitting, and syntax tree bytes per byte of text."""
        seconds = {"parse": self.parsing, "emit": self.emitting, "styled": self.styling}
        return {name: self.size / taken / 1e6 for name, taken in seconds.items()} | {
            "bytes per byte": self.weight / self.size
        }


def weigh(text: str) -> int:
    """Return the bytes of a text's syntax tree, without the text itself."""
    from pyptx_ir.syntax import parse

    gc.collect()
    tracemalloc.start()
    tree = parse(text)
    weight, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del tree
    return weight


def measure(path: Path, repeat: int) -> Cost:
    """Time parsing and emitting one module, and measure its syntax tree's memory."""
    from pyptx_ir.syntax import decode, emit, parse
    from pyptx_ir.syntax.style import infer_style, stripped

    data = path.read_bytes()
    text = decode(data)
    tree = parse(text)
    assert emit(tree) == text
    style = infer_style(tree)
    rest = stripped(tree, style)
    assert emit(rest, style) == text
    rounds = repeat * max(1, 20_000 // len(data))
    return Cost(
        len(data),
        best(lambda: parse(text), rounds),
        best(lambda: emit(tree), rounds),
        best(lambda: emit(rest, style), repeat),
        weigh(text),
    )


def older(python: str, paths: list[Path]) -> dict[str, float]:
    """Return the seconds that the parser of pyptx 0.1.1 takes for each module that it can read."""
    command = [python, "-I", __file__, "--as-older", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return {path: float(seconds) for path, seconds in rows}


def as_older(paths: list[Path]) -> None:
    """Print the seconds per module for `older`; runs with pyptx 0.1.1, whose parser may raise any exception."""
    from pyptx.parser import parse

    for path in paths:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        try:
            print(f"{path}\t{best(lambda text=text: parse(text), 1)}")
        except Exception:  # noqa: BLE001, S112 - whatever it raises, it can't read this one
            continue


def compare(python: str, costs: dict[Path, Cost]) -> float:
    """Print the older parser's speed and ours, on the modules that it can read; return the ratio of the speeds."""
    taken = older(python, list(costs))
    size = sum(costs[Path(path)].size for path in taken)
    ours = sum(costs[Path(path)].parsing for path in taken)
    theirs = sum(taken.values())
    print(
        f"older: reads {len(taken)} of {len(costs)} modules; on these {size / theirs / 1e6:.2f} MB/s,"
        f" ours {size / ours / 1e6:.1f} MB/s: {theirs / ours:.1f} times as fast"
    )
    return theirs / ours


def main() -> int:
    """Print a line of speeds for each PTX producer, and one for all together; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--older", metavar="PYTHON", default=os.environ.get("PYPTX_OLDER_PYTHON"))
    parser.add_argument("--as-older", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.as_older:
        as_older(options.files)
        return 0
    paths = options.files or sorted(path for path in CORPUS.rglob("*.ptx") if path.parent.name != "handmade")
    costs = {path: measure(path, options.repeat) for path in paths}
    groups: dict[str, list[Cost]] = defaultdict(list)
    for path, cost in costs.items():
        groups[path.parent.name].append(cost)
    print(f"{'':14} {'modules':>7} {'MB':>6} {'parse MB/s':>10} {'emit MB/s':>10} {'styled':>7} {'bytes per byte':>14}")
    total = sum(costs.values(), Cost())
    for name, members in [*groups.items(), ("all", list(costs.values()))]:
        parsing, emitting, styling, weight = sum(members, Cost()).rates().values()
        size = sum(member.size for member in members) / 1e6
        print(f"{name:14} {len(members):7} {size:6.2f} {parsing:10.1f} {emitting:10.0f} {styling:7.1f} {weight:14.1f}")
    rates = total.rates()
    if options.older:
        fast = compare(options.older, costs) >= PROMISED["times older"]
    else:
        fast = rates["parse"] >= PROMISED["parse"]
    written = all(rates[name] >= PROMISED[name] for name in ("emit", "styled"))
    return int(not (fast and written and rates["bytes per byte"] <= PROMISED["bytes per byte"]))


if __name__ == "__main__":
    sys.exit(main())
