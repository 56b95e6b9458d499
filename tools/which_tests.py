"""The tests that execute a module, from an index that `nox -s which` makes: coverage by test.

    python -m tools.which_tests INDEX MODULE… [--all]

MODULE is a module or package: a dotted name (`pyptx_sim.rules.flags`) or a path. For each, prints one test of
every test file, the one that executes most lines of function bodies, with their number; `--all` prints all tests. Exits
with 1 if no test executes a module. Processes that a test starts are not measured, and the index has the share of the
tests that `pytest --quick` selects.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from coverage import CoverageData

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]


def files_of(module: str) -> list[Path]:
    """Return the files of a module or package, given by its dotted name or its path; SystemExit if there is none."""
    places = [ROOT.joinpath(module), *(place.joinpath(*module.split(".")) for place in ROOT.glob("packages/*/src"))]
    for place in places:
        for path in (place, place.with_name(f"{place.name}.py")):
            if path.is_file():
                return [path]
            if (path / "__init__.py").is_file():
                return sorted(path.rglob("*.py"))
    raise SystemExit(f"{module}: no such module or package below packages/*/src")


def body_lines(path: Path) -> set[int]:
    """Return the lines of function bodies: the others run at import, in the test that happens to come first."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {line for node in functions for line in range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)}


def lines_by_test(contexts: Mapping[int, Sequence[str]], lines: set[int]) -> Counter[str]:
    """Return, per test, the number of `lines` that it executes; `contexts` are pytest-cov's, such as `a.py::f|run`."""
    return Counter(
        test
        for line, names in contexts.items()
        if line in lines
        for test in {name.partition("|")[0] for name in names if name}
    )


def best_of_files(tests: Counter[str]) -> Iterator[tuple[str, int]]:
    """Yield, for each test file, the test that executes most lines, and their number."""
    seen: set[str] = set()
    for test, count in tests.most_common():
        file = test.partition("::")[0]
        if file not in seen:
            seen.add(file)
            yield test, count


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tests of modules; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("modules", nargs="+", metavar="MODULE")
    parser.add_argument("--all", action="store_true", help="print all tests, not one per file")
    options = parser.parse_args(argv)
    data = CoverageData(str(options.index))
    data.read()
    status = 0
    for module in options.modules:
        tests: Counter[str] = Counter()
        for path in files_of(module):
            tests += lines_by_test(data.contexts_by_lineno(str(path)), body_lines(path))
        print(f"{module}: {len(tests)} tests")
        for test, count in tests.most_common() if options.all else best_of_files(tests):
            print(f"{count:5} lines  {test}")
        status |= not tests
    return status


if __name__ == "__main__":
    sys.exit(main())
