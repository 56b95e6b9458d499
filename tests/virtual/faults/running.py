"""Runs of the injected faults and of the unedited programs by one `pytest --pyptx`."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from ..running import variables
from ..table import PROGRAMS_FOLDER
from .table import FAULTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .table import Fault

LEAST: Final = 0.95  # share of the faults that must be found
SECONDS: Final = 3600
BUDGET: Final = 60  # seconds of simulation for one size of a program
SCHEDULES: Final = 4
_TEST: Final = """

def test_size():
    torch.manual_seed(0)
    check(*SIZES[{size}])
"""


@dataclass(frozen=True, slots=True)
class FoundError:
    """An error of a program: its rule, the text of its first line, and its message."""

    rule: str
    line: str
    message: str


def errors_of(texts: dict[str, str], release: str, environments: Path) -> dict[str, list[FoundError]]:
    """Run tests, given as texts by name, with a release of Triton; return the errors of each, by name."""
    with TemporaryDirectory() as place:
        folder, report = Path(place, "tests"), Path(place, "report.json")
        folder.mkdir()
        for name, text in texts.items():
            Path(folder, f"test_{name.replace('-', '_')}.py").write_text(text, encoding="utf-8")
        plugins = ("-p", "pyptx_virtual.pytest_plugin", "-p", "no:cacheprovider", "--import-mode=importlib")
        options = ("--pyptx", f"--pyptx-schedules={SCHEDULES}", f"--pyptx-budget={BUDGET}")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *plugins, *options, f"--pyptx-output={report}", "--tb=line", folder],
            env=variables(release, environments),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if not report.exists():
            raise RuntimeError(f"pytest has written no report:\n{(done.stdout + done.stderr)[-2000:]}")
        return _by_name(texts, folder, report.read_text(encoding="utf-8").splitlines())


def _by_name(texts: Iterable[str], folder: Path, lines: Iterable[str]) -> dict[str, list[FoundError]]:
    found: dict[str, list[FoundError]] = {name: [] for name in texts}
    for report in map(json.loads, lines):
        (test,) = report["inputs"]
        name = Path(test.partition("::")[0]).stem.removeprefix("test_").replace("_", "-")
        errors = (problem for problem in report["problems"] if problem["severity"] == "error")
        found[name] += [FoundError(each["rule"], _line_of(each, folder), each["message"]) for each in errors]
    return found


def _line_of(problem: dict[str, Any], folder: Path) -> str:
    """Return the text of the first line of a problem of a test in `folder`; empty if it has none."""
    position = next(iter(problem["positions"]), None)
    if position is None:
        return ""
    number: int = position["line"]
    return Path(folder, position["file"]).read_text(encoding="utf-8").splitlines()[number - 1].strip()


def verdict(fault: Fault, errors: Sequence[FoundError]) -> str:
    """Return `found` if the first error of a program with a fault has an expected rule and line, else the reason."""
    if not errors:
        return "no error"
    first = errors[0]
    if first.rule not in fault.rules:
        return f"{first.rule} at {first.line!r}: {first.message}"
    return "found" if first.line in fault.lines else f"{first.rule} at another line, {first.line!r}"


def report_faults(release: str, only: Sequence[str], environments: Path, say: Callable[[str], None]) -> bool:
    """Run the faults and the programs without them, and print the verdicts; return whether enough faults are found.

    With `only`, the faults with one of these words in their names or programs.
    """
    faults = [each for each in FAULTS if not only or any(word in each.name or word in each.program for word in only)]
    twins = sorted({(each.program, each.size % 3) for each in faults})
    correct = {
        f"{name.replace('_', '-')}-{size}": (PROGRAMS_FOLDER / f"{name}.py").read_text(encoding="utf-8")
        + _TEST.format(size=size)
        for name, size in twins
    }
    injected = {each.name: each.text + _TEST.format(size=each.size) for each in faults}
    errors = errors_of(correct | injected, release, environments)
    passed = True
    for name in correct:
        if errors[name]:
            say(f"ERROR    {name} without a fault: {errors[name][0]}")
            passed = False
    verdicts = {each.name: verdict(each, errors[each.name]) for each in faults}
    for each in faults:
        state = "found" if verdicts[each.name] == "found" else "inherent" if each.inherent else "MISSED"
        say(f"{state:8} {each.name} ({each.program}): {each.inherent or verdicts[each.name]}")
    count = sum(each == "found" for each in verdicts.values())
    say(f"{count} of {len(faults)} injected faults found at their lines")
    return passed and count >= LEAST * len(faults)
