"""Times are taken, compared and reported according to the benchmark protocol, for any stopwatch."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from benchmarks.kernels import report
from benchmarks.kernels.protocol import (
    LEAST_ROUNDS,
    MOST_ROUNDS,
    Spread,
    error_of,
    interleave,
    measure,
    speed,
    spread,
    verdict,
    warm,
)
from benchmarks.kernels.results import COPY, OURS, Result, Run, load, save

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.no_cover


class Clock:
    """Stopwatch that returns the time that a run reports, without reading a clock."""

    def __init__(self) -> None:
        self.order: list[str] = []

    def __call__(self, run: Callable[[], object]) -> float:
        name, microseconds = run()
        self.order.append(name)
        return microseconds


def contestant(name: str, *times: float) -> Callable[[], tuple[str, float]]:
    """Return a run that reports these times in order, then repeats the last."""
    left = list(times)
    return lambda: (name, left.pop(0) if len(left) > 1 else left[0])


def test_a_spread_is_the_quartiles_of_the_samples():
    samples = np.random.default_rng(3).gamma(2.0, 10.0, 101)
    found = spread(samples.tolist())
    assert (found.low, found.middle, found.high) == pytest.approx(np.quantile(samples, [0.25, 0.5, 0.75]))


def test_speeds_compare_the_times_of_one_round_so_that_drift_cancels():
    rng = np.random.default_rng(4)
    drift = np.linspace(1.0, 3.0, 50)
    ours, theirs = 10 * drift, 12 * drift * rng.uniform(0.999, 1.001, 50)
    found = speed(ours.tolist(), theirs.tolist())
    assert found.low >= 1.2 * 0.999
    assert found.high <= 1.2 * 1.001


def test_speeds_of_rounds_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        speed([1.0, 2.0, 3.0], [1.0, 2.0])


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (Spread(1.03, 1.05, 1.07), "faster"),
        (Spread(0.90, 0.94, 0.96), "slower"),
        (Spread(1.005, 1.015, 1.019), "even"),  # the median of the time ratios is within 2 % of 1
        (Spread(0.97, 1.04, 1.10), "even"),  # the interquartile range of the time ratios contains 1
    ],
)
def test_a_difference_is_claimed_only_beyond_two_percent_and_the_spread(ratio, expected):
    assert verdict(ratio) == expected


def test_contestants_run_by_turns_and_each_begins_a_round_in_its_turn():
    clock = Clock()
    found = interleave({name: contestant(name, 1.0, 2.0, 3.0) for name in "abc"}, clock, 3)
    assert clock.order == list("abcbcacab")
    assert found == {name: [1.0, 2.0, 3.0] for name in "abc"}


def test_warming_goes_on_until_two_windows_agree():
    falling = [100.0] * 5 + [80.0] * 5 + [70.0] * 5 + [69.9] * 5
    clock = Clock()
    assert warm(contestant("a", *falling), clock, seconds=1.0) == 69.9
    assert len(clock.order) == 20


def test_warming_ends_with_its_time_even_if_nothing_is_steady():
    clock = Clock()
    growing = [float(2**number) for number in range(60)]
    warm(contestant("a", *growing), clock, seconds=1e-3)  # the time limit of 1 ms ends in the tenth run
    assert len(clock.order) == 10


def test_a_measurement_fills_its_time_with_rounds_within_limits():
    def rounds(microseconds: float, seconds: float) -> int:
        runs = {name: contestant(name, microseconds) for name in (OURS, COPY)}
        return len(measure(runs, Clock(), seconds)[OURS])

    assert rounds(1e3, 0.06) == 20  # time for rounds: 40 ms (two thirds of 60 ms); a round of two runs takes 2 ms
    assert rounds(1e6, 0.06) == LEAST_ROUNDS
    assert rounds(1.0, 0.06) == MOST_ROUNDS


@pytest.mark.torch
def test_errors_are_relative_to_the_largest_magnitude_and_of_the_worst_output():
    import torch

    true = torch.tensor([[1.0, -8.0], [0.5, 4.0]], dtype=torch.float64)
    near = (true + torch.tensor([[0.0, 0.2], [-0.4, 0.0]])).float()
    assert error_of(near, true) == pytest.approx(0.05)
    assert error_of((true, near), (true, true)) == pytest.approx(0.05)
    assert error_of(true.bfloat16(), true) == 0


@pytest.mark.torch
def test_what_differs_in_kind_is_infinitely_wrong():
    import torch

    nan, infinite = math.nan, math.inf
    row = torch.tensor
    assert error_of(row([1.0, nan]), row([1.0, 2.0])) == infinite
    assert error_of(row([1.0, 2.0]), row([1.0, infinite])) == infinite
    assert error_of(row([1.0, -infinite]), row([1.0, infinite])) == infinite
    assert error_of(row([1.0]), row([1.0, 2.0])) == infinite
    assert error_of(row([1.0]), (row([1.0]), row([1.0]))) == infinite
    assert error_of((row([1.0]), row([1.0])), row([1.0])) == infinite
    assert error_of(row([3.0, nan, infinite]), row([4.0, nan, infinite])) == 0.25


GOOD = Result(
    "gemm 4096",
    bytes=100_000_000,
    flops=2 * 4096**3,
    goal_us=200.0,
    error=1.5e-3,
    tolerance=1e-2,
    times={OURS: Spread(190.0, 195.0, 201.0), COPY: Spread(25.0, 25.0, 26.0), "cuBLAS": Spread(200.0, 205.0, 210.0)},
    speeds={COPY: Spread(0.125, 0.128, 0.13), "cuBLAS": Spread(1.04, 1.05, 1.06)},
    absent={"triton": "ModuleNotFoundError: No module named 'triton'"},
)
LATE = Result("gemm 128", bytes=1, flops=1, goal_us=None, left_out="not measured: no time was left")
BAD = Result("gemm 64", bytes=1, flops=1, goal_us=None, failure="wrong: error 1.0e+00, tolerance 1.0e-02")
PLACE = {"date": "2026-01-02T03:04+00:00", "command": "python -m benchmarks.kernels", "device": "X1, 3 SMs"}


def test_runs_are_read_as_they_were_written(tmp_path: Path):
    runs = [Run("a_gemm", PLACE, (GOOD, BAD, LATE)), Run("b_norms", PLACE, (replace(GOOD, case="rms"),))]
    for run in reversed(runs):
        save(run, tmp_path)
    assert load(tmp_path) == runs


def test_the_table_says_what_was_measured_what_failed_and_where():
    text = report.table([Run("a_gemm", PLACE, (GOOD, BAD, LATE))])
    for value in PLACE.values():
        assert value in text
    good, bad, late = (line for line in text.splitlines() if line.startswith("| gemm"))
    cells = [cell.strip() for cell in good.split("|")[1:-1]]
    assert cells == [
        "gemm 4096",
        "195.0 [190.0–201.0]",
        "0.51",
        "705",
        "0.13 [0.12–0.13]",
        "cuBLAS 1.05 [1.04–1.06] faster; triton absent: ModuleNotFoundError: No module named 'triton'",
        "200 met",
        "1.5e-03",
    ]
    assert "**wrong: error 1.0e+00, tolerance 1.0e-02**" in bad
    assert "| not measured: no time was left |" in late
    assert good.count("|") == bad.count("|") == late.count("|") == len(report.HEAD) + 1


def test_the_plot_is_a_picture(tmp_path: Path):
    save(Run("a_gemm", PLACE, (GOOD, BAD)), tmp_path)
    assert report.write(tmp_path) == (tmp_path / "kernels.md").read_text(encoding="utf-8")
    assert (tmp_path / "kernels.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
