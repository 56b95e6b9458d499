"""How kernels are timed and judged. Nothing here knows a GPU: a stopwatch is handed in.

Contestants run by turns in one process, a round each; who begins moves on from round to round. What is compared are
the times of one round, so that a clock or a temperature that drifts moves both sides of a ratio.
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
STEADY = 0.01  # the medians of two windows differ by less: half of what counts as a difference
CLAIM = 0.02  # ratios nearer to one are no claim


class Stopwatch(Protocol):
    """Runs something once and tells how many microseconds it took."""

    def __call__(self, run: Run, /) -> float:
        """Return the microseconds."""
        ...


@dataclass(frozen=True, slots=True)
class Spread:
    """The quartiles of some samples: the median, and the middle half of them."""

    low: float
    middle: float
    high: float


def spread(samples: Sequence[float]) -> Spread:
    """Return the quartiles of two samples or more."""
    low, middle, high = quantiles(samples, n=4, method="inclusive")
    return Spread(low, middle, high)


def speed(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Return how many times as fast ours is, round by round: above one where ours takes less time."""
    return spread([their / our for our, their in zip(ours, theirs, strict=True)])


def verdict(ratio: Spread) -> str:
    """Return `faster`, `slower` or `even`: no claim within 2%, nor where the middle half holds one."""
    if abs(ratio.middle - 1) < CLAIM or ratio.low <= 1 <= ratio.high:
        return "even"
    return "faster" if ratio.middle > 1 else "slower"


def warm(run: Run, stopwatch: Stopwatch, seconds: float) -> float:
    """Run until the time is steady, or for `seconds`; return the median of the last window, in microseconds."""
    before, spent = 0.0, 0.0
    while True:
        window = [stopwatch(run) for _ in range(WINDOW)]
        spent += sum(window)
        now = median(window)
        if abs(now - before) <= STEADY * now or spent >= seconds * 1e6:
            return now
        before = now


def interleave(contestants: Mapping[str, Run], stopwatch: Stopwatch, rounds: int) -> dict[str, list[float]]:
    """Return the times of each contestant, one of each round."""
    names = list(contestants)
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            times[name].append(stopwatch(contestants[name]))
    return times


def measure(contestants: Mapping[str, Run], stopwatch: Stopwatch, seconds: float) -> dict[str, list[float]]:
    """Warm every contestant, then time them by turns, for so many rounds as go into the rest of `seconds`."""
    share = seconds / 3 / len(contestants)
    round_us = sum(warm(run, stopwatch, share) for run in contestants.values())
    fitting = int(seconds * 2e6 / 3 / round_us)
    return interleave(contestants, stopwatch, max(LEAST_ROUNDS, min(MOST_ROUNDS, fitting)))


def error_of(actual: Output, expected: Output) -> float:
    """Return the largest difference over the largest magnitude of what is expected, of the worst output.

    Infinite where shapes differ, or where one side has a NaN or an infinity and the other something else.
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
