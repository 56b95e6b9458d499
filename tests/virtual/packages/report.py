"""The page `docs/virtual-packages.md`: packages whose Triton kernels ran on the virtual GPU, and all failures."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

from ..table import ROOT
from .running import BUDGET, reason
from .table import TRITON

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .running import Run
    from .table import Package

PAGE: Final = ROOT / "docs" / "virtual-packages.md"
_HEAD: Final = """\
# Packages on the virtual GPU

`nox -s virtual -- packages` installs published packages with Triton kernels, and runs their own tests, or operators of
theirs against references in torch, by `pytest --pyptx` on a machine without a GPU: forward, backward, three sizes each.
A test passes if its results are right and no kernel has an error. *Not finished*: the simulation exceeds
`--pyptx-budget={budget}`. Kernels are compiled by Triton {triton} for an H100. Last run: {date}.

| package | tests | run | passed | failed | not finished | skipped | launches |
|---|--:|--:|--:|--:|--:|--:|--:|
"""


def page(runs: Sequence[Run], absent: Sequence[Package]) -> str:
    """Return the page of these runs, and of packages that could not be installed or imported."""
    today = dt.datetime.now(dt.UTC).date()
    rows = "".join(f"{_row(each)}\n" for each in runs)
    rows += "".join(f"| {each.distribution} {each.version} | not run | | | | | | |\n" for each in absent)
    failures = [line for each in runs for line in _failures(each)]
    listed = ["", "## Failures", "", "| package | tests | reason |", "|---|---|---|", *failures, ""] if failures else []
    return _HEAD.format(budget=BUDGET, triton=TRITON, date=today) + rows + "\n".join(listed)


def _row(run: Run) -> str:
    package = run.package
    tests = f"its `{package.suite}`" if package.suite else "operators"
    numbers = [run.number(each) for each in ("passed", "failed", "not finished", "skipped")]
    launches = sum(each.launches for each in run.outcomes)
    cells = [f"{package.distribution} {package.version}, {tests}", run.count, len(run.outcomes), *numbers, launches]
    return f"| {' | '.join(map(str, cells))} |"


def _failures(run: Run) -> Iterator[str]:
    """Yield a row of a table for each reason: the names of the tests that fail for it."""
    by_reason: dict[str, list[str]] = {}
    for each in run.failures:
        name = each.test.rpartition("::")[2]
        by_reason.setdefault(reason(run.package, each) or f"unknown: {each.message}", []).append(name)
    for why, names in by_reason.items():
        yield f"| {run.package.distribution} | {', '.join(f'`{name}`' for name in names)} | {why} |"


def summary(run: Run) -> str:
    """Return one line about a run, for the terminal."""
    numbers = (f"{run.number(each)} {each}" for each in ("passed", "failed", "not finished", "skipped"))
    return f"{run.package.name} ({run.package.requirement}): {', '.join(numbers)} of {run.count}"
