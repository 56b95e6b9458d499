"""What the tests of this folder share: the device, and the files that a run leaves in $OUT."""

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

SAVED_EVERY = 5.0  # seconds


@pytest.fixture
def gpu() -> Device:
    """Return device 0, its primary context current in this thread and all of its work done."""
    found = device()
    found.current()
    found.synchronize()
    return found


class Truth(dict[str, "np.ndarray"]):
    """What the hardware gave, by name, and when it was last written to `$OUT/truth_<target>.json`."""

    saved = time.monotonic()

    def save(self) -> None:
        """Write what has come since then."""
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
    """Collect what the hardware gave, for the whole run."""
    found = Truth()
    yield found
    found.save()


@pytest.fixture
def truth(recorded: Truth) -> Iterator[Truth]:
    """Collect what the hardware gave; now and then write it down, for what hangs or dies must not take it along."""
    yield recorded
    if time.monotonic() - recorded.saved > SAVED_EVERY:
        recorded.save()


def note(event: str, test: str, **more: object) -> None:
    """Add a line to `$OUT/outcomes.jsonl`, at once: what hangs or dies must not take along what was known."""
    if "OUT" in os.environ:
        with (Path(os.environ["OUT"]) / "outcomes.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"event": event, "test": test, **more}) + "\n")


def pytest_runtest_logstart(nodeid: str) -> None:
    """Say which test begins."""
    note("begun", nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Say how a test went: its call, or what failed before or after it."""
    if report.when == "call" or report.outcome != "passed":
        note(report.outcome, report.nodeid, seconds=round(report.duration, 3), what=str(report.longreprtext)[-2000:])
