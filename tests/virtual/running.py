"""Runs of a program by `pyptx run`, with a release of Triton in a folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from .table import HERE, ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEDULES: Final = 2
SECONDS: Final = 900  # the slowest program takes a minute on a free core
_RUN: Final = ("-c", "import sys\nfrom pyptx_virtual.command import run\nsys.exit(run(sys.argv[1:]))")
_WRONG: Final = "AssertionError"  # how a program states that a result differs from torch's


Verdict: TypeAlias = Literal["right", "wrong", "findings", "refused"]
VERDICTS: Final[tuple[Verdict, ...]] = ("right", "wrong", "findings", "refused")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a program: `right`, `wrong`, `findings` or `refused`, with the first message about it.

    `refused` programs raised an exception other than AssertionError, for instance because a kernel does not compile.
    """

    verdict: Verdict
    message: str = ""
    seconds: float = 0.0
    suppressed: int = 0


def installed(release: str, environments: Path) -> Path:
    """Return the folder that contains a release of Triton; install it on first use.

    torch, NumPy and the simulator are those of the running Python: only Triton differs between the environments.
    Raises RuntimeError if the release cannot be installed.
    """
    folder = environments / f"triton-{release}"
    if folder.is_dir():
        return folder
    unfinished = environments / f"triton-{release}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    wanted = ("--quiet", "--no-deps", f"--target={unfinished}", f"triton=={release}")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *wanted], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"Triton {release} cannot be installed:\n{done.stderr[-2000:]}")
    unfinished.rename(folder)
    return folder


def variables(release: str, environments: Path) -> dict[str, str]:
    """Return the environment variables with which Python imports a release of Triton, and caches its kernels."""
    paths = [str(installed(release, environments)), *filter(None, [os.environ.get("PYTHONPATH")])]
    settings = {"TRITON_CACHE_DIR": str(environments / f"cache-{release}"), "TRITON_DEFAULT_FP_FUSION": "1"}
    return os.environ | settings | {"PYTHONPATH": os.pathsep.join(paths)}


def run(path: Path, target: str, release: str, environments: Path, options: Sequence[str] = ()) -> Outcome:
    """Run a program under `SCHEDULES` schedules, with the suppressions for the release; return its outcome."""
    accepted = HERE / "suppressions" / f"triton-{release}.toml"
    options = [*options, *(("--suppressions", str(accepted)) if accepted.exists() else ())]
    started = time.perf_counter()
    with TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        said = ("--target", target, "--schedules", str(SCHEDULES), "--format", "json", "--output", str(report))
        done = subprocess.run(
            [sys.executable, *_RUN, "--require-launches", *said, *options, str(path)],
            env=variables(release, environments),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    return _outcome(done, found, time.perf_counter() - started)


def _outcome(done: subprocess.CompletedProcess[str], report: dict[str, Any], seconds: float) -> Outcome:
    """Return the outcome of a run. A program that prints anything is at fault, too."""
    problems = [each for each in report.get("problems", ()) if each["severity"] == "error"]
    errors = [each for each in problems if not each.get("suppressed")]
    lines = [line for line in done.stderr.splitlines() if line and not line.startswith(" ")]
    if errors:
        return Outcome("findings", "; ".join(map(_shown, errors)), seconds)
    if done.returncode:
        verdict: Verdict = "wrong" if _WRONG in done.stderr else "refused"
        raised = next((line for line in reversed(lines) if "Error" in line), lines[-1] if lines else "no message")
        return Outcome(verdict, raised, seconds)
    if done.stdout:
        return Outcome("wrong", f"prints {done.stdout[:100]!r}", seconds)
    return Outcome("right", "", seconds, len(problems))


def _shown(problem: dict[str, Any]) -> str:
    position = next(iter(problem["positions"]), None)
    where = f" at {Path(position['file']).name}:{position['line']}" if position else ""
    return f"{problem['rule']}{where}: {problem['message']}"
