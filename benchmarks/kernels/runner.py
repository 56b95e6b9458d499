"""Find the cases, check each of them, and measure it on the GPU."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING

from benchmarks.kernels import cases, gpu
from benchmarks.kernels.protocol import error_of, measure, speed, spread
from benchmarks.kernels.results import COPY, OURS, Result, Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.kernels.case import Case, Inputs
    from benchmarks.kernels.protocol import Output

# minimum share of a case's time limit for timing, however long inputs, compilation and reference take
LEAST_SHARE = 0.3
PRIMED = 2.0  # runs of a function per timing: an untimed run and a timed one


def subjects(names: Sequence[str] = ()) -> dict[str, list[Case]]:
    """Return the cases by subject; `names` selects subjects, and cases whose names begin with one of them."""
    found: dict[str, list[Case]] = {}
    for module in pkgutil.iter_modules(cases.__path__):
        rows: tuple[Case, ...] = importlib.import_module(f"{cases.__name__}.{module.name}").CASES
        chosen = [row for row in rows if not names or module.name in names or row.name.startswith(tuple(names))]
        if chosen:
            found[module.name] = chosen
    return found


def where(device: gpu.Cuda) -> dict[str, str]:
    """Return the conditions of a measurement: date, command, device, driver, versions."""
    import torch

    if not torch.cuda.is_available():
        sys.exit("the benchmarks of kernels need a GPU that torch can use; without one, --dry-run checks the cases")
    from pyptx_launch import driver

    properties = device.properties()
    installed = {each.metadata["Name"].lower(): each.version for each in metadata.distributions()}
    versions = [f"{name} {installed[name]}" for name in ("torch", "triton") if name in installed]
    return {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "command": " ".join(["python -m benchmarks.kernels", *sys.argv[1:]]),
        "device": f"{properties.name}, {properties.multi_processor_count} SMs",
        "driver": str(driver.version()),
        "versions": ", ".join([*versions, f"CUDA {torch.version.cuda}"]),
    }


def examine_all(
    chosen: Mapping[str, Sequence[Case]], device: gpu.Device, place: dict[str, str], seconds: float
) -> Iterator[Run]:
    """Check and time each case for its share of `seconds`; after each, yield its subject's (case file's) results."""
    ends = time.monotonic() + seconds
    left = sum(map(len, chosen.values()))
    for subject, rows in chosen.items():
        results: list[Result] = []
        for case in rows:
            results.append(examine(case, device, (ends - time.monotonic()) / left))
            left -= 1
            yield Run(subject, place, tuple(results))


def examine(case: Case, device: gpu.Device, seconds: float) -> Result:
    """Check the kernel, then measure it within about `seconds`; a failure is part of the result."""
    blank = Result(case.name, case.bytes, case.flops, case.goal_us, tolerance=case.tolerance)
    if case.capability and not device.runs(case.capability):
        return replace(
            blank, left_out=f"not measured: made for compute capability {'.'.join(map(str, case.capability))}"
        )
    if seconds < 1:
        return replace(blank, left_out="not measured: no time was left")
    begun = time.monotonic()
    try:
        sets = gpu.rotation(device, case)
        expected = case.reference(*sets[0])
        error = error_of(case.kernel(*sets[0]), expected)
        if not error <= case.tolerance:
            return replace(blank, error=error, failure=f"wrong: error {error:.1e}, tolerance {case.tolerance:.1e}")
        contestants, absent = _contestants(case, device, sets, expected)
        del expected
        left = max(seconds - (time.monotonic() - begun), seconds * LEAST_SHARE)
        times = _times(contestants, device, left / PRIMED)
    except Exception as failure:  # noqa: BLE001 - the other cases still run
        return replace(blank, failure=f"failed: {_told(failure)}")
    return replace(
        blank,
        error=error,
        times={name: spread(found) for name, found in times.items()},
        speeds={name: speed(times[OURS], found) for name, found in times.items() if name != OURS},
        absent=absent,
    )


def _contestants(
    case: Case, device: gpu.Device, sets: Sequence[Inputs], expected: Output
) -> tuple[dict[str, gpu.Replay], dict[str, str]]:
    """Return graph replays of the kernel, the copy and the correct baselines; and why other baselines are absent."""
    contestants = {
        OURS: gpu.replay(device, case.kernel, sets),
        COPY: gpu.replay(device, *gpu.copying(device, case.bytes)),
    }
    absent: dict[str, str] = {}
    for name, baseline in case.baselines.items():
        try:
            error = _baseline_error(baseline(*sets[0]), expected)
            if error <= case.tolerance:
                contestants[name] = gpu.replay(device, baseline, sets)
            else:
                absent[name] = f"its error is {error:.1e}"
        except Exception as failure:  # noqa: BLE001 - it is not installed, or does not support such inputs
            absent[name] = _told(failure)
    return contestants, absent


def _baseline_error(actual: Output, expected: Output) -> float:
    """Return the error of a baseline's result, which may lack the last outputs of `expected`."""
    if not isinstance(expected, tuple):
        return error_of(actual, expected)
    given = actual if isinstance(actual, tuple) else (actual,)
    return error_of(given, expected[: len(given)])


def _times(contestants: dict[str, gpu.Replay], device: gpu.Device, seconds: float) -> dict[str, list[float]]:
    """Return the microseconds per call, for each contestant and round."""
    runs = {name: each.run for name, each in contestants.items()}
    found = measure(runs, device.stopwatch, seconds)
    return {name: [each / contestants[name].calls for each in times] for name, times in found.items()}


def _told(failure: Exception) -> str:
    """Return an exception's type and message on one line."""
    first = str(failure).strip().splitlines()[:1]
    return f"{type(failure).__name__}: {(first or [''])[0][:160]}"
