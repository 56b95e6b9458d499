"""Kernels on CUDA tensors: one plan per specialization and device, launched on torch's current stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_dsl.kernels import runtimes
from pyptx_torch import cpu, outputs
from pyptx_torch.device_types import CUDA
from pyptx_torch.devices import check_memory
from pyptx_torch.plans import NOT_MET, check_driver

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import torch

    from pyptx_torch.device_types import DeviceType
    from pyptx_torch.operators import Operator


def run(
    operator: Operator,
    inputs: Sequence[torch.Tensor],
    keywords: Mapping[str, object],
    given: Sequence[torch.Tensor] | None,
    device: torch.device,
    place: DeviceType = CUDA,
) -> tuple[torch.Tensor, ...]:
    """Launch a kernel and return its outputs: the tensors of `out=`, or new ones from torch's allocator.

    Does not wait for the kernel. An active virtual GPU runs it instead. Raises DriverMissingError without a driver, and
    the driver's errors.
    """
    virtual = runtimes.virtual_gpu(inputs or given or (device,))
    if virtual is not None:
        return cpu.simulated(virtual, operator, inputs, keywords, given, device)
    plans = operator.plans(place)
    if inputs and given is None:
        made = plans.again(inputs, keywords)
        if made is not NOT_MET:
            return outputs.as_tuple(made)
    if str(device) == place.type:  # a device without an ordinal ("cuda"): torch uses the current device
        check_driver(operator.kernel.name, place)
    check_memory(operator.kernel.name, operator.signature.inputs, inputs)
    where = place.device(device)
    ready = plans.find(inputs, keywords, where)
    if given is None:
        given = outputs.allocate(operator.kernel.name, ready.outputs, where)
    else:
        outputs.check(operator.kernel.name, ready.outputs, given, device)
        check_memory(operator.kernel.name, [f"out= for {output.name}" for output in ready.outputs], given)
    if ready.plan is None:
        return tuple(given)
    pointers = [tensor.data_ptr() for tensor in (*inputs, *given)]
    scalars = {name: cast("float", value) for name, value in keywords.items() if name in operator.scalars}
    ready.plan.launch(pointers, place.stream(where), where.index, scalars)
    return tuple(given)
