"""First launch of a kernel in a process that has launched another one, without and with its cubin in the cache."""

from __future__ import annotations

import os
import tempfile
import time
from typing import Any

from benchmarks.launch.processes import child
from benchmarks.launch.rounds import row
from benchmarks.launch.subjects import COUNT, ROOT, add_kernel, null_driver

EMPTY, FILLED = "empty cache", "filled cache"


def first(repeat: int, _device: str) -> list[dict[str, Any]]:
    """Measure rms_norm's first launch in new processes, with an empty and with a filled cubin cache."""
    found: dict[str, list[float]] = {}
    for _ in range(max(repeat // 5, 3)):
        with tempfile.TemporaryDirectory() as cache:
            for run in (EMPTY, FILLED):
                told = child("one-call", repeat, "cpu", {"PYPTX_CACHE_DIR": cache})[0]
                for name, spent in told.items():
                    found.setdefault(f"{run}: {name}", []).append(spent)
    return [row(name, times) for name, times in found.items()]


def one_call(_repeat: int, _device: str) -> list[dict[str, float]]:
    """Launch rms_norm for the first time, on the null driver; return the microseconds of CPU time that it takes.

    Another kernel is launched first, so the time excludes work that a process does only once.
    """
    import runpy

    null_driver().record(on=False)
    kernel = runpy.run_path(str(ROOT / "examples" / "hopper" / "rms_norm.py"))["rms_norm"]
    loading = stopwatch(add_kernel("sm_90a"), (COUNT,), (COUNT,))["all"]
    seconds = {**stopwatch(kernel, (16, 4096), (4096,)), "the process's first kernel": loading}
    return [{name: each * 1e6 for name, each in seconds.items()}]


def stopwatch(kernel: Any, *shapes: tuple[int, ...]) -> dict[str, float]:  # noqa: ANN401 - a kernel
    """Trace, compile and launch a kernel for arrays of floats; return the CPU seconds of each part, ptxas separate."""
    ptxas, begun = os.times(), time.process_time()
    from pyptx_dsl.kernels.images import image_of
    from pyptx_ir.plugins.rows import Argument
    from pyptx_launch import Module, plan_for

    arrays = [Argument(shape, "f32", (*shape[1:], 1), 4096, "cuda:0") for shape in shapes]
    special = kernel.specialize(arrays, {})
    traced = time.process_time()
    image = image_of(special)
    compiled = time.process_time()
    plan_for(special, Module(image)).launch((4096, 4096, 4096), 0, 0)
    ended, after = time.process_time(), os.times()
    return {
        "trace": traced - begun,
        "cubin, but for ptxas": compiled - traced,
        "plan and launch": ended - compiled,
        "all": ended - begun,
        "ptxas": after.children_user + after.children_system - ptxas.children_user - ptxas.children_system,
    }
