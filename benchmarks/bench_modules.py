"""Speed of writing whole modules: 3 MB of PTX per second, linear in the lines, 100,000 lines in 300 MB of memory.

    python benchmarks/bench_modules.py [--repeat N]

The modules are those of corpus/, and longer ones with one function or many, printed as Python by tests/rebuild: one
call per statement, with the formatting of statements that deviate from the inferred style. The result is the best CPU
time of N runs of that Python and of emitting the text; compiling the Python is not included. Each longer module runs in
its own process, whose whole memory counts.
"""

from __future__ import annotations

import argparse
import gc
import marshal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "corpus"
SIZES = (10_000, 50_000, 100_000)  # lines of PTX in each of the longer modules
PROMISED = {"MB/s": 3.0, "MB": 300.0, "growth": 1.5}
"""Targets of the benchmark; `growth` is the maximum ratio of the longest module's time per line to the shortest's."""

HEAD = ".version 8.5\n.target sm_90a\n.address_size 64\n"
OPENING = """
.visible .entry k{}(
	.param .u64 p
)
{{
	.reg .pred %p<9>;
	.reg .b32 %r<32>;
	.reg .f32 %f<32>;
	.reg .b64 %rd<32>;
"""
LINES = """\
	fma.rn.f32 %f{a}, %f{b}, %f{c}, 0f3F800000;
	mul.wide.u32 %rd{a}, %r{b}, 4;
	ld.global.f32 %f{b}, [%rd{a}+{number}];
	setp.lt.s32 %p{guard}, %r{b}, %r{c};
	@%p{guard} add.s32 %r{a}, %r{b}, {number};
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of writing a module: bytes of PTX, seconds, and peak memory in MB if the run had its own process."""

    size: int
    seconds: float
    memory: float = 0.0

    @property
    def rate(self) -> float:
        """MB of PTX that the generated Python code writes per second."""
        return self.size / self.seconds / 1e6


def long_text(lines: int, functions: int) -> str:
    """Return the text of a PTX module with this number of lines and functions."""
    numbers = range(lines // 5 // functions)
    body = "".join(
        [LINES.format(a=n % 31, b=n % 29, c=n % 23, guard=n % 9, number=n) for n in numbers],
    )
    return HEAD + "".join([f"{OPENING.format(number)}{body}\tret;\n}}\n" for number in range(functions)])


def compiled(text: str, *, unchecked: bool = False) -> list[CodeType]:
    """Return the compiled Python that writes the module `text`."""
    sys.path[:0] = [str(ROOT)]
    from tests.rebuild.printer import printed

    from pyptx_ir.syntax import parse
    from pyptx_ir.syntax.style import infer_style, stripped

    del sys.path[0]
    tree = parse(text)
    python = printed(stripped(tree, infer_style(tree)), unchecked=unchecked)
    return [compile(part, "<module>", "exec") for part in python]


def run(codes: list[CodeType]) -> Cost:
    """Execute the Python that writes a module; return the bytes, the CPU seconds and the peak memory."""
    names: dict[str, Any] = {}
    start = time.process_time()
    for code in codes:
        exec(code, names)  # noqa: S102  what the printer wrote
    text = names["m"].ptx()
    seconds = time.process_time() - start
    return Cost(len(text), seconds, most_memory())


def most_memory() -> float:
    """Return the peak memory of this process in MB; `ru_maxrss` would include its parent's."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def best(codes: list[CodeType], repeat: int) -> Cost:
    """Write a module `repeat` times; return the `Cost` of the fastest run."""
    costs = list[Cost]()
    for _ in range(repeat):
        gc.collect()
        costs.append(run(codes))
    return min(costs, key=lambda cost: cost.seconds)


def best_apart(codes: list[CodeType], repeat: int) -> Cost:
    """Write a module in `repeat` new processes, each after a short module; the memory is the largest of their peaks."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(marshal.dumps((compiled(long_text(10, 1)), codes)))
        file.flush()
        command = [sys.executable, __file__, "--one", file.name]
        runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(repeat)]
    rows = [[float(word) for word in each.stdout.split()] for each in runs]
    size, seconds, _ = min(rows, key=lambda row: row[1])
    return Cost(int(size), seconds, max(row[2] for row in rows))


def of_corpus(repeat: int) -> Iterator[tuple[str, Cost]]:
    """Yield the producer and the cost of each corpus module that a compiler generated."""
    from pyptx_ir.syntax import decode

    rows = tomllib.loads((CORPUS / "manifest.toml").read_text(encoding="utf-8"))["module"]
    refused = {CORPUS / row["path"] for row in rows if not row["assembles"]}
    for path in sorted(CORPUS.glob("*/*.ptx")):
        if path.parent.name != "handmade":
            codes = compiled(decode(path.read_bytes()), unchecked=path in refused)
            yield path.parent.name, best(codes, repeat)


def total(costs: list[Cost]) -> Cost:
    """Return the `Cost` of several modules: summed bytes and seconds."""
    return Cost(sum(cost.size for cost in costs), sum(cost.seconds for cost in costs))


def long_is_kept(functions: int, repeat: int) -> bool:
    """Print a line for each module length; return whether all targets are met."""
    costs = [best_apart(compiled(long_text(lines, max(1, lines // 50 * functions))), repeat) for lines in SIZES]
    shape = "functions of 50 lines" if functions else "one function"
    for lines, cost in zip(SIZES, costs, strict=True):
        each = cost.seconds / lines * 1e6
        print(f"{lines:>8,} lines, {shape:22} {cost.rate:5.2f} MB/s  {each:5.2f} us a line  {cost.memory:4.0f} MB")
    growth = (costs[-1].seconds / SIZES[-1]) / (costs[0].seconds / SIZES[0])
    slowest, memory = min(cost.rate for cost in costs), max(cost.memory for cost in costs)
    return slowest >= PROMISED["MB/s"] and memory <= PROMISED["MB"] and growth <= PROMISED["growth"]


def main() -> int:
    """Print a line for each producer and each module length; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        short, codes = marshal.loads(options.one.read_bytes())  # noqa: S302  what `best_apart` wrote
        run(short)
        cost = run(codes)
        print(cost.size, cost.seconds, cost.memory)
        return 0
    groups: dict[str, list[Cost]] = defaultdict(list)
    for producer, cost in of_corpus(options.repeat):
        groups[producer].append(cost)
    everything = [cost for costs in groups.values() for cost in costs]
    for producer, costs in [*groups.items(), ("all", everything)]:
        whole = total(costs)
        print(f"{producer:14} {len(costs):4} modules  {whole.size / 1e6:6.2f} MB  {whole.rate:5.2f} MB/s")
    kept = [long_is_kept(functions, options.repeat) for functions in (0, 1)]
    return int(not (all(kept) and total(everything).rate >= PROMISED["MB/s"]))


if __name__ == "__main__":
    sys.exit(main())
