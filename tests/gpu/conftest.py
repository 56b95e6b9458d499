"""Shared fixtures: the device, and the files that a run writes to $OUT."""

from __future__ import annotations

import ctypes
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from . import golden
from .driver import Device, device

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

SAVED_EVERY = 5.0  # minimum seconds between two writes of hardware results


@pytest.fixture
def gpu() -> Device:
    """Return device 0, idle, with its primary context current in this thread."""
    found = device()
    found.current()
    found.synchronize()
    return found


class Truth(dict[str, "np.ndarray"]):
    """Hardware results by name, and the time of their last write to `$OUT/truth_<target>.json`."""

    saved = time.monotonic()

    def save(self) -> None:
        """Append the results collected since the last save to `$OUT/truth_<target>.json`, and clear them."""
        self.saved = time.monotonic()
        if self and "OUT" in os.environ:
            found, name, version = device(), ctypes.create_string_buffer(256), ctypes.c_int()
            found.call("cuDeviceGetName", name, 256, 0)
            found.call("cuDriverGetVersion", ctypes.byref(version))
            where = {"device": name.value.decode(), "driver": version.value, "target": found.target}
            where["date"] = time.strftime("%Y-%m-%d", time.gmtime())
            golden.add(Path(os.environ["OUT"]) / f"truth_{found.target}.json", where, self)
            self.clear()


@pytest.fixture(scope="session")
def recorded() -> Iterator[Truth]:
    """Collect hardware results of the whole test session."""
    found = Truth()
    yield found
    found.save()


@pytest.fixture
def truth(recorded: Truth) -> Iterator[Truth]:
    """Collect hardware results of a test; save them regularly, so that a later hang or crash does not lose them."""
    yield recorded
    if time.monotonic() - recorded.saved > SAVED_EVERY:
        recorded.save()


def note(event: str, test: str, **more: object) -> None:
    """Append a JSON line to `$OUT/outcomes.jsonl` immediately, so that a later hang or crash does not lose the line."""
    if "OUT" in os.environ:
        with (Path(os.environ["OUT"]) / "outcomes.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"event": event, "test": test, **more}) + "\n")


def pytest_runtest_logstart(nodeid: str) -> None:
    """Record the start of a test in `outcomes.jsonl`."""
    note("begun", nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record the outcome of a test: of its call, or of a failed setup or teardown."""
    if report.when == "call" or report.outcome != "passed":
        note(report.outcome, report.nodeid, seconds=round(report.duration, 3), what=str(report.longreprtext)[-2000:])
