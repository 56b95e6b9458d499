"""Host time of a call: ours compared with torch's, Triton's, jax's and the driver's own, in the same run.

    python -m benchmarks.launch [--json FILE] [--repeat N] [--only PART] [--without torch jax] [--unjudged]

Each part runs in its own process. On a machine with a GPU: the driver and torch, then jax. Without one: the native
extension, torch and jax on the null driver of the tests; the calls of a GPU machine on CPU tensors and arrays, which
the simulator runs; and the first launch of rms_norm in a process that has launched one other kernel, with an empty and
with a filled cubin cache. The calls of a part are measured alternately. The tables show the best and the median of the
rounds, in microseconds per call, and their middle half. Targets that need a GPU are marked where there is none. Exits
with 1 if a part fails, or if a target is missed without `--unjudged`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.launch.parts import PARTS, SWITCHES, Part
from benchmarks.launch.processes import child
from benchmarks.launch.targets import TARGETS, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

FIGURES = ("best", "median", "low", "high")


def machine() -> dict[str, object]:
    """Return the date, the command, and the hardware and software of this machine."""
    from importlib import metadata

    from pyptx_launch import driver

    installed = {each.metadata["Name"].lower(): each.version for each in metadata.distributions()}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(["python -m benchmarks.launch", *sys.argv[1:]]),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "gpu": driver.devices()[0].name if driver.available() else None,
        "driver": driver.version() if driver.available() else None,
        "versions": {name: installed[name] for name in ("torch", "triton", "jax", "jaxlib") if name in installed},
    }


def measured(part: Part, repeat: int, device: str) -> list[dict[str, Any]] | None:
    """Run a part of the benchmark and print its rows; return None if the part failed."""
    print(f"\n{part.name:40} {'best':>10} {'median':>10} {'middle half':>21}", flush=True)
    try:
        rows = child(part.switch, repeat, device, {}, part.seconds)
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        print(f"failed: {error}")
        return None
    for each in rows:
        shown = "".join(f"{each[figure]:11.2f}" for figure in FIGURES)
        print(f"{each['name']:39} {shown}")
    return rows


def show(targets: list[dict[str, Any]]) -> None:
    """Print the outcome of each target."""
    print()
    for target in TARGETS:
        known = next((each for each in targets if each["name"] == target.name), None)
        verdict = ("met   " if known["met"] else "MISSED") + f" {known['measured']}" if known else "not measured here"
        print(f"{target.name:46} under {target.limit:g} {target.unit:2}  {verdict}")


def run_all(repeat: int, file: Path | None, chosen: Sequence[Part], *, judged: bool) -> int:
    """Run the parts that this machine supports; return 1 if one fails or, if `judged`, a target is missed."""
    where = machine()
    print(json.dumps(where))
    device, failed = "cuda" if where["gpu"] else "cpu", False
    parts: dict[str, list[dict[str, Any]]] = {}
    for part in chosen:
        if not part.runs_on(device):
            print(f"\n{part.name}: not here")
            continue
        rows = measured(part, repeat, device)
        if rows is None:
            failed = True
            continue
        parts[part.name] = rows
        if file:  # results are written after each part, so that a hang keeps earlier results
            file.write_text(json.dumps({**where, "parts": parts, "targets": judge(parts)}, indent=1) + "\n")
    targets = judge(parts)
    show(targets)
    return int(failed or (judged and not all(each["met"] for each in targets)))


def main() -> int:
    """Run the launch benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the results to FILE as JSON")
    parser.add_argument("--repeat", type=int, default=25, help="rounds of a part")
    parser.add_argument("--only", choices=[part.name for part in PARTS], help="measure only this part of the benchmark")
    parser.add_argument("--without", nargs="*", default=[], help="parts to leave out: frameworks that see no GPU")
    parser.add_argument("--unjudged", action="store_true", help="exit with 0 if targets are missed: for a busy machine")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--device", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.part:
        named = [part for part in PARTS if options.only in (None, part.name)]
        chosen = [part for part in named if part.switch not in options.without]
        return run_all(options.repeat, options.json, chosen, judged=not options.unjudged)
    print(json.dumps(SWITCHES[options.part](options.repeat, options.device)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
