"""Time of a warm call of a tiny kernel on the simulator, with NumPy arrays and with CPU tensors.

    python benchmarks/bench_simulated_call.py [--repeat N]

Calls vector_add (examples/ampere) on 256 floats, and prints the best microseconds of N calls: by default, which
includes a run with checks beforehand, and without it. Exits with 1 if a call without checks exceeds the target, 1000.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from timing import times

sys.path.append(str(Path(__file__).resolve().parents[1]))

from examples.ampere.vector_add import vector_add

LIMIT = 1000.0  # maximum microseconds of a simulated call without checks
COUNT = 256


def best(array: Any, checks: str, repeat: int) -> float:  # noqa: ANN401 - either framework's
    """Return the microseconds of the fastest of `repeat` calls."""
    os.environ["PYPTX_CHECKS"] = checks
    (found,) = times(partial(vector_add, array, array), repeat=repeat + 1, clock=time.perf_counter)
    return min(found) * 1e6


def main() -> int:
    """Measure calls with NumPy arrays and with CPU tensors; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=300)
    repeat = parser.parse_args().repeat
    os.environ["PYPTX_CPU"] = "quiet"
    print(f"{'arrays':8} {'default µs':>11} {'unchecked µs':>13} {'limit':>7}")
    kept = True
    for name, array in (("NumPy", np.ones(COUNT, np.float32)), ("torch", torch.ones(COUNT))):
        plain = best(array, "off", repeat)
        print(f"{name:8} {best(array, 'auto', repeat):11.0f} {plain:13.0f} {LIMIT:7.0f}")
        kept = kept and plain <= LIMIT
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
