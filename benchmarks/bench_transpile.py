"""Speed of transpiling PTX to Python: MB of PTX per second, and as a multiple of the time to parse the same text.

    python benchmarks/bench_transpile.py [--every N] [--repeat N]

The modules are every N-th of those in corpus/ that compilers wrote. Each row also has the time of
`pyptx_ir.syntax.parse` for the same texts in the same run; the last line is CPython's time to compile the printed
files. On a shared machine, ratios are more reliable than rates. The result is the best CPU time of N runs.

Then a module of 5 MB with one function is transpiled in its own processes, whose whole memory counts: its body is a
text that is compiled in pieces, since CPython would take 1.3 GB for the whole.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

from bench_modules import long_text, most_memory
from timing import best

from pyptx_ir.syntax import decode, parse
from pyptx_transpile import transpile
from pyptx_transpile.transpiler import chosen

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
PROMISED = {"plain, not verified": 1.5, "plain": 0.7, "sugar": 0.4}
"""Minimum MB of PTX transpiled per second, by transpiler settings."""
LONG = 5_000_000  # bytes of PTX in the long module that is transpiled
MOST_MEMORY = 300.0  # maximum MB of memory to transpile the long module


def modules(every: int) -> list[tuple[str, bool]]:
    """Return PTX texts of the corpus, each with whether the instruction table rejects the text."""
    rows = tomllib.loads((CORPUS / "manifest.toml").read_text(encoding="utf-8"))["module"]
    refused = {CORPUS / row["path"] for row in rows if not row["assembles"]}
    paths = [path for path in sorted(CORPUS.glob("*/*.ptx")) if path.parent.name != "handmade"]
    return [(decode(path.read_bytes()), path in refused) for path in paths[::every]]


def printed(texts: list[tuple[str, bool]], *, sugar: bool, verify: bool) -> list[str]:
    """Return the Python transpiled from each PTX text."""
    rules = chosen(None, sugar=sugar)
    return [transpile(text, rules, verify=verify, unchecked=old).text for text, old in texts]


def long_module() -> str:
    """Return the PTX text of a module with one long function."""
    lines = 10_000
    return long_text(lines * LONG // len(long_text(lines, 1)), 1)


def memory_is_kept() -> bool:
    """Print the memory to transpile a long function, without and with rewrites; return whether the target is met."""
    kept = True
    for way in ("plain", "sugar"):
        command = [sys.executable, __file__, "--long", way]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        megabytes = float(done.stdout)
        kept &= megabytes <= MOST_MEMORY
        print(f"{LONG / 1e6:.0f} MB, one function, {way}: {megabytes:4.0f} MB of memory (promised {MOST_MEMORY:.0f})")
    return kept


def main() -> int:
    """Print a row of speeds for each setting of the transpiler; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--long", choices=("plain", "sugar"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.long:
        printed([(long_module(), False)], sugar=options.long == "sugar", verify=True)
        print(most_memory())
        return 0
    texts = modules(options.every)
    size = sum(len(text) for text, _ in texts) / 1e6
    parsing = best(lambda: [parse(text) for text, _ in texts], options.repeat, before=gc.collect)
    print(f"{len(texts)} modules, {size:.2f} MB; parsing them takes {parsing:.2f} s")
    kept = True
    for way, least in PROMISED.items():
        work = partial(printed, texts, sugar=way == "sugar", verify="not" not in way)
        seconds = best(work, options.repeat, before=gc.collect)
        kept &= size / seconds >= least
        print(
            f"{way:20} {size / seconds:5.2f} MB/s (promised {least})  {seconds / parsing:5.1f} times as long as parsing"
        )
    files = printed(texts, sugar=False, verify=False)
    compiling = best(lambda: [compile(text, "<printed>", "exec") for text in files], options.repeat, before=gc.collect)
    print(f"CPython compiles the plain files in {compiling:.2f} s, {compiling / parsing:.1f} times as long as parsing")
    return int(not (memory_is_kept() and kept))


if __name__ == "__main__":
    sys.exit(main())
