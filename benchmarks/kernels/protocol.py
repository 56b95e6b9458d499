"""Timing protocol of the kernel benchmarks, and when a ratio counts as faster or slower. Callers pass a stopwatch.

Contestants (the kernel, the copy, the baselines) run alternately in one process, once per round. The first one changes
from round to round. Ratios compare times of one round, so that a drift of clock or temperature affects both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import Tensor

    Output = Tensor | tuple[Tensor, ...]
    Run = Callable[[], object]

LEAST_ROUNDS, MOST_ROUNDS = 7, 200
WINDOW = 5
STEADY = 0.01  # times are steady if the medians of two successive windows differ by at most 1%: half of CLAIM
CLAIM = 0.02  # speedups within this distance of 1 count as even


class Stopwatch(Protocol):
    """Stopwatch: runs a function once and returns the microseconds that it took."""

    def __call__(self, run: Run, /) -> float:
        """Run the function; return its microseconds."""
        ...


@dataclass(frozen=True, slots=True)
class Spread:
    """Quartiles of a set of samples: the median, and the bounds of the middle half."""

    low: float
    middle: float
    high: float


def spread(samples: Sequence[float]) -> Spread:
    """Return the quartiles of two samples or more."""
    low, middle, high = quantiles(samples, n=4, method="inclusive")
    return Spread(low, middle, high)


def speed(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Return the speedup over `theirs`, from ratios of each round: above 1 if our kernel takes less time."""
    return spread([their / our for our, their in zip(ours, theirs, strict=True)])


def verdict(ratio: Spread) -> str:
    """Return `faster`, `slower` or `even`; `even` within 2% of 1, or if the middle half contains 1."""
    if abs(ratio.middle - 1) < CLAIM or ratio.low <= 1 <= ratio.high:
        return "even"
    return "faster" if ratio.middle > 1 else "slower"


def warm(run: Run, stopwatch: Stopwatch, seconds: float) -> float:
    """Repeat `run` until its time is steady, or for `seconds`; return the median of the last `WINDOW` runs in us."""
    before, spent = 0.0, 0.0
    while True:
        window = [stopwatch(run) for _ in range(WINDOW)]
        spent += sum(window)
        now = median(window)
        if abs(now - before) <= STEADY * now or spent >= seconds * 1e6:
            return now
        before = now


def interleave(contestants: Mapping[str, Run], stopwatch: Stopwatch, rounds: int) -> dict[str, list[float]]:
    """Return the microseconds of each contestant, one time per round."""
    names = list(contestants)
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            times[name].append(stopwatch(contestants[name]))
    return times


def measure(contestants: Mapping[str, Run], stopwatch: Stopwatch, seconds: float) -> dict[str, list[float]]:
    """Warm up every contestant, then time them alternately, for as many rounds as fit into the rest of `seconds`."""
    share = seconds / 3 / len(contestants)
    round_us = sum(warm(run, stopwatch, share) for run in contestants.values())
    fitting = int(seconds * 2e6 / 3 / round_us)
    return interleave(contestants, stopwatch, max(LEAST_ROUNDS, min(MOST_ROUNDS, fitting)))


def error_of(actual: Output, expected: Output) -> float:
    """Return the largest difference of result and reference over the largest reference magnitude, for the worst output.

    Infinite if shapes differ, or if one side has a NaN or an infinity and the other side has another value.
    """
    if isinstance(expected, tuple):
        if not isinstance(actual, tuple) or len(actual) != len(expected):
            return float("inf")
        return max(_error(*pair) for pair in zip(actual, expected, strict=True))
    return _error(actual, expected) if not isinstance(actual, tuple) else float("inf")


def _error(actual: Tensor, expected: Tensor) -> float:
    if actual.shape != expected.shape:
        return float("inf")
    ours, true = actual.double(), expected.double()
    same = (ours == true) | (ours.isnan() & true.isnan())
    finite = true.isfinite()
    if not bool((finite & ours.isfinite() | same).all()):
        return float("inf")
    scale = true.where(finite, 0).abs().max().item() or 1.0
    return float((ours - true).where(~same, 0).abs().max().item()) / scale
