"""pytest plugin: keeps the outcome of every test in a file, so that a run of many hours continues where it ended.

    pytest -p tests.virtual.packages.outcomes --outcomes FILE --minutes 60 …

Of each test function, the first case runs first, then the second one of each, and so on: an interrupted run has seen
all functions. Tests with a kept outcome are deselected. After the given time, no further test starts.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

# Attributes that `pytest --pyptx` gives to the reports of a test's phases: its simulation exceeded its time; its
# launches and their findings.
_UNFINISHED: Final = "pyptx_unfinished"
_SEEN: Final = "pyptx"


class Outcomes:
    """Kept outcomes: `known` are node ids, `file` has a JSON object per line; None in a process of `pytest -n`."""

    def __init__(self, file: Path | None, known: list[str], minutes: float | None) -> None:
        """Continue with the tests that are not known."""
        self.file = file
        self.known = known
        self._end = None if minutes is None else time.monotonic() + 60 * minutes
        self._rows: dict[str, dict[str, Any]] = {}

    def pytest_configure_node(self, node: Any) -> None:
        """Pass the known tests to a process of `pytest -n`: all processes must select the same tests."""
        node.workerinput["outcomes"] = self.known

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect the known tests, and sort the others by their numbers among the cases of their functions."""
        count = Counter[str]()
        order: dict[str, int] = {}
        for item in items:
            function = item.nodeid.partition("[")[0]
            order[item.nodeid] = count[function]
            count[function] += 1
        known = set(self.known)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in known])
        items[:] = sorted((item for item in items if item.nodeid not in known), key=lambda item: order[item.nodeid])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> bool | None:
        """Run no further test after the end of the time."""
        return True if self._end is not None and time.monotonic() > self._end else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase to the outcome of its test, which is complete after the teardown."""
        if self.file is None:
            return
        row = self._rows.setdefault(
            report.nodeid, {"test": report.nodeid, "outcome": "passed", "launches": 0, "seconds": 0.0, "errors": []}
        )
        row["seconds"] = round(row["seconds"] + report.duration, 1)
        self._add_findings(row, getattr(report, _SEEN, None))
        if getattr(report, _UNFINISHED, False):
            row["outcome"] = "not finished"
        elif not report.passed and row["outcome"] == "passed":
            row["outcome"], row["message"] = report.outcome, _message(report)
        if report.when == "teardown":
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(self._rows.pop(report.nodeid)) + "\n")

    def _add_findings(self, row: dict[str, Any], seen: dict[str, Any] | None) -> None:
        if seen is None:
            return
        row["launches"] += sum(kernel["launches"] for kernel in seen["report"]["details"]["kernels"])
        problems = (each for each in seen["report"]["problems"] if each["severity"] == "error")
        row["errors"] += [f"{each['rule']} in {each['input']}" for each in problems if not each.get("suppressed")]


def _message(report: pytest.TestReport) -> str:
    """Return the line of a failed or skipped test that says most."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    lines = [line for line in report.longreprtext.splitlines() if line.strip() and not line.startswith("[gw")]
    raised = [line[1:].strip() for line in lines if line.startswith("E ")]
    return (raised or lines or [""])[0][:500]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    parser.addoption("--outcomes", type=Path, metavar="FILE", help="keep outcomes in FILE, and do not repeat them")
    parser.addoption("--minutes", type=float, metavar="N", help="start no test after N minutes")


def pytest_configure(config: pytest.Config) -> None:
    """Read the kept outcomes; a process of `pytest -n` gets their node ids from the main process."""
    file: Path | None = config.getoption("--outcomes")
    if file is None:
        return
    minutes: float | None = config.getoption("--minutes")
    given: dict[str, Any] | None = getattr(config, "workerinput", None)
    if given is None:
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        config.pluginmanager.register(Outcomes(file, [json.loads(each)["test"] for each in lines], minutes))
    else:
        config.pluginmanager.register(Outcomes(None, given["outcomes"], minutes))
