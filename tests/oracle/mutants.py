"""Mutants of the corpus modules with one change: `pyptx check` reports an error exactly where ptxas does.

    python -m tests.oracle.mutants                  2,000 mutants, with the ptxas that is found
    … --ptxas PATH …                                compare with each of these
    … --count N --seed N --show N                   number and seed of the mutants, differences to print

Prints, for each kind of change, the number of mutants on which check and ptxas agree, that only ptxas rejects, and
that only the check rejects. `known_mutants` lists reasons for differences. Exits with 1 if a difference is not listed.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules import check_text
from pyptx_ir.syntax import decode
from pyptx_ir.toolchain.diagnostics import parse_log
from pyptx_ir.toolchain.finder import Tool, find_tool, tool_version
from pyptx_ir.toolchain.runner import run

from .changes import CHANGES
from .known_mutants import MISSED, STRICTER
from .plan import OLDEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
MOST_BYTES = 12_000  # maximum size in bytes of a corpus module that is changed
FEWEST_LINES = 6
PROCESSES = 2
AGREE, MISS, ALONE, LISTED = "agree", "miss", "stricter", "listed"


@dataclass(frozen=True, slots=True)
class Mutant:
    """Corpus module with one change, and its target; `line` is the changed line after the change."""

    origin: str
    target: str
    kind: str
    line: str
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Results of `pyptx check` and ptxas for a mutant: `outcome` (such as "agree"), `said` the first error message."""

    mutant: Mutant
    tool: Tool
    outcome: str
    said: str

    def __str__(self) -> str:
        who = "check" if self.outcome == ALONE else f"ptxas {self.tool.version}"
        mutant = self.mutant
        return f"{mutant.origin} ({mutant.kind}): {mutant.line.strip()}\n  {who}: {self.said}"


@cache
def small_modules(newest: tuple[int, int]) -> tuple[dict[str, str], ...]:
    """Return the corpus modules to change: all small ones that a ptxas with PTX up to `newest` assembles."""
    rows = tomllib.loads((CORPUS / "manifest.toml").read_text(encoding="utf-8"))["module"]
    return tuple(
        row
        for row in rows
        if row["assembles"]
        and row["bytes"] < MOST_BYTES
        and "debug" not in row["path"]
        and int(re.sub(r"\D", "", row["target"])) >= OLDEST
        and tuple(map(int, row["ptx"].split("."))) <= newest
    )


def mutants(newest: tuple[int, int], seed: int, count: int) -> Iterator[Mutant]:
    """Yield `count` mutants, every kind in rotation; a seed determines them."""
    chance = random.Random(seed)
    kinds = list(CHANGES)
    made = 0
    while made < count:
        kind = kinds[made % len(kinds)]
        row = chance.choice(small_modules(newest))
        before = decode((CORPUS / row["path"]).read_bytes()).split("\n")
        places = [i for i, line in enumerate(before) if line.strip() and not line.strip().startswith("//")]
        lines = list(before)
        if len(places) < FEWEST_LINES:
            continue
        CHANGES[kind](lines, chance, places)
        if lines != before:
            made += 1
            pairs = zip(lines, before, strict=False)
            changed = next((mine for mine, other in pairs if mine != other), lines[-1])
            yield Mutant(row["path"], row["target"], kind, changed, "\n".join(lines))


def complaints(tool: Tool, mutant: Mutant) -> list[str]:
    """Return the errors of ptxas about a mutant, compiled without optimization and with undefined functions allowed."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "m.ptx").write_bytes(mutant.text.encode("utf-8", "surrogateescape"))
        outcome = run(tool, [f"-arch={mutant.target}", "-O0", "-c", "m.ptx", "-o", "m.o"], Path(folder))
    found = [remark.message for remark in parse_log(outcome.output) if remark.is_error]
    return found or ([outcome.output or f"exit status {outcome.status}"] if outcome.status else [])


def judge(tool: Tool, mutant: Mutant) -> Verdict:
    """Return the results of `pyptx check` and ptxas for one mutant."""
    ours = [f"{one.code}: {one.message} (line {one.line})" for one in check_text(mutant.text) if one.is_error]
    theirs = complaints(tool, mutant)
    if bool(ours) == bool(theirs):
        return Verdict(mutant, tool, AGREE, "")
    known, said = (STRICTER, ours) if ours else (MISSED, theirs)
    lines = [f"{mutant.kind} | {mutant.line.strip()} | {each}" for each in said]
    if any(re.search(pattern, line) for pattern in known for line in lines):
        return Verdict(mutant, tool, LISTED, said[0])
    return Verdict(mutant, tool, ALONE if ours else MISS, said[0])


def judge_all(tools: Sequence[Tool], seed: int, count: int) -> list[Verdict]:
    """Compare each ptxas with `pyptx check` on `count` mutants of PTX versions that this ptxas reads."""
    asked = [(tool, mutant) for tool in tools for mutant in mutants(tool.newest_ptx, seed, count)]
    with ThreadPoolExecutor(PROCESSES) as pool:
        return list(pool.map(judge, *zip(*asked, strict=True)))


def table(verdicts: Sequence[Verdict]) -> str:
    """Return the counts of mutants by kind of change as text."""
    counts = Counter((verdict.mutant.kind, verdict.outcome) for verdict in verdicts)
    lines = [f"{'change':24} {AGREE:>8} {LISTED:>8} {MISS:>8} {ALONE:>8}"]
    for kind in (*CHANGES, "all"):
        cells = [
            sum(count for (name, outcome), count in counts.items() if kind in (name, "all") and outcome == each)
            for each in (AGREE, LISTED, MISS, ALONE)
        ]
        lines.append(f"{kind:24} " + " ".join(f"{cell:8}" for cell in cells))
    return "\n".join(lines)


def main() -> int:
    """Compare `pyptx check` and ptxas, print the counts and the differences, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ptxas", nargs="*", type=Path, default=[])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=40)
    options = parser.parse_args()
    tools = [Tool("ptxas", path, tool_version(path)) for path in options.ptxas] or [find_tool("ptxas")]
    verdicts = judge_all(tools, options.seed, options.count)
    differing = [verdict for verdict in verdicts if verdict.outcome in (MISS, ALONE)]
    sys.stdout.write("".join(f"{verdict}\n" for verdict in differing[: options.show]))
    sys.stdout.write(f"{table(verdicts)}\n")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
