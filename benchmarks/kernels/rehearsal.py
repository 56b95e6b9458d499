"""The benchmarks without a GPU: every row at its smallest, on the CPU, where the simulator runs our kernels.

What a GPU would only show after minutes is shown here: a row that names nothing, a rival that takes other arguments, a
reference of another shape. Nothing is timed, and no result has a time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.kernels.results import Result
from benchmarks.kernels.runner import examine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from benchmarks.kernels.case import Case

NO_LIMIT = 1e9  # seconds of a case
TICK_US = 1.0  # whatever is run takes so long


class Rehearsal:
    """A device that is the CPU, without a clock: what is captured or timed has been run before, and isn't again."""

    name = "cpu"

    def runs(self, _capability: tuple[int, int], /) -> bool:
        """Return True: the simulator runs all."""
        return True

    def cache_bytes(self) -> int:
        """Return 0: a rotation has two sets of inputs, which is the least."""
        return 0

    def stopwatch(self, _run: Callable[[], object], /) -> float:
        """Return the same for everything."""
        return TICK_US

    def capture(self, calls: Sequence[Callable[[], object]], held: int) -> Callable[[], object]:
        """Return the last call; the runner has made each of them."""
        return calls[-held]


def rehearse(case: Case) -> Result:
    """Check a row as the benchmark does, its kernel and its rivals, on small inputs; the result has no times."""
    if case.small is None:
        return Result(case.name, 0, 0, None, failure="has no small inputs")
    found = examine(replace(case, make=case.small, bytes=8), Rehearsal(), NO_LIMIT)
    return replace(found, times={}, speeds={})


def rehearse_all(chosen: Mapping[str, Sequence[Case]]) -> Iterator[tuple[Result, str]]:
    """Rehearse case after case; yield each result and the line that tells it."""
    for cases in chosen.values():
        for case in cases:
            result = rehearse(case)
            yield result, told(case, result)


def told(case: Case, result: Result) -> str:
    """Say what became of a row: its error, who of its rivals was right too, and why the others were not."""
    if result.failure:
        return f"{case.name}: {result.failure}"
    present = [name for name in case.rivals if name not in result.absent]
    absent = [f"{name} absent: {reason}" for name, reason in result.absent.items()]
    rivals = "; ".join([*([f"right too: {', '.join(present)}"] if present else []), *absent]) or "no rivals"
    return f"{case.name}: error {result.error:.1e} of {case.tolerance:.1e}; {rivals}"
