"""Dry run of the benchmarks without a GPU: every case with small inputs, and our kernels on the simulator.

It finds errors that a GPU would show only after minutes: a case that names a missing function, a baseline with wrong
arguments, a reference with a wrong shape. Nothing is timed, and no result has a time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.kernels.results import Result
from benchmarks.kernels.runner import examine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from benchmarks.kernels.case import Case

NO_LIMIT = 1e9  # time limit of a case in seconds, which no dry run reaches
TICK_US = 1.0  # microseconds that `DryRun.stopwatch` returns for every run


class DryRun:
    """The CPU as a device without a clock: `stopwatch` and `capture` do not repeat calls that the runner has made."""

    name = "cpu"

    def runs(self, _capability: tuple[int, int], /) -> bool:
        """Return True: the simulator runs all kernels."""
        return True

    def cache_bytes(self) -> int:
        """Return an L2 size of 0, with which `Rotation` has two sets of inputs, the minimum."""
        return 0

    def stopwatch(self, _run: Callable[[], object], /) -> float:
        """Return `TICK_US` for every run, without running it."""
        return TICK_US

    def capture(self, calls: Sequence[Callable[[], object]], held: int) -> Callable[[], object]:
        """Return one of the calls, not a replay of all: the runner has made all calls before, and nothing is timed."""
        return calls[-held]


def rehearse(case: Case) -> Result:
    """Check a case's kernel and baselines on small inputs, as the benchmark does; the result has no times."""
    if case.small is None:
        return Result(case.name, 0, 0, None, failure="has no small inputs")
    found = examine(replace(case, make=case.small, bytes=8), DryRun(), NO_LIMIT)
    return replace(found, times={}, speeds={})


def rehearse_all(chosen: Mapping[str, Sequence[Case]]) -> Iterator[tuple[Result, str]]:
    """Check all cases; yield each result, and the line that reports it."""
    for cases in chosen.values():
        for case in cases:
            result = rehearse(case)
            yield result, told(case, result)


def told(case: Case, result: Result) -> str:
    """Return the report of a case: its error, its correct baselines, and why each other baseline is absent."""
    if result.failure:
        return f"{case.name}: {result.failure}"
    present = [name for name in case.baselines if name not in result.absent]
    absent = [f"{name} absent: {reason}" for name, reason in result.absent.items()]
    baselines = "; ".join([*([f"correct: {', '.join(present)}"] if present else []), *absent]) or "no baselines"
    return f"{case.name}: error {result.error:.1e} of {case.tolerance:.1e}; {baselines}"
