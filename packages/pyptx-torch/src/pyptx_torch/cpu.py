"""Kernels that the simulator runs: on CPU tensors, and on CUDA tensors of a virtual GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.kernels import runtimes
from pyptx_ir.plugins.rows import ALLOCATED
from pyptx_torch import outputs
from pyptx_torch.devices import argument_of, check_memory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import torch

    from pyptx_ir.plugins.rows import Runtime
    from pyptx_torch.operators import Operator


def run(
    operator: Operator,
    inputs: Sequence[torch.Tensor],
    keywords: Mapping[str, object],
    given: Sequence[torch.Tensor] | None,
    device: torch.device,
) -> tuple[torch.Tensor, ...]:
    """Simulate a kernel and return its outputs: the tensors of `out=`, or new ones.

    Warns SimulatedExecution, unless PYPTX_CPU in the environment selects otherwise. Raises RuntimeMissingError without
    a simulator.
    """
    return simulated(runtimes.simulator(operator.kernel.name), operator, inputs, keywords, given, device)


def simulated(
    runtime: Runtime,
    operator: Operator,
    inputs: Sequence[torch.Tensor],
    keywords: Mapping[str, object],
    given: Sequence[torch.Tensor] | None,
    device: torch.device,
) -> tuple[torch.Tensor, ...]:
    """Run a kernel by a runtime that takes specialized kernels; return its outputs: `given`, or new ones."""
    kernel = operator.kernel
    names = kernel.declaration.tensors
    check_memory(kernel.name, names, inputs)
    arguments = [argument_of(kernel.name, name, tensor) for name, tensor in zip(names, inputs, strict=False)]
    special = kernel.specialize(arguments, keywords)
    allocated = given is None
    if given is None:
        given = outputs.allocate(kernel.name, special.outputs, device)
        if device.type == "cpu":  # reproducible runs; the simulator still treats the outputs as uninitialized
            given = tuple(tensor.zero_() for tensor in given)
    else:
        outputs.check(kernel.name, special.outputs, given, device)
        check_memory(kernel.name, [f"out= for {name}" for name in names[len(inputs) :]], given)
    out = {"out": tuple(given), **({ALLOCATED: True} if allocated else {})}
    runtime.call(runtimes.Specialized(special), inputs, out)
    return tuple(given)
