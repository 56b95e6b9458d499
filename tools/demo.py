"""Run the RMS norm of examples/hopper on the simulator and print its results.

    python tools/demo.py [--ptx] [ROWS COLUMNS]

Prints four lines: the largest error against a float64 reference, the time of a simulated call with and without checks,
the registers that ptxas allocates, and the findings. Then prints three commands to try; `--ptx` prints the PTX before
them. Exits with 1 if the error exceeds 1e-6 or there are findings.
"""

from __future__ import annotations

import argparse
import os
import runpy
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "hopper" / "rms_norm.py"
TOLERANCE = 1e-6  # error relative to the largest value: a few float32 ulp
NEXT = """
next:
  {pyptx} new scale
  {pyptx} sim {example} --B 16 --N 512
  {pyptx} trace {example} --B 16 --N 512 -o timeline.json"""


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of calling `run`, and the least seconds of three calls."""
    times: list[float] = []
    result: Any = None
    for _ in range(3):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return result, min(times)


def main(rows: int, columns: int, *, ptx: bool) -> int:
    """Run RMS norm on the simulator, print the results, and return the exit status."""
    example = runpy.run_path(str(EXAMPLE))
    kernel = example["rms_norm"]
    generator = np.random.default_rng(0)
    x = generator.standard_normal((rows, columns), dtype=np.float32)
    w = generator.standard_normal(columns, dtype=np.float32)
    y, plain = timed(lambda: kernel(x, w))
    report, slow = timed(lambda: kernel.simulate(x, w, checks="all", seed=0))
    cost = kernel.resources(B=rows, N=columns)
    expected = example["reference"](x, w)
    error = float(np.abs(y - expected).max() / np.abs(expected).max())

    print(f"error      {error:.1e} relative to the largest value, against float64")
    print(f"time       {plain:.3f} s for {rows} x {columns} on the simulator, {slow:.3f} s with every check")
    print(f"registers  {cost.registers} per thread, {cost.spills} bytes spilled, {cost.shared} bytes of shared memory")
    print(f"findings   {len(report.findings)}", *report.findings, sep="\n" if report.findings else "")
    if ptx:
        print(f"\n{kernel.ptx(B=rows, N=columns)}")
    return int(error > TOLERANCE or bool(report.findings))


def here(path: str | Path) -> str:
    """Return a path as a shell in the current folder can use it: relative, if it is below this folder."""
    path, folder = Path(path), Path.cwd()
    return shlex.quote(str(path.relative_to(folder) if path.is_relative_to(folder) else path))


if __name__ == "__main__":
    os.environ.setdefault("PYPTX_CPU", "quiet")  # no warning that the simulator runs the kernel: the demo intends it
    parser = argparse.ArgumentParser(prog="python tools/demo.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sizes", nargs="*", type=int, metavar="SIZE", help="rows and columns (default: 256 4096)")
    parser.add_argument("--ptx", action="store_true", help="print the kernel's PTX, too")
    options = parser.parse_args()
    if len(options.sizes) not in {0, 2}:
        parser.error("expected ROWS COLUMNS")
    status = main(*(options.sizes or (256, 4096)), ptx=options.ptx)
    print(NEXT.format(pyptx=f"{here(sys.executable)} -m pyptx", example=here(EXAMPLE)))
    sys.exit(status)
