"""What a run leaves behind, as JSON: a file for each subject, with a row for each case and where it was measured."""

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
    """What was found of one case. Times are microseconds of a call; speeds say how many times as fast ours is.

    `absent` says of rivals why they were not measured, `failure` what went wrong with the case, `left_out` why it was
    not tried; both are empty where it was measured.
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
    """The cases of one subject, and where they were measured: date, command, device, driver, versions."""

    subject: str
    where: dict[str, str]
    results: tuple[Result, ...]


def save(run: Run, folder: Path) -> None:
    """Write `<subject>.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{run.subject}.json").write_text(json.dumps(asdict(run), indent=1) + "\n", encoding="utf-8")


def load(folder: Path) -> list[Run]:
    """Read every run that lies in a folder, in the order of their subjects' names."""
    return [_run(json.loads(path.read_text(encoding="utf-8"))) for path in sorted(folder.glob("*.json"))]


def _run(read: dict[str, Any]) -> Run:
    return Run(read["subject"], read["where"], tuple(map(_result, read["results"])))


def _result(row: dict[str, Any]) -> Result:
    spreads = {key: {name: Spread(**each) for name, each in row[key].items()} for key in ("times", "speeds")}
    fields: dict[str, Any] = {**row, **spreads}
    return Result(**fields)
