"""`pyptx sim FILE.py:KERNEL`: runs of kernels that allocate their outputs and have a grid of their own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_ir.element_types import BY_NAME
from pyptx_sim import specifications
from pyptx_sim.errors import LaunchError
from pyptx_sim.values import Uninitialized

if TYPE_CHECKING:
    import argparse

    from pyptx_ir.plugins.source_rows import RunnableKernel
    from pyptx_ir.terminal.progress import ProgressCallback
    from pyptx_sim.operation import Array
    from pyptx_sim.runtime import SimulationResult

_OF_PTX: Final = {
    "entry": None,
    "target": None,
    "grid": 1,
    "block": None,
    "cluster": 1,
    "shared": 0,
    "cooperative": False,
}
"""Defaults of the options that describe the launch of PTX; a kernel of a Python file has its own launch."""


def simulated(kernel: RunnableKernel, options: argparse.Namespace, on_progress: ProgressCallback) -> SimulationResult:
    """Run a kernel with the options of `pyptx sim`; without `--arg` its inputs are random."""
    for name, default in _OF_PTX.items():
        if getattr(options, name) != default:
            raise LaunchError(f"--{name} is for PTX: a kernel of a Python file has its own launch")
    names = [name for name, _, _ in kernel.inputs]
    texts = options.arg or [f"{dtype}[{','.join(map(str, shape))}]=random" for _, dtype, shape in kernel.inputs]
    given = specifications.arguments(texts, names)
    arrays = [_array(value, dtype) for value, (_, dtype, _) in zip(given.values, kernel.inputs, strict=False)]
    rest = given.values[len(arrays) :]
    result: SimulationResult = kernel.simulate(
        *arrays,
        *rest,
        checks=options.checks,
        seed=options.seed,
        delay_async=options.delay_async,
        resident_blocks=options.resident_blocks,
        step_limit=options.steps,
        numerics=options.numerics,
        trace=options.trace,
        progress=on_progress,
    )
    return result


def _array(value: Any, dtype: str) -> Any:  # noqa: ANN401 - any argument
    """Return an input array; the bits of types that NumPy lacks get the type of ml_dtypes, if that is loaded."""
    if isinstance(value, Uninitialized):
        raise LaunchError(f"an input of type {dtype} has no values", help="add =random, =zeros, =arange or a file")
    return _typed(value, dtype) if isinstance(value, np.ndarray) else value


def _typed(array: Array, dtype: str) -> Array:
    row = BY_NAME[dtype]
    extended = getattr(sys.modules.get("ml_dtypes"), row.array, None)
    return array if hasattr(np, row.array) or extended is None else array.view(extended)
