"""Runs of packages' tests by `pytest --pyptx`; outcomes are kept until the simulator, the door or the tests change."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..running import variables
from ..table import ROOT
from .table import FAILURES, TRITON

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from .table import Package

BUDGET: Final = 60  # seconds of simulation for each test
MEMORY: Final = "6G"  # of the device: two processes run, and the simulator's own tables take memory, too
_OURS: Final = ("ir", "sim", "arch-hopper", "arch-blackwell", "virtual")
_ENDED: Final = ("passed", "failed")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one test: `passed`, `failed`, `not finished` or `skipped`, with the errors of its launches."""

    test: str
    outcome: str
    launches: int
    seconds: float
    errors: tuple[str, ...]
    message: str = ""

    @classmethod
    def read(cls, line: str) -> Outcome:
        """Return the outcome in a line of JSON, as `outcomes.py` writes it."""
        row: dict[str, Any] = json.loads(line)
        return cls(**{**row, "errors": tuple(row["errors"])})


@dataclass(frozen=True, slots=True)
class Run:
    """The outcomes of a package's tests so far; `count` is the number of all its tests."""

    package: Package
    outcomes: tuple[Outcome, ...]
    count: int

    def number(self, *outcomes: str) -> int:
        """Return the number of tests with one of these outcomes."""
        return sum(each.outcome in outcomes for each in self.outcomes)

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """The tests that failed."""
        return tuple(each for each in self.outcomes if each.outcome == "failed")

    @property
    def unexplained(self) -> tuple[Outcome, ...]:
        """The failures without a reason in the table."""
        return tuple(each for each in self.failures if reason(self.package, each) is None)

    @property
    def passed(self) -> bool:
        """Whether enough of the tests that ended in time pass, and every failure has a reason."""
        ended = self.number(*_ENDED)
        return bool(ended) and not self.unexplained and self.number("passed") >= self.package.least * ended


def reason(package: Package, outcome: Outcome) -> str | None:
    """Return why a test fails, according to the table."""
    return next((row.reason for row in FAILURES if row.covers(package.name, outcome.test)), None)


def run(package: Package, environments: Path, cache: Path, *, minutes: float | None, jobs: int) -> Run:
    """Run the tests of a package that have no outcome yet, for the given time; return all outcomes.

    Raises RuntimeError if the package cannot be installed or its tests cannot be collected.
    """
    folder = installed(package, environments)
    kept = cache / f"{package.name}.jsonl"
    _forget_outdated(kept, _key(package))
    settings = variables(TRITON, environments)
    settings["PYTHONPATH"] = os.pathsep.join([str(folder), str(ROOT), settings["PYTHONPATH"]])
    where, words = _selection(package, folder)
    base = [sys.executable, "-m", "pytest", "-q", "-W", "ignore", "-p", "no:cacheprovider", *words]
    listed = subprocess.run(
        [*base, "-p", "pyptx_virtual.pytest_plugin", "--pyptx", "--collect-only"],
        cwd=where, env=settings, capture_output=True, text=True, check=False,
    )  # fmt: skip
    count = sum("::" in line and not line.startswith(" ") for line in listed.stdout.splitlines())
    if listed.returncode or not count:
        raise RuntimeError(f"the tests of {package.requirement} cannot be collected:\n{listed.stdout[-2000:]}")
    plugins = ("-p", "pyptx_virtual.pytest_plugin", "-p", f"{__package__}.outcomes")
    options = ("--pyptx", f"--pyptx-budget={BUDGET}", f"--pyptx-memory={MEMORY}", f"--outcomes={kept}", f"-n{jobs}")
    limit = () if minutes is None else (f"--minutes={minutes}",)
    subprocess.run([*base, *plugins, *options, *limit], cwd=where, env=settings, check=False)
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    return Run(package, tuple(map(Outcome.read, lines)), count)


def _selection(package: Package, folder: Path) -> tuple[Path, Sequence[str]]:
    """Return the folder in which pytest runs, and its words: the package's own tests, or our table."""
    if package.suite is None:
        alone = ("--noconftest", "-c", os.devnull, f"--rootdir={ROOT}", "--import-mode=importlib")
        return ROOT, (*alone, str(package.table))
    (source,) = (folder / "sdist").glob("*/")
    return source, (package.suite,)


def installed(package: Package, environments: Path) -> Path:
    """Return the folder of a package, with its source distribution if its own tests run; install it on first use."""
    folder = environments / f"{package.name}-{package.version}"
    if folder.is_dir():
        return folder
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    pip = (sys.executable, "-m", "pip")
    without = (*pip, "install", "--quiet", "--no-deps", f"--target={unfinished}")
    steps: list[tuple[str, ...]] = [(*without, package.requirement, *package.bare)]
    steps += [(*pip, "install", "--quiet", f"--target={unfinished}", *package.needs)] if package.needs else []
    if package.suite is not None:
        words = ("--quiet", "--no-deps", "--no-binary=:all:", f"--dest={unfinished / 'sdist'}")
        steps.append((*pip, "download", *words, package.requirement))
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{package.requirement} cannot be installed:\n{done.stderr[-2000:]}")
    for archive in (unfinished / "sdist").glob("*.tar.gz"):
        with tarfile.open(archive) as opened:
            opened.extractall(unfinished / "sdist", filter="data")
    unfinished.rename(folder)
    return folder


def _key(package: Package) -> str:
    """Return a hash of what determines outcomes: our packages, the package, the table of its operators."""
    found = hashlib.sha256(f"{package.requirement} {package.needs} {package.bare} {TRITON} {BUDGET}".encode())
    for path in _sources(package):
        found.update(path.read_bytes())
    return found.hexdigest()


def _sources(package: Package) -> Iterator[Path]:
    for name in _OURS:
        yield from sorted((ROOT / "packages" / f"pyptx-{name}" / "src").rglob("*.py"))
    if package.suite is None:
        yield from (package.table, package.table.parents[1] / "operators.py")


def _forget_outdated(kept: Path, key: str) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    known = kept.with_suffix(".key")
    if not known.exists() or known.read_text(encoding="utf-8") != key:
        kept.unlink(missing_ok=True)
        known.write_text(key, encoding="utf-8")
