"""Tests on the virtual GPU: each test gets the findings of its launches, and fails with their errors."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pytest

from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.reports.json import as_object
from pyptx_ir.suppressions import Suppressions
from pyptx_ir.suppressions.command import DEFAULT, suppress
from pyptx_virtual.activation import activate
from pyptx_virtual.options import memory_size, schedules
from pyptx_virtual.session import Session

if TYPE_CHECKING:
    import argparse
    from collections.abc import Generator, Iterator

    from pyptx_sim.context import DeviceLaunch
    from pyptx_virtual.device import VirtualDevice

_SEEN: Final = "pyptx"
"""Attribute of a test's report with what its launches have shown; pytest-xdist sends it to the main process."""
_UNFINISHED: Final = "pyptx_unfinished"


class NotFinished(pytest.skip.Exception):  # type: ignore[name-defined, misc]  # an attribute of a function
    """The test's simulation has exceeded its time: it has neither passed nor failed."""


class FoundErrors(pytest.fail.Exception):  # type: ignore[name-defined, misc]  # the same
    """The test's launches have errors; the message is their text."""


@dataclass(slots=True)
class _Totals:
    """What all tests of a run have shown; `problems` are JSON objects."""

    launches: int = 0
    instructions: int = 0
    seconds: float = 0.0
    kernels: Counter[str] = field(default_factory=Counter[str])
    reports: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    used: set[int] = field(default_factory=set[int])
    tried: set[int] = field(default_factory=set[int])

    def add(self, seen: dict[str, Any]) -> None:
        """Add what one phase of a test has shown."""
        self.used.update(seen["used"])
        self.tried.update(seen["tried"])
        self.reports.append(seen["report"])
        for kernel in seen["report"]["details"]["kernels"]:
            self.launches += kernel["launches"]
            self.instructions += kernel["instructions"]
            self.seconds += kernel["seconds"]
        errors = (each for each in seen["report"]["problems"] if each["severity"] == "error")
        self.kernels.update({each["input"] for each in errors if not each.get("suppressed")})


class CheckedTests:
    """Hooks of pytest that give each test a session of the virtual device."""

    def __init__(self, device: VirtualDevice, options: argparse.Namespace, accepted: Suppressions | None) -> None:
        self._device, self._options, self._accepted = device, options, accepted
        self._session = Session(suppressions=accepted)
        self._totals = _Totals()
        self._deadline: float | None = None
        device.when_complete.append(self._add)
        device.context.options["progress"] = self._check_time

    @classmethod
    def activated(cls, options: argparse.Namespace) -> CheckedTests:
        """Activate the virtual device with pytest's options. Raises PyptxError, OSError and ArgumentTypeError."""
        path = options.pyptx_suppressions
        missing = options.pyptx_update and not Path(path or DEFAULT).exists()
        accepted = None if path is None or missing else Suppressions.load(path)
        device = activate(
            options.pyptx_target,
            memory_bytes=None if options.pyptx_memory is None else memory_size(options.pyptx_memory),
            shadow_gpu=options.pyptx_shadow_gpu,
            schedules=schedules(max(options.pyptx_schedules, 1)),
        )
        return cls(device, options, accepted)

    # One test ----------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Run a test with the options of its mark."""
        mark = item.get_closest_marker("pyptx")
        said: dict[str, Any] = {} if mark is None else dict(mark.kwargs)
        context, budget = self._device.context, said.get("budget", self._options.pyptx_budget)
        before = context.schedules, context.options.get("checks", "all")
        if said.get("schedules") is not None:
            context.schedules = schedules(said["schedules"])
        context.options["checks"] = said.get("checks") or before[1]
        self._deadline = None if budget is None else time.monotonic() + budget
        try:
            return (yield)
        finally:
            self._deadline = None
            context.schedules, context.options["checks"] = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, None, None]:
        """Give the launches of a fixture's setup to the test that needs it first."""
        self._session = Session(self._device.context.options.get("checks", "all"), self._accepted)
        yield
        self._finish(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Complete the launches of a test, and fail it if they have errors."""
        result = yield
        self._finish(item)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        """Complete the launches of a teardown, and fail it if they have errors."""
        yield
        self._finish(item)

    def _finish(self, item: pytest.Item) -> None:
        self._device.context.synchronize()
        verdict = self._session.verdict()
        mark = item.get_closest_marker("pyptx")
        allowed: frozenset[str] = frozenset(() if mark is None else mark.kwargs.get("allow", ()))
        failing = [
            finding
            for findings in verdict.kept.values()
            for finding in findings
            if finding.severity == "error" and finding.rule not in allowed
        ]
        if failing and not self._options.pyptx_update:
            raise FoundErrors("\n\n".join(map(str, failing)), pytrace=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add to a report what the launches of this phase have shown."""
        report = yield
        verdict = self._session.verdict()
        if verdict.launches:
            found = verdict.report(item.nodeid, int(report.failed))
            seen: dict[str, object] = {"report": as_object(found), "used": [], "tried": []}
            if self._accepted is not None:
                seen |= {"used": sorted(self._accepted.used), "tried": sorted(self._accepted.tried)}
            setattr(report, _SEEN, seen)
            if report.failed and call.excinfo is not None and not call.excinfo.errisinstance(FoundErrors):
                report.sections.append(("pyptx", verdict.text(self._device.name)))
        self._session = Session(self._session.checks, self._accepted)
        if call.excinfo is not None and call.excinfo.errisinstance(NotFinished):
            setattr(report, _UNFINISHED, True)
        return report

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        """Show a test whose simulation was ended as a state of its own."""
        if getattr(report, _UNFINISHED, False):
            return "not finished", "n", ("NOT FINISHED", {"yellow": True})
        return None

    def _add(self, launch: DeviceLaunch) -> None:
        self._session.add(launch)

    def _check_time(self, _done: int, _total: int) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise NotFinished("the simulation exceeds the time budget of the test")

    # The run -----------------------------------------------------------------------------------------

    def pytest_report_header(self) -> str:
        """State in the header that the GPU is simulated."""
        return f"pyptx: {self._device.name}, {counted(len(self._device.context.schedules), 'schedule')} per launch"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect what the tests have shown, those of pytest-xdist's workers too."""
        seen = getattr(report, _SEEN, None)
        if seen is not None:
            self._totals.add(seen)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run that launched nothing, if that is required; write the report and the suppressions."""
        if hasattr(session.config, "workerinput"):  # a worker of pytest-xdist
            return
        if self._options.pyptx_require_launches and not self._totals.launches and not session.exitstatus:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self._options.pyptx_output is not None:
            lines = "".join(f"{json.dumps(each)}\n" for each in self._totals.reports)
            Path(self._options.pyptx_output).write_text(lines, encoding="utf-8")
        if self._options.pyptx_update:
            self._update()

    def _update(self) -> None:
        with TemporaryDirectory() as folder:
            lines = Path(folder, "reports.json")
            lines.write_text("".join(f"{json.dumps(each)}\n" for each in self._totals.reports), encoding="utf-8")
            if self._totals.reports:
                suppress([str(lines), "--output", self._options.pyptx_suppressions or DEFAULT])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the number of launches and the kernels with errors."""
        for line in self._lines():
            terminalreporter.write_line(line)

    def _lines(self) -> Iterator[str]:
        totals = self._totals
        extent = f"{counted(totals.instructions, 'instruction')} in {totals.seconds:.1f} s"
        yield f"pyptx: {totals.launches} launches on {self._device.name}: {extent}"
        yield from (f"  {kernel}: errors in {counted(count, 'test')}" for kernel, count in totals.kernels.most_common())
        if not totals.launches and self._options.pyptx_require_launches:
            yield "  no test launched a kernel (--pyptx-require-launches)"
        if self._accepted is not None:
            known = replace(self._accepted, used=totals.used, tried=totals.tried)
            yield from (f"  {each.positions[0]}: {each}" for each in known.unused())
