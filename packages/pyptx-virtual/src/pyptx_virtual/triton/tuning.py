"""Benchmarks and autotuners of Triton. Times of a simulator mean nothing, so each runs a kernel once, or not at all.

An autotuner compiles all of its configurations, so that faults of compilation are found, and launches the smallest one.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false, reportUnknownArgumentType=false
# Triton has no types, and need not be installed where types are checked.

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Final

import triton.testing
from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime import autotuner, errors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_REFUSALS: Final = tuple(
    kind
    for kind in (errors.OutOfResources, CompileTimeAssertionFailure, getattr(errors, "PTXASError", None))
    if kind is not None
)
_CLEAR: Final = 3  # number of quantiles that an autotuner asks for


def benchmark(fn: Callable[[], object], *_: object, quantiles: Sequence[float] | None = None, **__: object) -> Any:  # noqa: ANN401 - a number or several
    """Run `fn` once; return the milliseconds that its simulation took, once per quantile if quantiles are asked for.

    Has the signature of `triton.testing.do_bench`.
    """
    started = time.perf_counter()
    fn()
    taken = 1e3 * (time.perf_counter() - started)
    return taken if quantiles is None else [taken] * len(quantiles)


def tune_without_timing() -> None:
    """Replace the timing in Triton's benchmarks and autotuners."""
    triton.testing.do_bench = triton.testing.do_bench_cudagraph = benchmark
    autotuner.Autotuner._bench = _size_of  # noqa: SLF001 - Triton has no hook for this


def _size_of(tuner: Any, *args: Any, config: Any, **meta: Any) -> list[float]:  # noqa: ANN401 - the signature of Autotuner._bench
    """Compile one configuration; return its size in place of its time, infinity if it cannot be compiled."""
    try:
        tuner.fn.run(*args, **{**meta, **config.all_kwargs(), "warmup": True})
    except _REFUSALS:
        return [math.inf] * _CLEAR
    extents = [each for each in config.kwargs.values() if isinstance(each, int) and each > 0]
    return [math.prod(extents) + (config.num_stages or 1) * 1e-3] * _CLEAR
