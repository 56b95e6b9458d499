"""Python helpers of tools/gpu_check.sh: describe the machine, select the tests that can run, write the summary.

python tools/gpu_summary.py --machine | --select | --absent | --write STAGES
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata, util
from pathlib import Path
from typing import Any

FRAMEWORKS = ("torch", "jax")
DISTRIBUTIONS = (
    "torch", "triton", "jax", "jaxlib", "numpy", "cuda-bindings", "cuda-core",
    "nanobind", "scikit-build-core", "cmake", "ninja", "pytest", "hypothesis", "pluggy",
)  # fmt: skip
MOST_SHOWN = 40  # maximum number of printed test failures; summary.json lists all
QUERY = "name,driver_version,memory.total,clocks.sm,clocks.mem,temperature.gpu"


def without() -> list[str]:
    """Return the names in GPU_CHECK_WITHOUT: packages and hardware that cannot be used here even if present."""
    return os.environ.get("GPU_CHECK_WITHOUT", "").split()


def missing() -> list[str]:
    """Return the frameworks that are not installed, or that have no GPU."""
    return [name for name in FRAMEWORKS if name in without() or util.find_spec(name) is None]


def capability() -> tuple[int, int]:
    """Return the compute capability of the first GPU; (0, 0) if nvidia-smi does not report it."""
    command = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
        major, minor = told.splitlines()[0].split(".")
    except (OSError, subprocess.SubprocessError, IndexError, ValueError):
        return 0, 0
    return int(major), int(minor)


def selection() -> str:
    """Return pytest's -m: the tests whose framework and architecture are available."""
    hardware = [name for name in without() if name not in FRAMEWORKS]
    names = [*missing(), *hardware, *(["sm_100"] if capability() < (10, 0) else [])]
    return " and ".join(["gpu", *(f"not {name}" for name in names)])


def versions() -> dict[str, str]:
    """Return the versions of the installed packages among `DISTRIBUTIONS`."""
    installed = {each.metadata["Name"].lower().replace("_", "-"): each.version for each in metadata.distributions()}
    return {name: installed[name] for name in DISTRIBUTIONS if name in installed}


def machine() -> int:
    """Print the machine: GPU, driver, Python, versions, tools; return 1 if there is no GPU."""
    print(platform.platform(), "Python", platform.python_version(), sys.executable, f"{os.cpu_count()} CPUs")
    for name, version in versions().items():
        print(f"  {name} {version}")
    for command in (
        ["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv"],
        ["ptxas", "--version"],
        ["c++", "--version"],
    ):
        try:
            told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
        except OSError as error:
            print(f"{command[0]}: {error}")
            continue
        print((told.stdout + told.stderr).strip())
    return int(capability() == (0, 0))


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of gpu_check.sh: its exit status and seconds.

    The status is `late` if no time was left, 124 or 137 if it timed out, `left out: …` if it cannot run here.
    """

    name: str
    status: str
    seconds: int

    @property
    def ran(self) -> bool:
        """Whether the stage was started, or not started for lack of time; False if it is `left out`."""
        return not self.status.startswith("left out")


def stages(path: Path) -> list[Stage]:
    """Return the stages that gpu_check.sh recorded."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [Stage(name, status, int(seconds)) for name, status, seconds in rows]


def outcomes(path: Path) -> tuple[Counter[str], list[dict[str, Any]]]:
    """Return the number of tests per outcome, and the tests that did not pass; an unfinished one is `cut short`."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    ended = {line["test"]: line for line in lines if line["event"] != "begun"}
    for line in lines:
        ended.setdefault(line["test"], {**line, "event": "cut short"})
    counts = Counter(str(line["event"]) for line in ended.values())
    return counts, [line for line in ended.values() if line["event"] != "passed"]


def reason(line: dict[str, Any]) -> str:
    """Return the first line of pytest's error message."""
    errors = (row[1:].strip() for row in str(line.get("what", "")).splitlines() if row.startswith("E "))
    return next(errors, "")[:150]


def write(path: Path, out: Path) -> int:
    """Write summary.json, print its contents, and return 1 if anything failed."""
    ran = stages(path)
    counts, bad = outcomes(out / "outcomes.jsonl")
    measured = out / "launch.json"
    benchmark: dict[str, Any] = json.loads(measured.read_text(encoding="utf-8")) if measured.exists() else {}
    summary: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "versions": versions(),
        "left_out": missing(),
        "stages": {stage.name: {"status": stage.status, "seconds": stage.seconds} for stage in ran},
        "tests": dict(counts),
        "not_passed": bad,
        "targets": benchmark.get("targets", []),
    }
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    print("\n== summary")
    for line in bad[:MOST_SHOWN]:
        print(f"{line['event']:9} {line['test']}: {reason(line)}")
    for target in summary["targets"]:
        verdict = "met" if target["met"] else "missed"
        print(f"{verdict:9} {target['name']}: {target['measured']} (wanted {target['limit']})")
    for stage in ran:
        status, _, why = stage.status.partition(": ")
        print(f"{status:>9} {stage.seconds:4} s  {stage.name}{f': {why}' if why else ''}")
    print("tests:", ", ".join(f"{number} {what}" for what, number in counts.items()) or "none ran")
    here = [stage for stage in ran if stage.ran]
    none_ran = not counts and any(stage.name.startswith("test_") for stage in here)
    return int(bool(bad) or none_ran or any(stage.status != "0" for stage in here))


def main() -> int:
    """Run the mode of the command line: machine, select, absent or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machine", action="store_true", help="print this machine's GPU and frameworks")
    parser.add_argument("--select", action="store_true", help="print pytest's -m for this machine")
    parser.add_argument("--absent", action="store_true", help="print the absent frameworks")
    parser.add_argument("--write", metavar="STAGES", type=Path, help="write $OUT/summary.json and print it")
    options = parser.parse_args()
    if options.select:
        print(selection())
        return 0
    if options.absent:
        print(*missing())
        return 0
    return machine() if options.machine else write(options.write, Path(os.environ["OUT"]))


if __name__ == "__main__":
    sys.exit(main())
