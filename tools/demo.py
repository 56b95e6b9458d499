"""Run the RMS norm of examples/hopper on the simulator and print its results.

    python tools/demo.py [ROWS COLUMNS]

Prints the PTX, the registers that ptxas allocates, and the time of a simulated call with and without checks. Then
prints the findings and the largest error against a float64 reference. Exits with 1 if that error exceeds 1e-6 or there
are findings.
"""

from __future__ import annotations

import os
import runpy
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "hopper" / "rms_norm.py"
TOLERANCE = 1e-6  # error relative to the largest value: a few float32 ulp


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of calling `run`, and the least seconds of three calls."""
    times: list[float] = []
    result: Any = None
    for _ in range(3):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return result, min(times)


def main(rows: int, columns: int) -> int:
    """Run RMS norm on the simulator, print the results, and return the exit status."""
    example = runpy.run_path(str(EXAMPLE))
    kernel = example["rms_norm"]
    generator = np.random.default_rng(0)
    x = generator.standard_normal((rows, columns), dtype=np.float32)
    w = generator.standard_normal(columns, dtype=np.float32)

    print(kernel.ptx(B=rows, N=columns))
    cost = kernel.resources(B=rows, N=columns)
    print(f"ptxas: {cost.registers} registers, {cost.spills} bytes spilled, {cost.shared} bytes of shared memory")

    y, plain = timed(lambda: kernel(x, w))
    report, slow = timed(lambda: kernel.simulate(x, w, checks="all", seed=0))
    expected = example["reference"](x, w)
    error = float(np.abs(y - expected).max() / np.abs(expected).max())

    print(f"simulated {rows}x{columns} in {plain:.3f} s; with every check in {slow:.3f} s")
    print(f"findings: {len(report.findings)}")
    for finding in report.findings:
        print(finding)
    print(f"largest error against float64, relative: {error:.2e}")
    return int(error > TOLERANCE or bool(report.findings))


if __name__ == "__main__":
    os.environ.setdefault("PYPTX_CPU", "quiet")  # no warning that the simulator runs the kernel: the demo intends it
    arguments = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*arguments) if arguments else main(256, 4096))
