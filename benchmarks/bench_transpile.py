"""How fast PTX becomes Python: MB of PTX a second, and as a multiple of what parsing the same text takes.

    python benchmarks/bench_transpile.py [--every N] [--repeat N]

The modules are those of corpus/ that compilers wrote, every N-th of them. Beside each row stands the time of
`pyptx_ir.syntax.parse` for the same texts in the same run, and at the end what CPython takes to compile the files that
were printed: on a shared machine, the ratios say more than the rates. The best CPU time of N runs counts.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import tomllib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_ir.syntax import decode, parse
from pyptx_transpile import transpile
from pyptx_transpile.transpiler import chosen

if TYPE_CHECKING:
    from collections.abc import Callable

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
PROMISED = {"plain, not verified": 1.5, "plain": 0.7, "sugar": 0.4}
"""MB/s."""


def best(run: Callable[[], object], repeat: int) -> float:
    """Return the least CPU time of several runs."""
    times: list[float] = []
    for _ in range(repeat):
        gc.collect()
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def modules(every: int) -> list[tuple[str, bool]]:
    """Return texts of the corpus, each with whether the instruction table refuses it."""
    rows = tomllib.loads((CORPUS / "manifest.toml").read_text(encoding="utf-8"))["module"]
    refused = {CORPUS / row["path"] for row in rows if not row["assembles"]}
    paths = [path for path in sorted(CORPUS.glob("*/*.ptx")) if path.parent.name != "handmade"]
    return [(decode(path.read_bytes()), path in refused) for path in paths[::every]]


def printed(texts: list[tuple[str, bool]], *, sugar: bool, verify: bool) -> list[str]:
    """Transpile all texts."""
    rules = chosen(None, sugar=sugar)
    return [transpile(text, rules, verify=verify, unchecked=old).text for text, old in texts]


def main() -> int:
    """Print a row for each way; return 1 if one is slower than promised."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    texts = modules(options.every)
    size = sum(len(text) for text, _ in texts) / 1e6
    parsing = best(lambda: [parse(text) for text, _ in texts], options.repeat)
    print(f"{len(texts)} modules, {size:.2f} MB; parsing them takes {parsing:.2f} s")
    kept = True
    for way, least in PROMISED.items():
        seconds = best(partial(printed, texts, sugar=way == "sugar", verify="not" not in way), options.repeat)
        kept &= size / seconds >= least
        print(
            f"{way:20} {size / seconds:5.2f} MB/s (promised {least})  {seconds / parsing:5.1f} times as long as parsing"
        )
    files = printed(texts, sugar=False, verify=False)
    compiling = best(lambda: [compile(text, "<printed>", "exec") for text in files], options.repeat)
    print(f"CPython compiles the plain files in {compiling:.2f} s, {compiling / parsing:.1f} times as long as parsing")
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
