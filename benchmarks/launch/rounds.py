"""Timing on the host: calls that alternate in rounds, as rows of a table."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from statistics import median, quantiles
from typing import Any

Calls = dict[str, Callable[[], object]]


def measure(calls: Calls, wait: Callable[[], object], number: int, repeat: int) -> list[dict[str, Any]]:
    """Time each call on the host in rounds, alternately; between rounds `wait` empties the device's queue, untimed."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for function in calls.values():
        timeit.timeit(function, number=number)
    for _ in range(repeat):
        for name, function in calls.items():
            wait()
            times[name].append(timeit.timeit(function, number=number) / number * 1e6)
    wait()
    return [row(name, found) for name, found in times.items()]


def row(name: str, times: list[float]) -> dict[str, Any]:
    """Return a table row of samples: the best, the median and the bounds of the middle half."""
    low, _, high = quantiles(times, n=4)
    return {
        "name": name, "best": min(times), "median": median(times), "low": low, "high": high, "rounds": len(times)
    }  # fmt: skip
