"""How long the example kernels take to trace, and to run on the simulator with and without checks.

    python benchmarks/bench_examples.py [--repeat N] [--only NAME …]

Prints, for each kernel and size, the best seconds of N runs: tracing and emitting, the simulation without checks,
the same with all of them, and their ratio; beside them NumPy's product of the same matrices in float32, in the same
run. Exits 1 where a figure is above what is promised: a matrix product of 512 in 0.1 s (0.4 s where one pair of blocks
takes all tiles over), one of 1024 on Hopper in 1.2 s, checks at 3 times the time without, tracing and emitting a matrix
product in 20 ms.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_FOR_CHECKS = 3.0
TRACING = 0.020  # seconds


@dataclass(frozen=True)
class Case:
    """A kernel of the examples (`file:name`) at one size; `dtype` is ml_dtypes' name of the elements."""

    where: str
    size: int
    limit: float
    dtype: str = "bfloat16"

    @property
    def name(self) -> str:
        """The file and the size."""
        file, _, name = self.where.partition(":")
        return f"{file} {self.size}" if name == "gemm" else f"{name} {self.size}"

    @property
    def kernel(self) -> Any:  # noqa: ANN401 - each module's own kernel
        """The kernel."""
        file, _, name = self.where.partition(":")
        return getattr(import_module(f"examples.{file}"), name)

    def inputs(self) -> list[Any]:
        """Return two square matrices of normal numbers, and the scales of those that need them."""
        rng = np.random.default_rng(0)
        dtype = np.dtype(getattr(ml_dtypes, self.dtype))
        matrices = [rng.standard_normal((self.size, self.size)).astype(dtype) for _ in range(2)]
        return matrices + [np.ones(1, np.float32)] * (2 if dtype.itemsize == 1 else 0)


CASES = (
    Case("ampere.gemm_simple:gemm", 512, 0.1),
    Case("ampere.gemm_pipelined:gemm_pipelined", 512, 0.1),
    Case("ampere.gemm_highperf_ampere:gemm_highperf", 512, 0.1),
    Case("hopper.gemm_simple_hopper:gemm", 512, 0.1),
    Case("hopper.gemm_pipelined_hopper:gemm", 512, 0.1),
    Case("hopper.gemm_warp_specialised:gemm", 512, 0.1),
    Case("hopper.gemm_highperf_hopper:gemm", 512, 0.1),
    Case("hopper.gemm_fp8_hopper:gemm", 512, 0.1, "float8_e4m3fn"),
    Case("blackwell.gemm_simple_blackwell:gemm", 512, 0.1),
    Case("blackwell.gemm_pipelined_blackwell:gemm", 512, 0.1),
    Case("blackwell.gemm_2sm_blackwell:gemm", 512, 0.1),
    Case("blackwell.gemm_highperf_blackwell:gemm", 512, 0.1),
    Case("blackwell.gemm_multicast_blackwell:gemm", 512, 0.1),
    Case("blackwell.gemm_persistent_blackwell:gemm", 512, 0.4),  # one pair takes all four tiles, in turn
    Case("hopper.gemm_warp_specialised:gemm", 1024, 1.2),
    Case("hopper.gemm_highperf_hopper:gemm", 1024, 1.2),
)


def best(run: Callable[[], object], repeat: int) -> float:
    """Return the least seconds of some runs, after one that is not counted."""
    run()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(case: Case, repeat: int) -> bool:
    """Print a case's line; return whether it keeps what is promised."""
    kernel, inputs = case.kernel, case.inputs()
    heights = count(case.size, 128)  # a kernel keeps its traces, one for each size

    def trace() -> str:
        return str(kernel.ptx(M=next(heights), N=case.size, K=case.size))

    def simulate(checks: str) -> None:
        result = kernel.simulate(*inputs, checks=checks)
        if result.findings:
            sys.exit(f"{case.name}: {result.findings[0]}")

    traced = best(trace, repeat)
    plain, checked = (best(lambda checks=checks: simulate(checks), repeat) for checks in ("none", "all"))
    wide = [each.astype(np.float32) for each in inputs[:2]]
    numpy = best(lambda: wide[0] @ wide[1], repeat)
    kept = plain <= case.limit and checked <= MOST_FOR_CHECKS * plain and traced <= TRACING
    print(
        f"{case.name:36} {traced * 1e3:7.1f} {plain:8.3f} {case.limit:6.1f} {checked:8.3f} {checked / plain:6.1f} "
        f"{numpy:8.4f}{'' if kept else '   above what is promised'}"
    )
    return kept


def main() -> int:
    """Measure every case, or those whose names contain a word; return 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[""])
    options = parser.parse_args()
    print(f"{'kernel':36} {'trace ms':>7} {'none s':>7} {'limit':>6} {'all s':>8} {'ratio':>6} {'numpy s':>8}")
    chosen = [case for case in CASES if any(word in case.name for word in options.only)]
    kept = [measure(case, options.repeat) for case in chosen]
    return int(not all(kept))


if __name__ == "__main__":
    sys.exit(main())
