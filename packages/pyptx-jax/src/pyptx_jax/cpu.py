"""Kernels on the CPU: run by the simulator's runtime, through the same custom call as on the GPU."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from pyptx_dsl.errors import KeywordError
from pyptx_dsl.kernels.runtimes import Specialized, simulator
from pyptx_ir.errors import PyptxError, SimulatedExecution
from pyptx_ir.plugins.rows import ALLOCATED
from pyptx_jax import framework
from pyptx_jax.arguments import DTYPES
from pyptx_jax.failures import FAILURES
from pyptx_jax.numbers import filled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_ir.plugins.rows import Input, Launchable, Output, Simulation
    from pyptx_jax.records import Origin

Array = np.ndarray[tuple[int, ...], np.dtype[Any]]


def run_of(origin: Origin) -> Callable[[list[memoryview]], None]:
    """Return the function that simulates a kernel in its arrays' memory; warn at the call's line that it is simulated.

    XLA's handler passes the memory of unmutated inputs as read-only, so their NumPy arrays are read-only too. Raises
    RuntimeMissingError without a simulator.
    """
    special, operands = origin.special, origin.operands
    runtime = simulator(special.entry)
    announce(special.entry, origin.place)
    inputs = len(special.inputs)
    first = inputs + len(operands)  # index in `memory` of the kernel's first output

    def run(memory: list[memoryview]) -> None:
        numbers = {each.name: each.read(view) for each, view in zip(operands, memory[inputs:first], strict=True)}
        arrays = [_array(*pair) for pair in zip(special.inputs, memory[:inputs], strict=True)]
        outputs = [_array(*pair) for pair in zip(special.outputs, memory[first:], strict=True)]
        with FAILURES.kept():
            kernel = Specialized(filled(special, numbers) if numbers else special)
            runtime.call(kernel, arrays, {"out": tuple(outputs), ALLOCATED: True})

    return run


def _array(row: Input | Output, memory: memoryview) -> Array:
    element = framework.dtype(DTYPES[row.dtype])
    return np.ndarray(row.shape, element, memory, strides=[stride * element.itemsize for stride in row.strides])


def simulate(kernel: Launchable, arrays: Sequence[object], keywords: Mapping[str, object]) -> Simulation:
    """Run a kernel on the simulator and return its outputs as jax arrays, and the simulator's findings."""
    for name, array in enumerate(arrays):
        if framework.is_traced(array):
            raise KeywordError(
                f"{kernel.name}: array {name} has no values while jax traces, so the kernel cannot be simulated",
                help="call simulate outside of jit, vmap and grad; inside, call the kernel",
            )
    simulation = simulator(kernel.name).simulate
    assert simulation is not None  # noqa: S101  every simulator has it
    result = cast("Any", simulation(kernel, [np.array(array) for array in arrays], keywords))
    return cast("Simulation", replace(result, outputs=tuple(map(framework.as_array, result.outputs))))


# --- warnings ---------------------------------------------------------------------------------------------------------

_ANNOUNCED: Final[
    dict[str | tuple[str, type[Warning], int], int]
] = {}  # simulator warnings already shown, like a module's `__warningregistry__`


def announce(name: str, place: tuple[str, int] | None) -> None:
    """Warn that a kernel is simulated because its arrays are on the CPU.

    PYPTX_CPU in the environment is `quiet`, `warn` or `error`.
    """
    policy = os.environ.get("PYPTX_CPU", "warn")
    message = f"{name} runs on the simulator: its arrays are on the CPU"
    if policy == "error":
        raise PyptxError(message, help="move the arrays to a GPU, or set PYPTX_CPU=quiet")
    if policy not in {"quiet", "warn"}:
        raise PyptxError(f"PYPTX_CPU must be quiet, warn or error, got {policy!r}")
    if policy == "warn":
        file, line = place or (f"<{name}>", 1)
        switches = (
            "set PYPTX_CPU=quiet to silence this; small launches are checked, PYPTX_CHECKS=all checks every "
            "launch, PYPTX_CHECKS=off checks none"
        )
        text = f"{message} ({switches})"
        warnings.warn_explicit(text, SimulatedExecution, file, line, registry=_ANNOUNCED)
