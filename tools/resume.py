"""pytest plugin: an interrupted session of an hour continues (`pytest -p tools.resume --resume FILE`).

FILE lists the tests that passed. They are deselected as long as the sources that they run, Python and the installed
distributions are unchanged; every other test runs again.
"""

from __future__ import annotations

import hashlib
import json
import sys
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT: Final = Path(__file__).parents[1]
COMMON: Final = ("conftest.py", "tools/shares.py", "examples", "corpus", "packages/*/src")
DOOR: Final = "virtual"  # no other package imports pyptx-virtual


class Resumed:
    """Tests that passed, by node id, with the hash of what they depend on. `file`: None in a process of `pytest -n`."""

    def __init__(self, file: Path | None, known: dict[str, str]) -> None:
        """Start with the tests that passed in earlier sessions."""
        self.file = file
        self.known = known
        self._passed = dict(known)

    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401 - type of xdist
        """Pass the earlier tests to a process of `pytest -n`: all processes must select the same tests."""
        node.workerinput["resumed"] = self.known

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect the tests that passed with the present sources."""
        kept: list[pytest.Item] = []
        done: list[pytest.Item] = []
        for item in items:
            (done if self.known.get(item.nodeid) == key_of(item.nodeid) else kept).append(item)
        if done:
            config.hook.pytest_deselected(items=done)
            items[:] = kept

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a test that passed; forget one that failed."""
        if self.file is None:
            return
        if report.failed:
            self._passed.pop(report.nodeid, None)
        elif report.when == "call" and report.passed:
            self._passed[report.nodeid] = key_of(report.nodeid)
            self.file.write_text(json.dumps(self._passed, indent=1), encoding="utf-8")

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Succeed if every test passed earlier."""
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self._earlier():
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the number of tests that were not repeated."""
        terminalreporter.write_line(f"{self._earlier()} tests passed earlier, with the same sources")

    def _earlier(self) -> int:
        return sum(key == key_of(nodeid) for nodeid, key in self.known.items())


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--resume`."""
    parser.addoption("--resume", type=Path, metavar="FILE", help="do not repeat tests that FILE lists as passed")


def pytest_configure(config: pytest.Config) -> None:
    """Read the tests that passed; a process of `pytest -n` gets them from the main process, which alone writes."""
    file: Path | None = config.getoption("--resume")
    if file is None:
        return
    given: dict[str, Any] | None = getattr(config, "workerinput", None)
    if given is not None:
        resumed = Resumed(None, given["resumed"])
    else:
        resumed = Resumed(file, json.loads(file.read_text(encoding="utf-8")) if file.exists() else {})
    config.pluginmanager.register(resumed, "resumed")


def key_of(nodeid: str) -> str:
    """Return the hash of what a test depends on: packages, examples, corpus, tests in its folder, the environment."""
    top, name, *_ = nodeid.partition("::")[0].split("/")
    own = "tests" if top == "tests" else f"{top}/{name}/tests"
    without_door = name == "mutations" or (top == "packages" and name != f"pyptx-{DOOR}")
    return hashed((*COMMON, own), with_door=not without_door)


@cache
def hashed(patterns: tuple[str, ...], *, with_door: bool) -> str:
    """Return the hash of the files in folders, and of the environment; files of `DOOR` only if asked for."""
    found = hashlib.sha256("\n".join((sys.version, *_installed())).encode())
    for path in sorted({*_files(patterns)}):
        place = path.relative_to(ROOT).as_posix()
        if with_door or {DOOR, f"pyptx-{DOOR}"}.isdisjoint(place.split("/")):
            found.update(f"\0{place}\0".encode() + path.read_bytes())
    return found.hexdigest()


def _files(patterns: Iterable[str]) -> Iterable[Path]:
    for root in (each for pattern in patterns for each in ROOT.glob(pattern)):
        inside = [root] if root.is_file() else root.rglob("*")
        yield from (path for path in inside if path.is_file() and path.suffix != ".pyc")


def _installed() -> list[str]:
    return sorted({f"{each.name}=={each.version}" for each in distributions()})
