"""`pyptx sim FILE.py:KERNEL`: runs of kernels that allocate their outputs and have a grid of their own."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_ir.element_types import BY_NAME
from pyptx_sim import specifications
from pyptx_sim.errors import LaunchError
from pyptx_sim.values import Uninitialized

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

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


def simulated(
    kernel: RunnableKernel, options: argparse.Namespace, on_progress: ProgressCallback
) -> tuple[SimulationResult, dict[str, Array]]:
    """Run a kernel with the options of `pyptx sim`; without `--arg` its input arrays are random.

    Return the result, and the arrays of the inputs by name.
    """
    for name, default in _OF_PTX.items():
        if getattr(options, name) != default:
            raise LaunchError(f"--{name} is for PTX: a kernel of a Python file has its own launch")
    names = [name for name, _, _ in kernel.inputs]
    try:
        given = specifications.arguments(options.arg or list(_random(kernel)), names)
    except MemoryError as error:
        raise LaunchError(f"not enough memory for the inputs: {error}") from error
    arrays = list(given.values)
    for number, (name, dtype, _) in enumerate(kernel.inputs[: len(arrays)]):
        arrays[number] = array = _array(arrays[number], dtype)
        if name in kernel.column_major and isinstance(array, np.ndarray):
            arrays[number] = given.arrays[given.names[number]] = np.asfortranarray(array)
    result: SimulationResult = kernel.simulate(
        *arrays,
        checks=options.checks,
        seed=options.seed,
        delay_async=options.delay_async,
        resident_blocks=options.resident_blocks,
        step_limit=options.steps,
        numerics=options.numerics,
        trace=options.trace,
        progress=on_progress,
    )
    return result, given.arrays


def _random(kernel: RunnableKernel) -> Iterator[str]:
    """Yield the text of a random array for each input."""
    numbers = [name for name, _, shape in kernel.inputs if shape is None]
    if numbers:
        raise LaunchError(
            f"no value for {', '.join(numbers)}", help=f"add {' '.join(f'--{name} 1.0' for name in numbers)}"
        )
    for name, dtype, shape in kernel.inputs:
        if dtype not in BY_NAME or BY_NAME[dtype].kind == "packed":
            raise LaunchError(
                f"{name}: NumPy has no arrays of {dtype}", help="simulate the kernel from Python, on torch tensors"
            )
        yield f"{dtype}[{','.join(map(str, shape or ()))}]=random"


def _array(value: Any, dtype: str) -> Any:  # noqa: ANN401 - any argument
    """Return an input; the bits of types that NumPy lacks get the type of ml_dtypes."""
    if isinstance(value, Uninitialized):
        raise LaunchError(f"an input of type {dtype} has no values", help="add =random, =zeros, =arange or a file")
    return _typed(value, dtype) if isinstance(value, np.ndarray) else value


def _typed(array: Array, dtype: str) -> Array:
    row = BY_NAME.get(dtype)
    if row is None or hasattr(np, row.array) or array.dtype.kind != "u":
        return array
    try:
        extended = getattr(import_module("ml_dtypes"), row.array, None)
    except ImportError as error:
        raise LaunchError(f"NumPy has no arrays of {dtype} without ml_dtypes", help="pip install ml_dtypes") from error
    return array if extended is None else array.view(extended)
