"""Host time of a call without a GPU: the part of `python -m benchmarks.launch` that `nox -s bench` runs.

    python benchmarks/bench_launch.py [--repeat N]

The null driver of the tests replaces NVIDIA's: the time is that of a call without the driver and the GPU. Measures the
parts of a call, then whole calls from Python, alternately with torch's own. Exits with 1 if a whole call exceeds the
repository's target (`benchmarks/launch/targets.py`).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.launch.__main__ import measured, show
from benchmarks.launch.parts import PARTS
from benchmarks.launch.targets import judge

NAMES = ("shim", "torch on the null driver")


def main() -> int:
    """Measure the parts of a call, and compare whole calls with the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=25)
    repeat = parser.parse_args().repeat
    parts = {part.name: measured(part, repeat, "cpu") for part in PARTS if part.name in NAMES}
    targets = judge({name: rows for name, rows in parts.items() if rows})
    show(targets)
    return int(None in parts.values() or not all(each["met"] for each in targets))


if __name__ == "__main__":
    sys.exit(main())
