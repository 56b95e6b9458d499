"""Timing functions of the benchmarks.

pyperf and pytest-benchmark measure one function after the other. Functions to be compared with each other are measured
alternately here, because the load of a machine changes in between.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def times(
    *runs: Callable[[], object],
    repeat: int,
    clock: Callable[[], float] = time.process_time,
    before: Callable[[], object] = lambda: None,
) -> list[list[float]]:
    """Return the seconds of each of `runs` in `repeat` rounds, each of which makes every run once.

    `clock` may be `time.perf_counter`. `before` is called untimed before each run, and results are freed untimed.
    """
    found: list[list[float]] = [[] for _ in runs]
    for _ in range(repeat):
        for seconds, run in zip(found, runs, strict=True):
            before()
            start = clock()
            made = run()
            seconds.append(clock() - start)
            del made
    return found


def best(run: Callable[[], object], repeat: int, before: Callable[[], object] = lambda: None) -> float:
    """Return the CPU seconds of the fastest of `repeat` runs of `run`."""
    return min(times(run, repeat=repeat, before=before)[0])
