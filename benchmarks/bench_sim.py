"""How long the simulator takes for rms_norm and softmax, 256 rows of 4096 floats.

    python benchmarks/bench_sim.py [--repeat N] [--profile]

Prints the best wall time of N runs in seconds, without and with checks, beside what the repository promises, and the
error against a float64 reference. The first run, which parses and lowers, is timed by itself.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

ROWS, COLUMNS, THREADS = 256, 4096, 128
VECTORS = COLUMNS // (4 * THREADS)

_HEAD = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry {name}(.param .u64 x, .param .u64 w, .param .u64 y)
{{
.reg .pred %p<4>;
.reg .b32 %r<20>;
.reg .b64 %rd<20>;
.reg .f32 %f<80>;
.shared .align 16 .f32 partial[32];
ld.param.u64 %rd1, [x];
ld.param.u64 %rd2, [w];
ld.param.u64 %rd3, [y];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mul.wide.u32 %rd4, %r2, {row_bytes};
mul.wide.u32 %rd5, %r1, 16;
add.s64 %rd6, %rd1, %rd4;
add.s64 %rd6, %rd6, %rd5;
add.s64 %rd7, %rd2, %rd5;
add.s64 %rd8, %rd3, %rd4;
add.s64 %rd8, %rd8, %rd5;
and.b32 %r3, %r1, 31;
shr.u32 %r4, %r1, 5;
mov.u32 %r5, partial;
shl.b32 %r6, %r4, 2;
add.u32 %r6, %r5, %r6;
setp.eq.u32 %p1, %r3, 0;
"""


def _load(base: str, first: int, vector: int) -> str:
    registers = ", ".join(f"%f{first + 4 * vector + part}" for part in range(4))
    return f"ld.global.v4.f32 {{{registers}}}, [{base}+{vector * THREADS * 16}];"


def _store(vector: int, first: int) -> str:
    registers = ", ".join(f"%f{first + 4 * vector + part}" for part in range(4))
    return f"st.global.v4.f32 [%rd8+{vector * THREADS * 16}], {{{registers}}};"


def _block_reduce(operation: str) -> list[str]:
    """Reduce %f0 over the block; every thread gets the result, in %f0."""
    lines = []
    for distance in (16, 8, 4, 2, 1):
        lines += [
            "mov.b32 %r10, %f0;",
            f"shfl.sync.bfly.b32 %r11, %r10, {distance}, 31, -1;",
            "mov.b32 %f1, %r11;",
            f"{operation}.f32 %f0, %f0, %f1;",
        ]
    lines += ["@%p1 st.shared.f32 [%r6], %f0;", "bar.sync 0;", "ld.shared.v4.f32 {%f0, %f1, %f2, %f3}, [%r5];"]
    return [*lines, *(f"{operation}.f32 %f0, %f0, %f{part};" for part in (1, 2, 3)), "bar.sync 0;"]


def _module(name: str, body: list[str]) -> str:
    return _HEAD.format(name=name, row_bytes=COLUMNS * 4) + "\n".join([*body, "ret;", "}"]) + "\n"


def rms_norm_ptx() -> str:
    """Return the module of y = x / sqrt(mean(x²) + 1e-6) · w."""
    count = 4 * VECTORS
    body = [_load("%rd6", 10, vector) for vector in range(VECTORS)]
    body += ["mov.f32 %f0, 0f00000000;", *(f"fma.rn.f32 %f0, %f{10 + i}, %f{10 + i}, %f0;" for i in range(count))]
    body += _block_reduce("add")
    body += ["mul.f32 %f0, %f0, 0f39800000;", "add.f32 %f0, %f0, 0f358637BD;", "rsqrt.approx.f32 %f4, %f0;"]
    for vector in range(VECTORS):
        body.append(_load("%rd7", 50 - 4 * vector, vector))
        for part in range(4):
            body.append(f"mul.f32 %f{10 + 4 * vector + part}, %f{10 + 4 * vector + part}, %f4;")
            body.append(f"mul.f32 %f{10 + 4 * vector + part}, %f{10 + 4 * vector + part}, %f{50 + part};")
        body.append(_store(vector, 10))
    return _module("rms_norm", body)


def softmax_ptx() -> str:
    """Return the module of a row-wise softmax: exponentials by ex2 of x · log2(e)."""
    count = 4 * VECTORS
    body = [_load("%rd6", 10, vector) for vector in range(VECTORS)]
    body += ["mov.f32 %f0, %f10;", *(f"max.f32 %f0, %f0, %f{10 + i};" for i in range(1, count))]
    body += [*_block_reduce("max"), "mov.f32 %f5, %f0;", "mov.f32 %f0, 0f00000000;"]
    for i in range(count):
        register = f"%f{10 + i}"
        body += [
            f"sub.f32 {register}, {register}, %f5;",
            f"mul.f32 {register}, {register}, 0f3FB8AA3B;",
            f"ex2.approx.f32 {register}, {register};",
            f"add.f32 %f0, %f0, {register};",
        ]
    body += [*_block_reduce("add"), "rcp.approx.f32 %f4, %f0;"]
    body += [f"mul.f32 %f{10 + i}, %f{10 + i}, %f4;" for i in range(count)]
    body += [_store(vector, 10) for vector in range(VECTORS)]
    return _module("softmax", body)


def _rms_norm(x: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6) * w


def _softmax(x: NDArray[np.float64], _: NDArray[np.float64]) -> NDArray[np.float64]:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel, its reference and the seconds it may take without checks."""

    name: str
    text: str
    reference: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
    goal: float


CASES = (
    Case("rms_norm", rms_norm_ptx(), _rms_norm, 0.05),
    Case("softmax", softmax_ptx(), _softmax, 0.1),
)


def measure(case: Case, checks: str, repeat: int) -> tuple[float, float, float]:
    """Return the seconds of the first run, of the best run, and the largest error relative to the largest value."""
    random = np.random.default_rng(1)
    x = random.standard_normal((ROWS, COLUMNS), dtype=np.float32)
    w = random.standard_normal(COLUMNS, dtype=np.float32)
    y = np.zeros_like(x)
    times = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        result = run(case.text, grid=ROWS, block=THREADS, args=[x, w, y], checks=checks)
        times.append(time.perf_counter() - start)
        if result.findings:
            sys.exit(f"{case.name}: {result.findings[0]}")
    expected = case.reference(x.astype(np.float64), w.astype(np.float64))
    error = float(np.abs(y - expected).max() / np.abs(expected).max())
    return times[0], min(times[1:]), error


def main() -> None:
    """Measure every case without and with checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--profile", action="store_true", help="print where the time goes instead")
    arguments = parser.parse_args()
    if arguments.profile:
        for case in CASES:
            with cProfile.Profile() as profile:
                measure(case, "none", arguments.repeat)
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        return
    print(f"{'kernel':10} {'first':>8} {'none':>8} {'goal':>8} {'all':>8} {'ratio':>6} {'error':>9}")
    for case in CASES:
        first, best, error = measure(case, "none", arguments.repeat)
        _, checked, _ = measure(case, "all", arguments.repeat)
        ratio = checked / best
        print(f"{case.name:10} {first:8.4f} {best:8.4f} {case.goal:8.4f} {checked:8.4f} {ratio:6.1f} {error:9.1e}")


if __name__ == "__main__":
    main()
