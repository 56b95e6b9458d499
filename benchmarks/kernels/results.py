"""Results of a run, as JSON: a file per subject, with a row per case and the conditions of the measurement."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.kernels.protocol import Spread

if TYPE_CHECKING:
    from pathlib import Path

OURS, COPY = "ours", "copy"


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one case: times are microseconds per call, speeds are speedups over the other contestants.

    `absent` has the reasons why baselines were not measured, `failure` the error of the case, `left_out` the reason why
    the case was not run. `failure` and `left_out` are empty if the case was measured.
    """

    case: str
    bytes: int
    flops: int
    goal_us: float | None
    error: float | None = None
    tolerance: float = 0.0
    times: dict[str, Spread] = field(default_factory=dict[str, Spread])
    speeds: dict[str, Spread] = field(default_factory=dict[str, Spread])
    absent: dict[str, str] = field(default_factory=dict[str, str])
    failure: str = ""
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """Cases of one subject, and the conditions of the measurement: date, command, device, driver, versions."""

    subject: str
    where: dict[str, str]
    results: tuple[Result, ...]


def save(run: Run, folder: Path) -> None:
    """Write the run to `<subject>.json` in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{run.subject}.json").write_text(json.dumps(asdict(run), indent=1) + "\n", encoding="utf-8")


def load(folder: Path) -> list[Run]:
    """Read all runs in a folder, sorted by subject."""
    return [_run(json.loads(path.read_text(encoding="utf-8"))) for path in sorted(folder.glob("*.json"))]


def _run(read: dict[str, Any]) -> Run:
    return Run(read["subject"], read["where"], tuple(map(_result, read["results"])))


def _result(row: dict[str, Any]) -> Result:
    spreads = {key: {name: Spread(**each) for name, each in row[key].items()} for key in ("times", "speeds")}
    fields: dict[str, Any] = {**row, **spreads}
    return Result(**fields)
